import type { WorkerRank } from '@router/sdk'
import fc from 'fast-check'
import type {
  DefaultOptions,
  Snapshot,
  SnapshotConstraints,
  SnapshotLoad,
  SnapshotRequest,
  SnapshotRow,
  SnapshotWorker,
} from '../snapshot.js'

const taints = ['gpu-a', 'rack-1', 'spot', 'zone-a']

/** Worker ids on both sides of every border that a 64-bit integer crosses on its way through numbers. */
const workerId = fc.oneof(
  fc.bigInt({ min: 0n, max: 12n }),
  ...[32n, 53n, 63n].map((power) => fc.bigInt({ min: 2n ** power - 2n, max: 2n ** power + 2n })),
  fc.bigInt({ min: 2n ** 64n - 3n, max: 2n ** 64n - 1n }),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
)

const weighted = <T>(...choices: readonly (readonly [number, fc.Arbitrary<T>])[]): fc.Arbitrary<T> =>
  fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })))

const fraction = (max: number): fc.Arbitrary<number> => fc.double({ min: 0, max, noNaN: true })

/** Zero, small values that tie, ordinary ones, fractions, and rarely something enormous. */
const quantity = (max: number): fc.Arbitrary<number> =>
  weighted(
    [4, fc.nat(3)],
    [3, fc.nat(max)],
    [2, fraction(max)],
    [1, fc.constant(0)],
    [1, fc.constantFrom(max, 2 ** 33 + 1)],
  )

/** A scoring parameter; `huge` lets costs overflow. */
const weight = (huge: boolean): fc.Arbitrary<number> =>
  weighted(
    [8, fc.constantFrom(0, 0.1, 0.25, 0.6, 0.75, 1, 1.5, 2, 4)],
    [3, fraction(10)],
    [huge ? 3 : 0, fc.constantFrom(1e300, Number.MAX_VALUE)],
  )

/** Options of the default family: every role, every branch, parameters of any size. */
export function optionsArbitrary(): fc.Arbitrary<DefaultOptions> {
  return weighted([19, fc.constant(false)], [1, fc.constant(true)]).chain((huge) =>
    fc.record({
      role: fc.constantFrom('aggregated', 'prefill', 'decode', 'encode'),
      conditionalDisaggregation: fc.boolean(),
      parameters: fc.record({
        overlap_score_credit: weighted([1, fc.constant(0)], [4, weight(huge)]),
        overlap_score_credit_decay: weighted([1, fc.constant(0)], [1, weight(huge)]),
        prefill_load_scale: weight(huge),
        decode_active_request_weight: weight(huge),
        host_cache_hit_weight: weight(huge),
        disk_cache_hit_weight: weight(huge),
        shared_cache_multiplier: weight(huge),
        prefix_affinity_weight: weighted([2, fc.constant(0)], [1, weight(huge)]),
        router_temperature: weighted(
          [3, fc.constant(0)],
          [2, fc.constantFrom(0.001, 0.1, 0.7, 1, 5)],
          [1, fc.double({ min: 1e-6, max: 10, noNaN: true })],
        ),
      }),
      seed: weighted<bigint>(
        [1, fc.constantFrom(0n, 42n, 2n ** 64n - 1n)],
        [1, fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })],
      ),
      reservesRuntimeInputs: weighted([3, fc.constant(false)], [1, fc.constant(true)]),
    }),
  )
}

function requestArbitrary(): fc.Arbitrary<SnapshotRequest> {
  const positions = fc.uniqueArray(fc.nat(400), { maxLength: 8 }).map((values) => {
    const sorted = values.toSorted((left, right) => left - right)
    return Array.from({ length: sorted.length >> 1 }, (_, range): [number, number] => [
      sorted[2 * range]!,
      sorted[2 * range + 1]!,
    ])
  })
  return fc.record({
    promptTokens: weighted([1, fc.constant(0)], [1, fc.constant(1)], [3, fc.nat(300)], [2, fc.nat(130_000)]),
    blockSize: weighted([3, fc.constantFrom(1, 8, 16, 64, 128)], [2, fc.constantFrom(3, 17, 24, 100)]),
    tracksPrefillTokens: weighted([2, fc.constant(true)], [1, fc.constant(false)]),
    tracked: weighted([3, fc.constant(true)], [1, fc.constant(false)]),
    trackedHashes: fc.option(fc.nat(40)),
    hasTierMatches: weighted([2, fc.constant(true)], [1, fc.constant(false)]),
    sharedHits: fc.option(positions),
  })
}

