import { defaultPolicy } from '@router/policy-default'
import {
  type WorkerCandidates,
  type WorkerInputName,
  type WorkerScorer,
  sharedHitsFrom,
  workerInputNames,
} from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { caught, codeOf } from './support/caught.js'
import { hostOf, request, tinyHost } from './support/hosts.js'
import { firstRow, keepBy, resolved, tinyPolicy } from './support/policies.js'

/** A scorer that hands the view to a test, and costs 0. */
function watching(
  watch: (candidates: WorkerCandidates) => void,
  inputs?: readonly WorkerInputName[],
): WorkerScorer {
  return {
    name: 'watching',
    ...(inputs === undefined ? {} : { inputs }),
    score: (_context, candidates, costs) => {
      watch(candidates)
      costs.fill(0, 0, candidates.count)
    },
  }
}

describe('declarations', () => {
  it("outside the policy's set fail when the policy is built, naming the component", () => {
    const build = () => tinyHost({ scorers: [watching(() => {}, ['load', 'cache'])] }, { inputs: ['load'] })
    const { code, details } = caught(build)
    expect(code).toBe('ROUTER_INPUT_NOT_DECLARED')
    expect(details).toMatchObject({ type: 'tiny', component: 'watching', group: 'cache', declared: ['load'] })
  })

  it('of a group that this host cannot supply fail at start-up, before create runs', () => {
    let created = 0
    const definition = tinyPolicy({
      inputs: ['load', 'prefillTime'],
      create: () => ({ picker: (created++, firstRow) }),
    })
    const { code, details } = caught(() => hostOf(definition, { supportedInputs: ['load', 'cache'] }))
    expect(code).toBe('ROUTER_INPUT_UNAVAILABLE')
    expect(details).toMatchObject({ group: 'prefillTime', available: ['load', 'cache'] })
    expect(created).toBe(0)
    hostOf(definition, { supportedInputs: workerInputNames })
    expect(created).toBe(1)
  })

  it('of a group that does not exist fail too', () => {
    const weather = ['weather' as never]
    expect(codeOf(() => tinyHost({}, { inputs: weather }))).toBe('ROUTER_INPUT_UNAVAILABLE')
    const asked = () => tinyHost({}, { inputs: weather, supportedInputs: weather })
    expect(codeOf(asked)).toBe('ROUTER_INPUT_UNAVAILABLE')
  })

  it("are frozen, without repetitions, and default to the policy's", () => {
    const views: WorkerCandidates[] = []
    const host = tinyHost(
      { scorers: [watching((view) => views.push(view))] },
      { inputs: ['load', 'capacity', 'load'] },
    )
    expect(host.selector.declaredInputs).toEqual(['load', 'capacity'])
    expect(Object.isFrozen(host.selector.declaredInputs)).toBe(true)
    host.select()
    const seen = workerInputNames.filter((name) => views[0]![name] !== undefined)
    expect(seen).toEqual(['load', 'capacity'])
  })

  it('that throw are a faulty definition', () => {
    const definition = tinyPolicy({
      inputsOf: () => {
        throw new Error('no idea')
      },
    })
    expect(codeOf(() => hostOf(definition))).toBe('ROUTER_POLICY_DEFINITION_INVALID')
  })
})

describe('definitions that no host can run', () => {
  it.each([
    ['returns nothing', () => undefined],
    ['returns no picker', () => ({ picker: undefined })],
    ['has a filter without keep', () => ({ filters: [{ name: 'f' }] })],
    ['has a scorer without score', () => ({ scorers: [undefined] })],
    [
      'throws',
      () => {
        throw new Error('no memory')
      },
    ],
  ])('create %s', (_fault, create) => {
    const definition = { ...tinyPolicy(), create: create as never }
    expect(codeOf(() => hostOf(definition))).toBe('ROUTER_POLICY_DEFINITION_INVALID')
  })

  it('runtime parameters without reconfigure', () => {
    const parameters = z.strictObject({ weight: z.number().default(1) })
    const definition = tinyPolicy({ parameters, runtime: ['weight'] })
    expect(codeOf(() => hostOf(definition))).toBe('ROUTER_POLICY_DEFINITION_INVALID')
    const create = () => ({ reconfigure: () => {} })
    expect(hostOf(tinyPolicy({ parameters, runtime: ['weight'], create })).select()).toBe('1.0')
  })

  it('another contract version is an error of the catalog', () => {
    const definition = { ...tinyPolicy(), contractVersion: 2 }
    const { code, name } = caught(() => resolved(definition))
    expect([code, name]).toEqual(['ROUTER_CONTRACT_VERSION_MISMATCH', 'CatalogError'])
  })
})

