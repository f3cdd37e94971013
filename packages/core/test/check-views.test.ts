import { defaultPolicy } from '@router/policy-default'
import { RouterError, type WorkerCandidates, type WorkerSelectionContext } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { caught } from './support/caught.js'
import { type Host, hostOf, request, tinyHost } from './support/hosts.js'
import { costsBy, firstAfter, lowestTotal } from './support/policies.js'

type Kept = { context: WorkerSelectionContext; view: WorkerCandidates; costs: Float64Array }

/** What a policy could keep of each callback. */
function keeping(): { host: Host; kept: Kept[]; columns: Float64Array[]; lookUps: (() => unknown)[] } {
  const kept: Kept[] = []
  const columns: Float64Array[] = []
  const lookUps: (() => unknown)[] = []
  const keep = (context: WorkerSelectionContext, view: WorkerCandidates, costs: Float64Array): void => {
    kept.push({ context, view, costs })
    columns.push(view.load!.activeRequests, costs.subarray(0, 1))
    const { workerId } = view
    const { workerInfo } = context
    lookUps.push(
      () => workerId(0),
      () => workerInfo(0),
    )
  }
  const host = tinyHost(
    {
      filters: [
        {
          name: 'f',
          keep: (context, view) => {
            keep(context, view, new Float64Array(1))
            return true
          },
        },
      ],
      scorers: [
        {
          name: 's',
          score: (context, view, costs) => {
            keep(context, view, costs)
            costs.fill(1, 0, view.count)
          },
        },
      ],
      picker: firstAfter(keep),
    },
    { checkViews: true, workers: [{ workerId: 1n }] },
  )
  return { host, kept, columns, lookUps }
}

const isStale = (work: () => unknown): boolean => caught(work).code === 'ROUTER_VIEW_STALE'

describe('checkViews', () => {
  it('makes views, columns, costs and the context throw once their callback has returned', () => {
    const { host, kept, columns, lookUps } = keeping()
    host.table.setLoad(host.slot('1'), 1, 2, 3)
    expect(host.select()).toBe('1.0')
    expect(kept).toHaveLength(3)
    for (const { context, view } of kept) {
      expect(isStale(() => context.promptTokens)).toBe(true)
      expect(isStale(() => view.count)).toBe(true)
      expect(isStale(() => view.dpRank)).toBe(true)
      expect(isStale(() => view.load)).toBe(true)
    }
    for (const { costs } of kept.slice(1)) {
      expect(isStale(() => costs[0])).toBe(true)
      expect(isStale(() => (costs[0] = 1))).toBe(true)
    }
    for (const column of columns.filter((_, index) => index !== 1))
      expect(isStale(() => column[0])).toBe(true)
    for (const lookUp of lookUps) expect(isStale(lookUp)).toBe(true)
  })

  it('fails a selection that reads what an earlier one left, with the stale view as cause', () => {
    let first: WorkerCandidates | undefined
    const host = tinyHost(
      {
        picker: firstAfter((_context, view) => {
          first ??= view
          return first.count
        }),
      },
      { checkViews: true },
    )
    host.select()
    const error = caught(() => host.select())
    expect(error.code).toBe('ROUTER_POLICY_FAILED')
    expect(RouterError.isInstance(error.cause) && error.cause.code).toBe('ROUTER_VIEW_STALE')
  })

  it('shows the same numbers and takes the same costs', () => {
    const build = (checkViews: boolean) => {
      const seen: number[] = []
      const host = tinyHost(
        {
          scorers: [
            {
              name: 's',
              score: (context, { count, load, capacity, workerId }, costs) => {
                for (let row = 0; row < count; row++) {
                  seen.push(load!.activeRequests[row]!, capacity!.totalKvBlocks[row]!, Number(workerId(row)))
                  costs[row] = load!.activeRequests[row]! - context.promptTokens
                }
                seen.push(...costs.subarray(0, count), load!.activeRequests.subarray(0, count).indexOf(3))
              },
            },
            costsBy((id) => Number(id) / 8),
          ],
          picker: lowestTotal,
        },
        { checkViews },
      )
      for (const name of ['1', '2', '3']) host.table.setLoad(host.slot(name), 0, 0, 5 - Number(name))
      return { chosen: host.select(), rows: host.selector.explain(request()).rows, seen }
    }
    expect(build(true)).toEqual(build(false))
  })

  it.each([true, false])('decides the default policy as without, WebAssembly %s', (webAssembly) => {
    const build = (checkViews: boolean) => {
      const workers = Array.from({ length: 21 }, (_, id) => ({ workerId: BigInt(id), dataParallelSize: 2 }))
      const parameters = { seed: 42, router_temperature: 0.7, overlap_score_credit_decay: 0.6 }
      const host = hostOf(defaultPolicy, { workers, checkViews, webAssembly, role: 'aggregated', parameters })
      for (let slot = 0; slot < 42; slot++) {
        host.table.setLoad(slot, slot * 19, (slot * 7) % 11, slot % 5)
        host.table.setOverlap(slot, slot % 9, 2, 1, (slot % 9) + 0.5, 16 * (slot % 9) + 8)
      }
      host.table.setOverloadedWorkers([7n])
      const sent = { hasTierMatches: true, promptTokens: 2048 }
      const costs = host.selector.explain(request(sent)).rows.map(({ total }) => total)
      return { costs, picks: Array.from({ length: 8 }, () => host.select(sent)) }
    }
    expect(build(true)).toEqual(build(false))
  })
})