const loadArbitrary: fc.Arbitrary<SnapshotLoad> = fc.record({
  activePrefillTokens: weighted([1, fc.constantFrom(0, 16, 64)], [2, quantity(200_000)]),
  decodeCostBlocks: quantity(20_000),
  activeRequests: weighted([2, fc.nat(3)], [1, fc.nat(60)]),
})

type Facts = Omit<SnapshotRow, 'workerId' | 'dpRank'>

function factsArbitrary(hasTierMatches: boolean): fc.Arbitrary<Facts> {
  const tier = (max: number): fc.Arbitrary<number> => (hasTierMatches ? quantity(max) : fc.constant(0))
  return fc.record({
    deviceOverlapBlocks: tier(500),
    hostOverlapBlocks: tier(100),
    diskOverlapBlocks: tier(100),
    estimateBlocks: quantity(500),
    estimateTokens: weighted([1, fc.constantFrom(0, 48)], [2, fc.nat(9000)], [1, fc.nat(200_000)]),
    load: weighted<SnapshotLoad | null>([4, loadArbitrary], [1, fc.constant(null)]),
    cacheUnknown: weighted([6, fc.constant(false)], [1, fc.constant(true)]),
  })
}

function workersArbitrary(ids: readonly bigint[], maxRanks: number): fc.Arbitrary<SnapshotWorker[]> {
  const rankCount = weighted([1, fc.constant(0)], [8, fc.integer({ min: 1, max: 3 })], [3, fc.nat(maxRanks)])
  return fc.tuple(
    ...ids.map((id) =>
      fc.record({
        workerId: fc.constant(id),
        startRank: weighted([5, fc.constant(0)], [1, fc.nat(8)]),
        rankCount,
        taints: fc.subarray(taints),
        totalKvBlocks: weighted<number | null>(
          [1, fc.constantFrom(null, 0)],
          [3, fc.constantFrom(1, 3, 100, 20_000)],
        ),
      }),
    ),
  )
}

/** Ids of a list, sometimes with one that no worker has. */
function idsArbitrary(ids: readonly bigint[]): fc.Arbitrary<bigint[] | null> {
  const some = fc
    .tuple(fc.subarray([...ids]), fc.boolean())
    .map(([chosen, unknown]) => (unknown ? [...chosen, 77n] : chosen))
  return weighted<bigint[] | null>([5, fc.constant(null)], [1, some])
}

function constraintsArbitrary(
  workers: readonly SnapshotWorker[],
  ranks: readonly WorkerRank[],
): fc.Arbitrary<SnapshotConstraints> {
  const ids = workers.map((worker) => worker.workerId)
  const rank = fc
    .tuple(
      fc.constantFrom(...ranks, { workerId: 77n, dpRank: 0 }),
      weighted([9, fc.constant(0)], [1, fc.nat(9)]),
    )
    .map(([{ workerId: id, dpRank }, offset]) => ({ workerId: id, dpRank: dpRank + offset }))
  return fc.record({
    allowedWorkerIds: idsArbitrary(ids),
    availableWorkerIds: idsArbitrary(ids),
    overloadedWorkerIds: idsArbitrary(ids),
    overloadedRanks: weighted<WorkerRank[]>([4, fc.constant([])], [1, fc.subarray([...ranks])]),
    pinnedWorker: weighted<WorkerRank | null>([8, fc.constant(null)], [1, rank]),
    affinityTarget: weighted<SnapshotConstraints['affinityTarget']>(
      [6, fc.constant(null)],
      [1, rank],
      [1, rank.map(({ workerId: id }) => ({ workerId: id, dpRank: null }))],
    ),
    requiredTaints: weighted<string[]>([5, fc.constant([])], [1, fc.subarray([...taints, 'nobody'])]),
    preferredTaints: weighted<[string, number][]>(
      [2, fc.constant([])],
      [
        1,
        fc.uniqueArray(
          fc.tuple(
            fc.constantFrom(...taints, 'nobody'),
            weighted(
              [1, fc.constantFrom(-0.25, 0.1, 0.85)],
              [1, fc.double({ min: -3, max: 3, noNaN: true })],
            ),
          ),
          { selector: ([taint]) => taint },
        ),
      ],
    ),
  })
}

