import type { WorkerRole } from '@router/sdk'
import {
  type DefaultOptions,
  type DefaultParameters,
  type Snapshot,
  type SnapshotRow,
  builtInParameters,
  unconstrained,
} from './snapshot.js'

/** Ranks of each worker of the fixture. */
const ranksPerWorker = 2

/**
 * The fleet `F(n, prompt, blockSize)` of the parity matrices and the benches: workers `0..n-1` with two ranks each, so that
 * row index = 2 x id + rank, and cache and load values that repeat with periods 9, 5, 7 and 11.
 */
export function fixture(workerCount: number, promptTokens: number, blockSize: number): Snapshot {
  const rows: SnapshotRow[] = []
  for (let id = 0; id < workerCount; id++) {
    for (let dpRank = 0; dpRank < ranksPerWorker; dpRank++) {
      const overlap = (7 * id + dpRank) % 9
      rows.push({
        workerId: BigInt(id),
        dpRank,
        deviceOverlapBlocks: overlap,
        hostOverlapBlocks: 2,
        diskOverlapBlocks: 1,
        estimateBlocks: overlap + 0.5,
        estimateTokens: 16 * overlap + 8,
        load: {
          activePrefillTokens: 19 * (id % 7),
          decodeCostBlocks: (id % 11) + 3,
          activeRequests: id % 5,
        },
      })
    }
  }
  return {
    request: {
      promptTokens,
      blockSize,
      tracksPrefillTokens: true,
      tracked: true,
      trackedHashes: null,
      hasTierMatches: true,
      sharedHits: null,
    },
    constraints: unconstrained,
    workers: Array.from({ length: workerCount }, (_, id) => ({
      workerId: BigInt(id),
      startRank: 0,
      rankCount: ranksPerWorker,
      taints: [],
      totalKvBlocks: 16_384,
    })),
    rows,
  }
}

/** The same snapshot with no tier data: only estimates are left. */
export function withoutTierMatches(snapshot: Snapshot): Snapshot {
  return {
    ...snapshot,
    request: { ...snapshot.request, hasTierMatches: false },
    rows: snapshot.rows.map((row) => ({
      ...row,
      deviceOverlapBlocks: 0,
      hostOverlapBlocks: 0,
      diskOverlapBlocks: 0,
    })),
  }
}

/** The same snapshot with no load projection on any rank. */
export function withoutLoads(snapshot: Snapshot): Snapshot {
  return { ...snapshot, rows: snapshot.rows.map((row) => ({ ...row, load: null })) }
}

/** The same snapshot with prefill tracking off for its request. */
export function withoutTracking(snapshot: Snapshot): Snapshot {
  return { ...snapshot, request: { ...snapshot.request, tracksPrefillTokens: false } }
}

/** One cell of a matrix: fresh policy object, one snapshot, `matrixSelections` tracked selections. */
export interface MatrixCell {
  readonly temperature: number
  readonly promptTokens: number
  readonly mode: number
  readonly options: DefaultOptions
  readonly snapshot: Snapshot
}

/** Selections of each cell, from one stream. */
export const matrixSelections = 64

const temperatures = [0, 0.7]
const prompts = [1, 17, 127, 2048]

const matrixParameters: DefaultParameters = {
  ...builtInParameters,
  overlap_score_credit: 1,
  overlap_score_credit_decay: 0.6,
  host_cache_hit_weight: 0.25,
  disk_cache_hit_weight: 0.1,
}

function matrixCell(role: WorkerRole, temperature: number, promptTokens: number, mode: number): MatrixCell {
  let snapshot = fixture(16, promptTokens, 16)
  if (mode % 4 === 1) snapshot = withoutTierMatches(snapshot)
  if (mode % 4 === 2) snapshot = withoutLoads(snapshot)
  if (mode % 4 === 3) snapshot = withoutTracking(snapshot)
  if (mode % 8 >= 4) {
    const sharedHits = [
      [1, 3],
      [5, 12],
    ] as const
    snapshot = { ...snapshot, request: { ...snapshot.request, sharedHits } }
  }
  const parameters = {
    ...matrixParameters,
    router_temperature: temperature,
    decode_active_request_weight: (mode & 8) === 0 ? 0 : 0.7,
    shared_cache_multiplier: (mode & 16) === 0 ? 0 : 0.6,
    prefix_affinity_weight: (mode & 32) === 0 ? 0 : 0.25,
  }
  const options = { role, conditionalDisaggregation: false, parameters, seed: 42n }
  return { temperature, promptTokens, mode, options, snapshot }
}

