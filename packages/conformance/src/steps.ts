import { type SharedHits, WyRand, preferredTaintMultiplier, requestBlocks, sharedHitsFrom } from '@router/sdk'
import { compareRanks } from './canonical-order.js'
import { type HandMadeFacts, handMadePrefixHashes } from './hand-made-context.js'
import type { HandMadeRow, HandMadeViewOptions, RowCache } from './hand-made-view.js'
import type { Subject } from './subject.js'

/** A soft preference of a request. */
export interface StepTaint {
  readonly taint: string
  readonly weight: number
}

/** One request and the fleet that it meets. */
export interface Step {
  /** All rows that the host knows; left out = `rows`. */
  readonly fleet?: readonly HandMadeRow[]
  /** The eligible rows. */
  readonly rows: readonly HandMadeRow[]
  readonly facts: HandMadeFacts
  readonly preferredTaints?: readonly StepTaint[]
  readonly sharedHits?: SharedHits
  /** Left out = whether some row has a tier overlap. */
  readonly hasTierMatches?: boolean
  /** Left out = whether the request has preferred taints and is not pinned, or some row has a `taintMultiplier`. */
  readonly taintApplies?: boolean
}

const fleetSizes = [3, 1, 8, 2, 13, 5, 24, 4] as const
const requestsPerFleet = 4
const promptLengths = [17, 1, 128, 1000, 16, 2048, 15, 100, 4099] as const
// Ids whose order differs between numbers, doubles and text.
const idPool = [
  2n ** 64n - 1n,
  9n,
  2n ** 53n,
  10n,
  2n ** 53n + 1n,
  2n ** 63n + 5n,
  3n,
  2n ** 32n,
  2n ** 32n - 1n,
]

/** Rows in canonical order or not: as a person would write a fleet of known, busy, ordinary ranks. One list per subject. */
export function ordinarySteps(subject: Subject): readonly Step[] {
  const known = knownSteps.get(subject)
  if (known !== undefined) return known
  const steps = makeOrdinarySteps(subject)
  knownSteps.set(subject, steps)
  return steps
}

const knownSteps = new WeakMap<Subject, readonly Step[]>()

function makeOrdinarySteps(subject: Subject): Step[] {
  const random = new WyRand(20_260_101n)
  return Array.from({ length: fleetSizes.length * requestsPerFleet }, (_unused, index) =>
    ordinaryStep(subject, index, random),
  )
}

/** The ordinary steps with rows in canonical order. */
export function canonicalSteps(subject: Subject): Step[] {
  return ordinarySteps(subject).map((step) => {
    const rows = step.rows.toSorted((a, b) =>
      compareRanks(
        { workerId: a.workerId, dpRank: a.dpRank ?? 0 },
        { workerId: b.workerId, dpRank: b.dpRank ?? 0 },
      ),
    )
    return { ...step, rows }
  })
}

function ordinaryStep(subject: Subject, index: number, random: WyRand): Step {
  const size = fleetSizes[Math.floor(index / requestsPerFleet)]!
  const blockSize = index % 5 === 3 ? 17 : 16
  const promptTokens = promptLengths[index % promptLengths.length]!
  const facts = requestFacts(subject, index, promptTokens, blockSize)
  const blocks = requestBlocks(promptTokens, blockSize)
  const onlyEstimates = index % 6 === 4
  const equal = index % 4 === 3
  const model = ordinaryRow(subject, 0n, 0, blocks, onlyEstimates, random)
  const ranks = rankIds(size)
  const rows = ranks.map(({ workerId, dpRank }) => {
    const row = ordinaryRow(subject, workerId, dpRank, blocks, onlyEstimates, random)
    const dataParallelSize = ranks.filter((rank) => rank.workerId === workerId).length
    const worker = { ...row.worker, dataParallelStartRank: 0, dataParallelSize }
    return equal
      ? { ...model, workerId, dpRank, worker, totalKvBlocks: row.totalKvBlocks! }
      : { ...row, worker }
  })
  const preferredTaints = [
    { taint: 'even', weight: 0.85 },
    { taint: 'third', weight: -0.25 },
  ]
  const step = {
    rows,
    facts,
    ...(index % 3 === 1 ? { preferredTaints } : {}),
    ...(index % 4 === 2 ? { sharedHits: sharedHitsFrom([[0, Math.min(2, blocks)]]) } : {}),
  }
  return narrowed(subject, step, index)
}

/** Pins one step in seven, and gives one in five an affinity target, which leaves an exclusive policy no other rows. */
function narrowed(subject: Subject, step: Step, index: number): Step {
  const target = step.rows[index % step.rows.length]!
  const { workerId, dpRank = 0 } = target
  const one = { ...step, fleet: step.rows, rows: [target] }
  if (index % 7 === 6) return { ...one, facts: { ...step.facts, pinnedWorker: { workerId, dpRank } } }
  if (index % 5 !== 2) return step
  const steered = subject.policy.affinity === 'exclusive' ? one : step
  return { ...steered, facts: { ...step.facts, affinityTarget: { workerId, dpRank } } }
}

