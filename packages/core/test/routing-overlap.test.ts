import { DEVICE, DISK, EXTERNAL, HOST_PINNED } from '@router/kv-index'
import { routerDefaults } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import type { SelectionExplanation } from '../src/index.js'
import { nameOf } from './support/hosts.js'
import { tinyPolicy } from './support/policies.js'
import { type RoutingHost, routingHost, told, tokensOf } from './support/routing-hosts.js'

const cold = { device: 0, host: 0, disk: 0, blocks: 0, tokens: 0, raw: 0 }

/** Selections during which no flag changes: afterwards the eligible ranks have columns of their own. */
function calm({ router }: RoutingHost): void {
  for (let selection = 0; selection < 6; selection++) router.select({ tokens: [1] })
}

describe('what ranks store arrives in the columns', () => {
  it('as blocks from the left; nothing of another prompt stays', () => {
    const host = routingHost()
    host.store('1', 'abc')
    host.store('2', 'abx')
    expect(host.device('abcd')).toEqual({ '1.0': 3, '2.0': 2, '3.0': 0 })
    expect(host.device('abx.')).toEqual({ '1.0': 2, '2.0': 3, '3.0': 0 })
    expect(host.device('zzz')).toEqual({ '1.0': 0, '2.0': 0, '3.0': 0 })
    expect(host.device('ab')).toEqual({ '1.0': 2, '2.0': 2, '3.0': 0 })
    expect(host.device('...')).toEqual({ '1.0': 0, '2.0': 0, '3.0': 0 })
    host.remove('1', 'a')
    host.clear('2')
    expect(host.device('abc')).toEqual({ '1.0': 0, '2.0': 0, '3.0': 0 })
    host.store('1', 'a')
    expect(host.device('abc')).toEqual({ '1.0': 3, '2.0': 0, '3.0': 0 })
  })

  it('tier after tier, each beyond the faster ones, weighed 1, 0.75 and 0.25', () => {
    const host = routingHost()
    host.store('1', 'ab', { tier: DEVICE })
    host.store('1', 'abcd', { from: 2, tier: HOST_PINNED })
    host.store('1', 'abcde', { from: 4, tier: DISK })
    host.store('1', 'abcdefg', { from: 5, tier: EXTERNAL })
    host.store('2', 'a', { tier: HOST_PINNED })
    host.store('3', 'a', { tier: EXTERNAL })
    expect(host.cache('abcdefgh')).toEqual({
      '1.0': { device: 2, host: 2, disk: 3, blocks: 2 + 1.5 + 0.75, tokens: 17, raw: 7 },
      '2.0': { device: 0, host: 1, disk: 0, blocks: 0.75, tokens: 3, raw: 1 },
      '3.0': { device: 0, host: 0, disk: 1, blocks: 0.25, tokens: 1, raw: 1 },
    })
    expect(host.cache('ab')['1.0']).toEqual({ ...cold, device: 2, blocks: 2, tokens: 8, raw: 2 })
    expect(host.cache('x')).toEqual({ '1.0': cold, '2.0': cold, '3.0': cold })
  })

  // A disk block of five tokens is worth half a token, or one and a half: to the even number they would be 0 and 2.
  it.each([
    { host: 0.5, disk: 0.1, first: { blocks: 1.5, tokens: 8 }, second: { blocks: 0.1, tokens: 1 } },
    { host: 0.9, disk: 0.3, first: { blocks: 1.9, tokens: 10 }, second: { blocks: 0.3, tokens: 2 } },
    { host: 0, disk: 0, first: { blocks: 1, tokens: 5 }, second: { blocks: 0, tokens: 0 } },
    { host: 1, disk: 1, first: { blocks: 2, tokens: 10 }, second: { blocks: 1, tokens: 5 } },
  ])(
    'with the tier weights of the configuration, half a token rounded up: host $host, disk $disk',
    ({ host, disk, first, second }) => {
      const weights = { ...routerDefaults, host_cache_hit_weight: host, disk_cache_hit_weight: disk }
      const fleet = routingHost({ config: { blockSize: 5, routerDefaults: weights } })
      fleet.store('1', 'a')
      fleet.store('1', 'ab', { from: 1, tier: HOST_PINNED })
      fleet.store('2', 'a', { tier: DISK })
      expect(fleet.cache('ab')['1.0']).toEqual({ device: 1, host: 1, disk: 0, raw: 2, ...first })
      expect(fleet.cache('ab')['2.0']).toEqual({ device: 0, host: 0, disk: 1, raw: 1, ...second })
    },
  )

  it('apart for adapters, salts and layouts of tokens', () => {
    const host = routingHost()
    host.store('1', 'abc')
    expect(host.device('abc', { loraName: 'adapter' } as never)).toMatchObject({ '1.0': 0 })
    expect(host.device('abc', { cacheSalt: 'tenant' } as never)).toMatchObject({ '1.0': 0 })
    expect(host.device('abc', { loraName: '', cacheSalt: '' } as never)).toMatchObject({ '1.0': 3 })
    expect(host.device('abc', { isEagle: true } as never)).toMatchObject({ '1.0': 0 })
  })
})

