import { SelectionError } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import type { RoutedExplanation, SelectionExplanation } from '../src/index.js'
import { nameOf, request, tinyHost } from './support/hosts.js'
import { costsBy, keepBy, lowestTotal } from './support/policies.js'
import { routingHost } from './support/routing-hosts.js'

/** A picker that draws, and draws once more when it is asked to explain itself. */
const drawing = () =>
  tinyHost((_parameters, scope) => {
    const random = scope.random(42n)
    return {
      picker: {
        name: 'random',
        pick: (_context, { count }) => random.below(count),
        explain: (context, { count }) => ({ tieSet: [random.below(count)], mode: `${context.queryOnly}` }),
      },
    }
  })

describe('a selection that is explained as it happens', () => {
  it('is the one that would have been made, and leaves what that would have left', () => {
    const [explained, plain] = [drawing(), drawing()]
    for (let round = 0; round < 50; round++) {
      const found: SelectionExplanation[] = []
      const chosen = explained.selector.selectExplained(request(), (one) => found.push(one))
      expect(nameOf(chosen)).toBe(plain.select())
      expect(found).toHaveLength(1)
      expect(nameOf(found[0]!.chosen!)).toBe(nameOf(chosen))
      // The picker was asked as if nothing were booked, and only for as long.
      expect(found[0]!.mode).toBe('true')
      expect(found[0]!.result!.maxRawCachedTokens).toBe(0)
    }
  })

  it('that comes to nothing is told with what stood in the way, and fails as it would have', () => {
    const host = tinyHost({
      filters: [keepBy(() => false, 'none')],
      scorers: [costsBy(() => 1, 'one')],
      picker: lowestTotal,
    })
    const found: SelectionExplanation[] = []
    const selecting = () => host.selector.selectExplained(request(), (one) => found.push(one))
    expect(selecting).toThrow(SelectionError)
    expect(found.map(({ error }) => error?.code)).toEqual(['ROUTER_ALL_ELIGIBLE_WORKERS_FILTERED'])
    expect(found[0]!.rows.map(({ filter }) => filter)).toEqual(['none', 'none', 'none'])
    // The next one is not in its way.
    expect(selecting).toThrow(SelectionError)
  })

  it('a reservation tells what it was made from: loads and caches before it', () => {
    const host = routingHost()
    host.store('2', 'abc')
    const found: RoutedExplanation[] = []
    const onExplained = (one: RoutedExplanation) => found.push(one)
    const chosen = nameOf(host.reserve('one', 'abcd', { onExplained }))
    expect(chosen).toBe('2.0')
    host.reserve('two', 'abcd', { onExplained, pinnedWorker: { workerId: 2n, dpRank: 0 } })
    const factsOfSecond = found.map(({ rows, facts }) => [
      nameOf(rows[1]!),
      facts.map(({ deviceBlocks, cachedTokens }) => [deviceBlocks, cachedTokens]),
      facts[1]!.activeRequests,
    ])
    const overlaps = [
      [0, 0],
      [3, 12],
      [0, 0],
    ]
    expect(factsOfSecond).toEqual([
      ['2.0', overlaps, 0],
      ['2.0', overlaps, 1],
    ])
    expect(found[0]!.facts[1]!.activePrefillTokens).toBe(0)
    expect(found[1]!.facts[1]!.activePrefillTokens).toBe(4)
    expect(host.router.ledger.live).toBe(2)
  })
})