describe('columns', () => {
  it('say NaN and 0 for what the host does not know, never a silent 0', () => {
    let checked = 0
    const host = tinyHost({
      scorers: [
        watching(({ load, cache, capacity, occupancy, prefillTime }) => {
          expect([...load!.isAvailable.subarray(0, 2)]).toEqual([0, 1])
          expect(load!.activePrefillTokens[0]).toBeNaN()
          expect(load!.decodeCostBlocks[0]).toBeNaN()
          expect(load!.activeRequests[0]).toBeNaN()
          expect(load!.activePrefillTokens[1]).toBe(0)
          expect([...cache!.isAvailable.subarray(0, 3)]).toEqual([1, 1, 0])
          const tiers = [cache!.deviceOverlapBlocks, cache!.hostOverlapBlocks, cache!.diskOverlapBlocks]
          for (const column of [...tiers, cache!.estimateBlocks, cache!.estimateTokens]) {
            expect([...column.subarray(0, 3)]).toEqual([0, 0, Number.NaN])
          }
          expect([load!.allAvailable, cache!.allAvailable]).toEqual([false, false])
          expect(capacity!.totalKvBlocks[0]).toBeNaN()
          expect([...prefillTime!.backlogMs.subarray(0, 2)]).toEqual([Number.NaN, 250])
          expect([...occupancy!.reservations.subarray(0, 3)]).toEqual([0, 3, 0])
          expect([...occupancy!.cacheHits.subarray(0, 3)]).toEqual([0, 2, 0])
          checked++
        }),
      ],
    })
    host.table.setLoad(host.slot('2'), 0, 0, 0)
    host.table.setCacheUnknown(host.slot('3'))
    host.table.setPrefillBacklog(host.slot('2'), 250)
    host.table.setOccupancy(host.slot('2'), 3, 2)
    host.select()
    expect(checked).toBe(1)
  })

  it('of capacity follow the records; 0 reads as not advertised', () => {
    const seen: number[][] = []
    const host = tinyHost(
      {
        scorers: [
          watching(({ count, capacity, occupancy }) =>
            seen.push([
              ...capacity!.totalKvBlocks.subarray(0, count),
              ...capacity!.maxNumBatchedTokens.subarray(0, count),
              ...occupancy!.deviceKind.subarray(0, count),
            ]),
          ),
        ],
      },
      {
        workers: [
          { workerId: 1n, totalKvBlocks: 0, maxNumBatchedTokens: 0, deviceKind: 'accelerator' },
          { workerId: 2n, totalKvBlocks: 16_384, deviceKind: 'cpu' },
          { workerId: 3n, maxNumBatchedTokens: 8192 },
        ],
      },
    )
    host.select()
    host.table.upsertWorker({ workerId: 1n, totalKvBlocks: 5, dataParallelSize: 2, deviceKind: 'cpu' })
    host.select()
    const no = Number.NaN
    expect(seen).toEqual([
      [no, 16_384, no, no, no, 8192, 0, 1, 0],
      [5, 5, 16_384, no, no, no, no, 8192, 1, 1, 1, 0],
    ])
  })

  it('keep the device overlap at 0 when only an estimate exists', () => {
    const seen: unknown[] = []
    const host = tinyHost({
      scorers: [
        watching(({ cache }) =>
          seen.push([
            cache!.deviceOverlapBlocks[0],
            cache!.estimateBlocks[0],
            cache!.estimateTokens[0],
            cache!.hasTierMatches,
          ]),
        ),
      ],
    })
    host.table.setOverlap(host.slot('1'), 0, 0, 0, 7.5, 120)
    host.select()
    host.select({ hasTierMatches: true })
    expect(seen).toEqual([
      [0, 7.5, 120, false],
      [0, 7.5, 120, true],
    ])
  })

  it('tell whether any row is missing, over the rows of this selection', () => {
    const seen: boolean[][] = []
    const host = tinyHost({
      scorers: [watching(({ load, cache }) => seen.push([load!.allAvailable, cache!.allAvailable]))],
    })
    for (const name of ['1', '2', '3']) host.table.setLoad(host.slot(name), 1, 1, 1)
    host.select()
    host.table.clearLoad(host.slot('1'))
    host.table.setCacheUnknown(host.slot('2'))
    host.select()
    host.select({ allowedWorkerIds: [2n, 3n] })
    host.select({ allowedWorkerIds: [1n, 3n] })
    host.table.setOverloadedWorkers([1n])
    host.select()
    host.table.setOverloadedWorkers([1n, 2n])
    host.select()
    host.table.setLoad(host.slot('1'), 1, 1, 1)
    host.table.setOverloadedWorkers([])
    host.table.clearOverlaps()
    host.select()
    expect(seen).toEqual([
      [true, true],
      [false, false],
      [true, false],
      [false, true],
      [true, false],
      [true, true],
      [true, true],
    ])
  })

  it('of groups that only scorers declared are gathered after all filters, for kept rows', () => {
    let atFilter: WorkerCandidates | undefined
    const seen: number[] = []
    const host = tinyHost({
      filters: [
        {
          name: 'f',
          inputs: ['load'],
          keep: (_context, candidates, row) => {
            atFilter = candidates
            expect(candidates.cache).toBeUndefined()
            return candidates.load!.activeRequests[row] !== 2
          },
        },
      ],
      scorers: [
        watching(({ count, cache }) => seen.push(...cache!.estimateBlocks.subarray(0, count)), ['cache']),
      ],
    })
    for (const name of ['1', '2', '3']) {
      host.table.setLoad(host.slot(name), 0, 0, Number(name))
      host.table.setOverlap(host.slot(name), 0, 0, 0, Number(name) * 10, 0)
    }
    // The second request is gathered from the start, as its rows are constrained.
    for (const overrides of [{}, { allowedWorkerIds: [2n, 3n] }]) host.select(overrides)
    expect(atFilter).toBeDefined()
    expect(seen).toEqual([10, 30, 30])
  })

  it('keep identity halves of u64 ids and the canonical order', () => {
    const ids = [2n ** 64n - 1n, 2n ** 53n + 1n, 2n ** 53n, 3n, 2n ** 63n]
    const seen: string[] = []
    const host = tinyHost(
      {
        scorers: [
          watching((view) => {
            expect(view.canonicalRows).toBeUndefined()
            for (let row = 0; row < view.count; row++) {
              const id = (BigInt(view.workerIdHigh[row]!) << 32n) | BigInt(view.workerIdLow[row]!)
              expect(view.workerId(row)).toBe(id)
              seen.push(`${id}.${view.dpRank[row]}`)
            }
          }),
        ],
        filters: [keepBy((id) => id !== 3n)],
      },
      {
        inputs: [],
        workers: ids.map((workerId) => ({ workerId, dataParallelSize: 2, dataParallelStartRank: 7 })),
      },
    )
    host.select()
    const sorted = [2n ** 53n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n]
    expect(seen).toEqual(sorted.flatMap((id) => [`${id}.7`, `${id}.8`]))
  })
})