describe('and in the decision', () => {
  it('which goes to the longest prefix, and says what it found', () => {
    const host = routingHost()
    host.store('2', 'abcd')
    host.store('3', 'abcde')
    host.store('2', 'abcdef', { from: 4, tier: HOST_PINNED })
    const result = host.reserve('r', 'abcdefgh.')
    expect(nameOf(result)).toBe('2.0')
    expect(result).toMatchObject({
      requiredBlocks: 9,
      effectiveOverlapBlocks: 5.5,
      cachedTokens: 22,
      maxRawCachedTokens: 24,
      selectedRawCachedTokens: 24,
      potentialDecodeBlocks: 9,
      bestOverlapWorker: { workerId: 3n, dpRank: 0 },
      bestOverlapBlocks: 5,
    })
    expect(host.router.ledger.loadOf(result.slot)).toMatchObject({
      activeBlocks: 8,
      activePrefillTokens: 33 - 22,
    })
  })

  it('which names the best overlap of the fleet, eligible or not, ties to the lowest id and rank', () => {
    const workers = told(1, 2, 3).map((worker) => ({ ...worker, dataParallelSize: 2 }))
    const host = routingHost({ workers })
    const best = (word: string) => {
      const { bestOverlapWorker, bestOverlapBlocks } = host.select(word)
      return [bestOverlapWorker && nameOf(bestOverlapWorker), bestOverlapBlocks]
    }
    expect(best('abc')).toEqual([undefined, 0])
    for (const rank of ['3.0', '2.1', '3.1']) host.store(rank, 'abc')
    host.router.partition.table.setOverloadedWorkers([2n])
    expect(best('abc')).toEqual(['2.1', 3])
    calm(host)
    expect(best('abcd')).toEqual(['2.1', 3])
    host.store('3.1', 'abcd', { from: 3 })
    expect(best('abcd')).toEqual(['3.1', 4])
    host.router.setCacheKnown(3n, 1, false)
    expect(best('abcd')).toEqual(['2.1', 3])
  })

  it('whose policy hears of tier matches on any rank, eligible or not, for this request alone', () => {
    const seen: boolean[] = []
    const policy = tinyPolicy({
      roles: ['aggregated', 'decode', 'prefill', 'encode'],
      create: () => ({
        scorers: [
          {
            name: 'look',
            inputs: ['cache'],
            score: (_context, candidates, costs) => {
              seen.push(candidates.cache!.hasTierMatches)
              costs.fill(0, 0, candidates.count)
            },
          },
        ],
      }),
    })
    const host = routingHost({ policy })
    host.router.partition.table.setOverloadedWorkers([2n])
    host.select('ab')
    host.store('2', 'ab')
    host.select('ab')
    host.select('ba')
    host.store('3', 'b', { tier: EXTERNAL })
    host.select('ba')
    host.router.setCacheKnown(3n, 0, false)
    host.select('ba')
    expect(seen).toEqual([false, true, false, true, false])
  })
})