function matrix(role: WorkerRole, modes: readonly number[]): MatrixCell[] {
  return temperatures.flatMap((temperature) =>
    prompts.flatMap((promptTokens) => modes.map((mode) => matrixCell(role, temperature, promptTokens, mode))),
  )
}

const numbers = (first: number, end: number, step: number): number[] =>
  Array.from({ length: Math.ceil((end - first) / step) }, (_, index) => first + index * step)

/** Matrix A: cache and load shapes on the normal path, 256 cells. */
export const matrixA = (): MatrixCell[] => matrix('prefill', numbers(0, 32, 1))

/** Matrix B: the same shapes with a prefix-affinity weight, 256 cells. */
export const matrixB = (): MatrixCell[] => matrix('prefill', numbers(32, 64, 1))

/** Matrix C: cache-aware decode, with and without a prefix-affinity weight, 128 cells. */
export const matrixC = (): MatrixCell[] => matrix('aggregated', numbers(3, 64, 4))

/** A sequence of snapshots for one policy object. */
export interface SnapshotSequence {
  readonly name: string
  readonly options: DefaultOptions
  readonly snapshots: readonly Snapshot[]
}

/** The second sweep: one policy object through 64 requests of changing prompt, block size, tracking, tiers and loads. */
export function sweep(): SnapshotSequence[] {
  return (['prefill', 'decode'] as const).flatMap((label) =>
    temperatures.map((temperature) => ({
      name: `${label}/${temperature}`,
      options: {
        role: label === 'prefill' ? 'prefill' : 'aggregated',
        conditionalDisaggregation: false,
        parameters: { ...matrixParameters, router_temperature: temperature },
        seed: 42n,
      },
      snapshots: numbers(0, 64, 1).map(sweepRound),
    })),
  )
}

function sweepRound(round: number): Snapshot {
  const promptTokens = prompts[round % prompts.length]!
  const blockSizes = [8, 16, 32, 17, 3]
  let snapshot = fixture(16, promptTokens, blockSizes[round % blockSizes.length]!)
  if (round % 2 !== 0) snapshot = withoutTracking(snapshot)
  if (round % 3 === 0) snapshot = withoutTierMatches(snapshot)
  if (round % 5 === 0) return withoutLoads(snapshot)
  const rows = snapshot.rows.map((row) => {
    const load = row.load!
    return { ...row, load: { ...load, activePrefillTokens: load.activePrefillTokens + 19 * round } }
  })
  return { ...snapshot, rows }
}

/** Pins between free selections: a pin must not move the random stream. */
export function pinPattern(): SnapshotSequence {
  const free = fixture(8, 127, 16)
  const pinned = { ...free, constraints: { ...free.constraints, pinnedWorker: { workerId: 3n, dpRank: 1 } } }
  return {
    name: 'pin-pattern',
    options: {
      role: 'prefill',
      conditionalDisaggregation: false,
      parameters: { ...builtInParameters, router_temperature: 0.7 },
      seed: 42n,
    },
    snapshots: [pinned, free, pinned, free, free],
  }
}

/** The golden prefixes: three idle workers of equal cost, 16 selections at temperature 0 and at 0.7. */
export function goldenPrefixes(): (SnapshotSequence & { readonly picks: readonly bigint[] })[] {
  const workers = [10n, 20n, 30n].map((workerId) => ({ workerId, startRank: 0, rankCount: 1, taints: [] }))
  const { request } = fixture(0, 16, 16)
  const snapshot = { request, constraints: unconstrained, workers, rows: [] }
  const picks = [
    [10n, 30n, 10n, 10n, 30n, 20n, 10n, 10n, 10n, 20n, 10n, 20n, 30n, 10n, 20n, 20n],
    [30n, 20n, 30n, 10n, 20n, 20n, 30n, 20n, 30n, 10n, 10n, 30n, 30n, 20n, 30n, 30n],
  ]
  return temperatures.map((temperature, index) => ({
    name: `golden-prefix/${temperature}`,
    options: {
      role: 'aggregated',
      conditionalDisaggregation: false,
      parameters: { ...builtInParameters, router_temperature: temperature },
      seed: 42n,
    },
    snapshots: picks[index]!.map(() => snapshot),
    picks: picks[index]!,
  }))
}

/** One line of the text that a golden digest is taken over: `name:` and the picks as `id.rank`. */
export function goldenLine(name: string, picks: readonly { workerId: bigint; dpRank: number }[]): string {
  return `${name}:${picks.map(({ workerId, dpRank }) => `${workerId}.${dpRank}`).join(' ')}\n`
}