/** One snapshot whose workers have these ids. `reshape` rewrites the facts of a row. */
export function snapshotArbitrary(
  ids: readonly bigint[],
  maxRanks: number,
  reshape: (facts: Facts) => Facts = (facts) => facts,
): fc.Arbitrary<Snapshot> {
  return fc.tuple(requestArbitrary(), workersArbitrary(ids, maxRanks)).chain(([request, workers]) => {
    const ranks = workers.flatMap(({ workerId: id, startRank, rankCount }) =>
      Array.from({ length: rankCount }, (_, offset) => ({ workerId: id, dpRank: startRank + offset })),
    )
    // Facts of ranks that left, or that nobody has, must count for nothing.
    const named = [...ranks, { workerId: ids[0] ?? 3n, dpRank: 90 }, { workerId: 78n, dpRank: 0 }]
    const facts = factsArbitrary(request.hasTierMatches)
    const varied = fc.tuple(
      ...named.map(() => weighted<Facts | undefined>([7, facts], [1, fc.constant(undefined)])),
    )
    const uniform = facts.map((one) => named.map((): Facts | undefined => one))
    return fc.record({
      request: fc.constant(request),
      constraints: constraintsArbitrary(workers, ranks),
      workers: fc.constant(workers),
      rows: weighted<(Facts | undefined)[]>([3, varied], [1, uniform]).map((list) =>
        list.flatMap((one, index) => (one === undefined ? [] : [{ ...named[index]!, ...reshape(one) }])),
      ),
    })
  })
}

const idsOfFleet = (minLength: number, maxLength: number): fc.Arbitrary<bigint[]> =>
  fc.uniqueArray(workerId, { minLength, maxLength })

/** A random case: one policy object and a few selections of one snapshot. */
export interface RandomCase<O> {
  readonly options: O
  readonly snapshot: Snapshot
  readonly selections: number
}

/** Random cases of any policy family; `options` are drawn beside the snapshot. */
export function caseArbitrary<O>(options: fc.Arbitrary<O>): fc.Arbitrary<RandomCase<O>> {
  const ids = weighted([5, idsOfFleet(0, 7)], [1, idsOfFleet(8, 16)])
  const snapshot = ids.chain((drawn) => snapshotArbitrary(drawn, 9))
  return fc.record({ options, snapshot, selections: fc.integer({ min: 1, max: 4 }) })
}

/** A random sequence: one policy object over fleets that grow and shrink. */
export interface RandomSequence<O> {
  readonly options: O
  readonly snapshots: readonly Snapshot[]
}

const idle: SnapshotLoad = { activePrefillTokens: 0, decodeCostBlocks: 0, activeRequests: 0 }

/**
 * Random sequences of any policy family. Large steps are idle and warm, small ones are loaded and cold, so that whatever a large
 * fleet leaves behind past the last row would win every small selection that reads it.
 */
export function sequenceArbitrary<O>(options: fc.Arbitrary<O>): fc.Arbitrary<RandomSequence<O>> {
  const pool = idsOfFleet(4, 9)
  const snapshots = pool.chain((ids) => {
    const large = snapshotArbitrary(ids, 6, (facts) => ({ ...facts, load: idle, cacheUnknown: false }))
    const small = fc.subarray(ids, { minLength: 1, maxLength: 3 }).chain((some) =>
      snapshotArbitrary(some, 2, (facts) => {
        const load = facts.load ?? idle
        return {
          ...facts,
          deviceOverlapBlocks: 0,
          estimateBlocks: 0,
          load: { ...load, decodeCostBlocks: load.decodeCostBlocks + 50_000 },
        }
      }),
    )
    return fc.array(fc.oneof(large, small), { minLength: 3, maxLength: 7 })
  })
  return fc.record({ options, snapshots })
}