function requestFacts(
  subject: Subject,
  index: number,
  promptTokens: number,
  blockSize: number,
): HandMadeFacts {
  const { role } = subject
  const session = index % 3 === 0 ? undefined : `session-${index % 4}`
  const tracksPrefillTokens = role === 'aggregated' ? index % 6 !== 5 : role !== 'decode'
  const hashes = handMadePrefixHashes(BigInt(index % 4), Math.floor(promptTokens / blockSize))
  return {
    promptTokens,
    blockSize,
    tracksPrefillTokens,
    prefixHashes: role === 'prefill' ? undefined : hashes,
    sessionContext:
      session === undefined
        ? undefined
        : { sessionId: session, sessionFinal: index % 11 === 0, agentHeaders: {} },
    expectedOutputTokens: index % 4 === 1 ? 200 : undefined,
    priorityJump: index % 6 === 1 ? 0.5 : undefined,
    strictPriority: index % 9 === 8 ? 1 : 0,
    routerTemperatureOverride: index % 8 === 7 ? 0.5 : undefined,
    requiredCacheHits: role === 'encode' ? index % 3 : 0,
  }
}

/** `size` ranks: every third worker has two. Not in canonical order. */
export function rankIds(size: number): { workerId: bigint; dpRank: number }[] {
  const ranks: { workerId: bigint; dpRank: number }[] = []
  for (let worker = 0; ranks.length < size; worker++) {
    const workerId = idPool[worker] ?? 1000n + BigInt((worker * 7919) % 65_536)
    ranks.push({ workerId, dpRank: 0 })
    if (worker % 3 === 2 && ranks.length < size) ranks.push({ workerId, dpRank: 1 })
  }
  return ranks
}

function ordinaryRow(
  subject: Subject,
  workerId: bigint,
  dpRank: number,
  blocks: number,
  onlyEstimates: boolean,
  random: WyRand,
): HandMadeRow {
  const device = random.below(blocks + 1)
  const host = random.below(blocks - device + 1)
  const disk = random.below(blocks - device - host + 1)
  const cache: RowCache = onlyEstimates
    ? { estimateBlocks: device + 0.5 * host }
    : { deviceOverlapBlocks: device, hostOverlapBlocks: host, diskOverlapBlocks: disk }
  const taints = [...(workerId % 2n === 0n ? ['even'] : []), ...(workerId % 3n === 0n ? ['third'] : [])]
  return {
    workerId,
    dpRank,
    cache,
    load: {
      activePrefillTokens: 16 + random.below(3000),
      decodeCostBlocks: subject.role === 'prefill' ? 0 : 8 + random.below(150),
      activeRequests: 1 + random.below(6),
    },
    totalKvBlocks: 2000 + Number(workerId % 1999n),
    maxNumBatchedTokens: 8192,
    reservations: 1 + random.below(6),
    cacheHits: random.below(3),
    prefillBacklogMs: 5 + random.below(400),
    worker: { taints, deviceKind: workerId % 5n === 0n ? 'cpu' : 'accelerator' },
  }
}

/** Taint multipliers of the step's rows, and the request-wide facts of its view. */
export function viewOf(step: Step): { rows: readonly HandMadeRow[]; options: HandMadeViewOptions } {
  const { preferredTaints = [], sharedHits, hasTierMatches } = step
  const prefers = preferredTaints.length > 0 && step.facts.pinnedWorker === undefined
  const rows = step.rows.map((row) =>
    prefers ? { taintMultiplier: multiplier(row, preferredTaints), ...row } : row,
  )
  return {
    rows,
    options: {
      taintApplies: step.taintApplies ?? rows.some((row) => row.taintMultiplier !== undefined),
      ...(sharedHits === undefined ? {} : { sharedHits }),
      hasTierMatches: hasTierMatches ?? (step.fleet ?? rows).some(hasTiers),
    },
  }
}

/** A fact of the request, whichever rows are eligible. */
function hasTiers({ cache }: HandMadeRow): boolean {
  if (cache === undefined || cache === 'unknown') return false
  const { deviceOverlapBlocks = 0, hostOverlapBlocks = 0, diskOverlapBlocks = 0 } = cache
  return deviceOverlapBlocks + hostOverlapBlocks + diskOverlapBlocks > 0
}

function multiplier(row: HandMadeRow, preferred: readonly StepTaint[]): number {
  const carried = row.worker?.taints ?? []
  const matching = preferred.filter(({ taint }) => carried.includes(taint))
  return preferredTaintMultiplier(matching.reduce((sum, { weight }) => sum + Math.fround(weight), 0))
}

/** The same ranks in another order. */
export function shuffled<T>(rows: readonly T[], seed: bigint): T[] {
  const random = new WyRand(seed)
  const order = [...rows]
  for (let last = order.length - 1; last > 0; last--) {
    const other = random.below(last + 1)
    const row = order[last]!
    order[last] = order[other]!
    order[other] = row
  }
  return order
}
