import fc from 'fast-check'
import type { SelectionRequest, WorkerRecord } from '../../src/index.js'

/** One step of a random history; ranks are named by position, so that most hit one that exists. */
export type FleetCommand =
  | { readonly kind: 'upsert'; readonly record: WorkerRecord }
  | { readonly kind: 'remove'; readonly workerId: bigint }
  | { readonly kind: 'available'; readonly ids: readonly bigint[] | undefined }
  | { readonly kind: 'overloadedWorkers'; readonly ids: readonly bigint[] }
  | { readonly kind: 'overloaded'; readonly at: number; readonly flag: boolean }
  | {
      readonly kind: 'load'
      readonly at: number
      readonly values: readonly [number, number, number] | undefined
    }
  | {
      readonly kind: 'overlap'
      readonly at: number
      readonly values: readonly [number, number, number, number, number] | undefined
    }
  | { readonly kind: 'clearOverlaps' }
  | { readonly kind: 'occupancy'; readonly at: number; readonly values: readonly [number, number] }
  | { readonly kind: 'backlog'; readonly at: number; readonly ms: number }
  | { readonly kind: 'open'; readonly probe: number }
  | { readonly kind: 'dispose'; readonly at: number }
  | { readonly kind: 'select'; readonly at: number; readonly request: SelectionRequest }
  /** So many selections without a change of flags that the dense columns of eligible ranks come into use. */
  | { readonly kind: 'selectOften'; readonly at: number }
  | { readonly kind: 'explain'; readonly at: number; readonly request: SelectionRequest }

const ids = [0n, 3n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n]
const taints = ['red', 'green', 'blue']

const id = fc.constantFrom(...ids)
const someIds = fc.subarray(ids)
const at = fc.nat({ max: 63 })
const amount = fc.oneof(fc.nat({ max: 9 }), fc.double({ min: 0, max: 1e6, noNaN: true }))
const orAbsent = <T>(value: fc.Arbitrary<T>, freq = 3): fc.Arbitrary<T | undefined> =>
  fc.option(value, { nil: undefined, freq })

const record: fc.Arbitrary<WorkerRecord> = fc.record({
  workerId: id,
  dataParallelStartRank: fc.constantFrom(0, 0, 1, 2),
  dataParallelSize: fc.constantFrom(0, 1, 2, 3, 6, 9),
  taints: fc.subarray(taints),
  totalKvBlocks: fc.constantFrom(undefined, 0, 100, 16_384),
  maxNumBatchedTokens: fc.constantFrom(undefined, 0, 8192),
  deviceKind: fc.constantFrom(undefined, 'cpu', 'accelerator'),
})

const rank = fc.record({ workerId: id, dpRank: fc.nat({ max: 4 }) })
const rare = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value })

const request: fc.Arbitrary<SelectionRequest> = fc.record({
  mode: fc.constantFrom('tracked', 'query'),
  promptTokens: fc.nat({ max: 200 }),
  blockSize: fc.constantFrom(1, 16, 17),
  allowedWorkerIds: rare(someIds),
  requiredTaints: rare(fc.subarray([...taints, 'nowhere'], { maxLength: 2 })),
  preferredTaints: rare(
    fc.array(
      fc.record({ taint: fc.constantFrom(...taints, 'nowhere'), weight: fc.constantFrom(0.1, -0.25, 1) }),
      {
        maxLength: 3,
      },
    ),
  ),
  affinityTarget: rare(fc.oneof(rank, fc.record({ workerId: id }))),
  pinnedWorker: rare(rank),
  hasTierMatches: fc.boolean(),
})

/** Random commands; selections are the most frequent. */
export const fleetCommands: fc.Arbitrary<FleetCommand[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('upsert' as const), record }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), workerId: id }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('available' as const),
        ids: fc.option(someIds, { nil: undefined, freq: 2 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('overloadedWorkers' as const), ids: someIds }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('overloaded' as const), at, flag: fc.boolean() }) },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('load' as const),
        at,
        values: orAbsent(fc.tuple(amount, amount, amount)),
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('overlap' as const),
        at,
        values: orAbsent(fc.tuple(amount, amount, amount, amount, amount)),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('clearOverlaps' as const) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('occupancy' as const),
        at,
        values: fc.tuple(fc.nat(99), fc.nat(99)),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('backlog' as const),
        at,
        ms: fc.constantFrom(0, 12.5, Number.NaN),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('open' as const), probe: fc.nat({ max: 4 }) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('dispose' as const), at: fc.nat({ max: 3 }) }) },
    {
      weight: 10,
      arbitrary: fc.record({ kind: fc.constant('select' as const), at: fc.nat({ max: 7 }), request }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('selectOften' as const), at: fc.nat({ max: 7 }) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('explain' as const), at: fc.nat({ max: 7 }), request }),
    },
  ),
  { minLength: 5, maxLength: 60, size: 'max' },
)