describe('declared is not used', () => {
  it('the default policy chooses the same rank with a reserved cache group; only accounting differs', () => {
    const parameters = { overlap_score_credit: 0, seed: 42 }
    const plain = hostOf(defaultPolicy, { role: 'decode', conditionalDisaggregation: true, parameters })
    const reserving = hostOf(defaultPolicy, {
      role: 'decode',
      conditionalDisaggregation: true,
      parameters,
      runtime: true,
    })
    expect(plain.selector.declaredInputs).not.toContain('cache')
    expect(reserving.selector.declaredInputs).toContain('cache')
    for (const host of [plain, reserving]) {
      for (const [name, requests] of Object.entries({ '1': 4, '2': 1, '3': 1 })) {
        host.table.setLoad(host.slot(name), requests * 100, requests, requests)
        host.table.setOverlap(host.slot(name), requests, 0, 0, requests, requests * 16)
      }
    }
    const sent = { hasTierMatches: true, sharedHits: sharedHitsFrom([[0, 3]]) }
    for (let round = 0; round < 20; round++) expect(reserving.select(sent)).toBe(plain.select(sent))
    expect(plain.selector.select(request(sent)).cachedTokens).toBe(0)
    expect(reserving.selector.select(request(sent)).cachedTokens).toBe(16)
  })
})