describe('ranks that are left out', () => {
  const rowsOf = ({ rows, margin, chosen }: SelectionExplanation) => ({ rows, margin, chosen })

  it('leave the others with the columns that they would have without a copy of their own', () => {
    const host = routingHost({ workers: told(1, 2, 3, 4, 5) })
    const { table } = host.router.partition
    for (const worker of [1, 2, 3, 4]) host.clear(`${worker}`)
    host.store('1', 'abcd')
    host.store('2', 'ab')
    host.store('4', 'ab')
    host.store('4', 'abc', { from: 2, tier: DISK })
    host.reserve('one', 'abcd')
    host.reserve('two', 'xyz')
    const words = ['abcd', 'xyz', 'abc.', 'q', 'abcd', 'ab']
    const explained = (isMirrored: boolean) =>
      words.map((word) => {
        // A flag that flips and flips back makes the copy useless.
        if (!isMirrored) {
          table.setOverloaded(table.slotOf(2n, 0), true)
          table.setOverloaded(table.slotOf(2n, 0), false)
        }
        const explanation = host.router.explain({ tokens: tokensOf(word) })
        expect(table.eligible.isMirrored).toBe(isMirrored)
        return rowsOf(explanation)
      })
    table.setOverloadedWorkers([3n])
    const without = explained(false)
    calm(host)
    expect(explained(true)).toEqual(without)
    expect(without[0]!.rows[2]).toMatchObject({ workerId: 3n, rejection: 'WorkerOverloaded' })
    table.setOverloadedWorkers([])
    const open = words.map((word) => rowsOf(host.router.explain({ tokens: tokensOf(word) })).rows)
    open.forEach((rows, index) =>
      expect(rows.filter(({ workerId }) => workerId !== 3n)).toEqual(
        without[index]!.rows.filter(({ workerId }) => workerId !== 3n),
      ),
    )
  })

  it('or with those of a copy, once what is cached changes beside it', () => {
    const host = routingHost()
    const { table } = host.router.partition
    table.setAvailableWorkers([1n, 2n])
    host.store('1', 'abc')
    calm(host)
    expect(host.device('abc')).toEqual({ '1.0': 3, '2.0': 0, '3.0': 0 })
    host.store('2', 'abcd')
    host.store('3', 'abcd')
    host.remove('1', 'ab')
    expect(host.device('abcd')).toEqual({ '1.0': 1, '2.0': 4, '3.0': 4 })
    expect(nameOf(host.select('abcd'))).toBe('2.0')
    expect(host.device('x')).toEqual({ '1.0': 0, '2.0': 0, '3.0': 0 })
    host.store('1', 'x', { tier: HOST_PINNED })
    expect(host.cache('x')['1.0']).toMatchObject({ host: 1, blocks: 0.75, tokens: 3, raw: 1 })
    expect(host.cache('y')['1.0']).toEqual(cold)
    host.router.setCacheKnown(1n, 0, false)
    expect(host.device('abcd')).toEqual({ '1.0': undefined, '2.0': 4, '3.0': 4 })
    expect(table.eligible.isMirrored).toBe(false)
    calm(host)
    expect(table.eligible.isMirrored).toBe(true)
    expect(host.device('abcd')).toEqual({ '1.0': undefined, '2.0': 4, '3.0': 4 })
    host.router.setCacheKnown(1n, 0, true)
    expect(host.device('abcd')).toEqual({ '1.0': 1, '2.0': 4, '3.0': 4 })
  })
})

describe('workers that join and leave', () => {
  it('move the rows of the others, whose blocks stay with them', () => {
    const host = routingHost({ workers: told(20, 40) })
    host.store('20', 'ab')
    host.store('40', 'abc')
    expect(host.device('abcd')).toEqual({ '20.0': 2, '40.0': 3 })
    host.router.upsertWorker({ workerId: 10n, hasEvents: true, dataParallelSize: 2 })
    host.router.upsertWorker({ workerId: 30n })
    expect(host.device('abcd')).toEqual({
      '10.0': undefined,
      '10.1': undefined,
      '20.0': 2,
      '30.0': 0,
      '40.0': 3,
    })
    host.store('10.1', 'abcd')
    expect(nameOf(host.select('abcd'))).toBe('10.1')
    expect(host.router.removeWorker(20n)).toBe(true)
    expect(host.device('abcd')).toEqual({ '10.0': undefined, '10.1': 4, '30.0': 0, '40.0': 3 })
    host.router.upsertWorker({ workerId: 5n, hasEvents: true })
    host.store('5', 'zz')
    expect(host.device('abcd')).toEqual({ '5.0': 0, '10.0': undefined, '10.1': 4, '30.0': 0, '40.0': 3 })
    expect(host.router.removeWorker(20n)).toBe(false)
  })

  it('by the hundred, between two selections', () => {
    const host = routingHost({ workers: told(0) })
    host.store('0', 'abc')
    expect(host.device('abc')).toEqual({ '0.0': 3 })
    for (let worker = 300; worker > 0; worker--)
      host.router.upsertWorker({ workerId: BigInt(worker), hasEvents: worker % 3 === 0 })
    for (let worker = 1; worker <= 300; worker++) {
      if (worker % 7 === 0) host.router.removeWorker(BigInt(worker))
    }
    host.router.upsertWorker({ workerId: 400n, hasEvents: true })
    host.store('400', 'ab')
    const device = Object.entries(host.device('abc'))
    expect(device).toHaveLength(301 - 42 + 1)
    expect(device.filter(([, blocks]) => blocks === undefined)).toHaveLength(100 - 14)
    expect(device.filter(([, blocks]) => blocks !== 0 && blocks !== undefined)).toEqual([
      ['0.0', 3],
      ['400.0', 2],
    ])
  })
})
