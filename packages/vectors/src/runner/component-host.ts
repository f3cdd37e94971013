import {
  type AnyPolicy,
  type HandMadeRow,
  type HandMadeView,
  type HandMadeViewOptions,
  type HandMadeFacts,
  TestMemory,
  handMadeContext,
  handMadeView,
  runComponents,
} from '@router/conformance'
import {
  type ResolvedPolicy,
  type RouterDefaults,
  type WorkerInputs,
  WyRand,
  routerDefaults,
  sharedHitsFrom,
} from '@router/sdk'
import type { VectorRequest, VectorRow } from '../shapes/common.js'
import type { Permutation } from './permutations.js'
import { compareRanks, nameOf } from './rows.js'
import { type Kernel, type Place, unseededEntropy } from './selectors.js'

/** What the components of a policy did with given rows; rows by name, in canonical order. */
export interface ComponentOutcome {
  /** Sum over the scorers, by row of the case. */
  readonly totals: readonly number[]
  readonly tieSet: readonly string[]
  readonly mode: string | undefined
  /** The rows that consecutive picks took. */
  readonly picks: readonly string[]
  /** Rows that the policy warned about. */
  readonly warned: readonly string[]
}

/** How the components are built and fed. */
export interface ComponentSource {
  readonly policy: ResolvedPolicy
  readonly place: Place
  readonly kernel: Kernel
  readonly reservesRuntimeInputs?: boolean
  readonly defaults?: Partial<RouterDefaults>
  readonly rows: readonly HandMadeRow[]
  readonly options: HandMadeViewOptions
  readonly facts: HandMadeFacts
  readonly selections: number
}

const memories = new Map<boolean, TestMemory>()

/** Runs a policy's own components over rows in the given order, without the host around them. */
export function runOverRows(source: ComponentSource, permutation: Permutation): ComponentOutcome {
  const { rows, options, facts, selections } = source
  const canonical = [...rows.keys()].toSorted((a, b) => compareRanks(ranked(rows[a]!), ranked(rows[b]!)))
  const order = permutation.rowOf.map((position) => canonical[position]!)
  const warned: string[] = []
  const { policy, inputs, memory } = build(source, warned)
  const writesCanonicalRows = permutation.canonicalRows !== undefined
  const view = handMadeView(
    order.map((row) => rows[row]!),
    { ...options, groups: inputs, writesCanonicalRows },
  )
  const workers = [...new Set(view.workers)].filter((worker) => worker !== undefined)
  policy.onWorkersChanged?.(workers.toSorted((a, b) => (a.workerId < b.workerId ? -1 : 1)))
  const context = handMadeContext(view, facts)
  let totals = new Float64Array(0)
  const picks: string[] = []
  for (let selection = 0; selection < selections; selection++) {
    const run = runComponents(policy, view, context, { inputs, memory })
    totals = Float64Array.from(run.totals)
    picks.push(nameOf(run.worker))
  }
  const pick = policy.picker.explain?.(context, view as never, totals)
  const tied = pick?.tieSet ?? minimumRows(totals)
  return {
    totals: rows.map((_, row) => totals[order.indexOf(row)]!),
    tieSet: namesInOrder(view, tied),
    mode: pick?.mode,
    picks,
    warned,
  }
}

/** Names of rows in canonical order. */
function namesInOrder(view: HandMadeView, rows: Iterable<number>): string[] {
  const ranks = Array.from(rows, (row) => ({ workerId: view.workerId(row), dpRank: view.dpRank[row]! }))
  return ranks.toSorted(compareRanks).map(nameOf)
}

function minimumRows(totals: Float64Array): number[] {
  const lowest = totals.reduce((low, total) => (total < low ? total : low), Infinity)
  return [...totals.keys()].filter((row) => totals[row] === lowest)
}

function build(
  source: ComponentSource,
  warned: string[],
): { policy: AnyPolicy; inputs: WorkerInputs; memory: TestMemory } {
  const { definition, parameters } = source.policy
  const { webAssembly } = source.kernel
  const memory = memories.get(webAssembly) ?? new TestMemory({ webAssembly })
  memories.set(webAssembly, memory)
  const inputScope = {
    ...source.place,
    routerDefaults: { ...routerDefaults, ...source.defaults },
    reservesRuntimeInputs: source.reservesRuntimeInputs ?? false,
  }
  const inputs = definition.inputs(parameters, inputScope)
  const policy = definition.create(parameters, {
    ...inputScope,
    model: 'default',
    routingGroup: 'default',
    memory,
    random: (seed) => new WyRand(seed ?? unseededEntropy),
    nowMs: () => 0,
    warnOnce: (_code, workerId, dpRank) => {
      const name = `${workerId}.${dpRank}`
      if (!warned.includes(name)) warned.push(name)
    },
  }) as AnyPolicy
  return { policy, inputs, memory }
}

function ranked({ workerId, dpRank = 0 }: HandMadeRow): { workerId: bigint; dpRank: number } {
  return { workerId, dpRank }
}

/** A row of a case as the conformance suite writes rows. */
export function handMadeRow(row: VectorRow): HandMadeRow {
  const { deviceOverlapBlocks, hostOverlapBlocks, diskOverlapBlocks, estimateBlocks, estimateTokens, load } =
    row
  const isKnown = deviceOverlapBlocks !== null
  return {
    workerId: BigInt(row.workerId),
    dpRank: row.dpRank,
    cache: isKnown
      ? {
          deviceOverlapBlocks,
          hostOverlapBlocks: hostOverlapBlocks!,
          diskOverlapBlocks: diskOverlapBlocks!,
          estimateBlocks: estimateBlocks!,
          estimateTokens: estimateTokens!,
        }
      : 'unknown',
    load: load ?? 'unknown',
    ...(row.taintMultiplier === null ? {} : { taintMultiplier: row.taintMultiplier }),
    ...(row.totalKvBlocks === null ? {} : { totalKvBlocks: row.totalKvBlocks }),
    ...(row.prefillBacklogMs === null ? {} : { prefillBacklogMs: row.prefillBacklogMs }),
  }
}

/** What a case says about its request as a whole. */
export function viewOptionsOf(request: VectorRequest): HandMadeViewOptions {
  const { hasTierMatches, sharedHits } = request
  return { hasTierMatches, ...(sharedHits === null ? {} : { sharedHits: sharedHitsFrom(sharedHits) }) }
}

/** The facts of a case's request that are not columns. */
export function factsOf(request: VectorRequest): HandMadeFacts {
  const { promptTokens, blockSize, tracksPrefillTokens, expectedOutputTokens, policyClass } = request
  return {
    promptTokens,
    blockSize,
    tracksPrefillTokens,
    prefixHashes: prefixHashesFrom(request.prefixHashes),
    expectedOutputTokens,
    ...(policyClass === undefined ? {} : { policyClass }),
  }
}

/** Decimal u64 as two halves. */
function prefixHashesFrom(hashes: readonly string[] | undefined) {
  if (hashes === undefined) return undefined
  const words = hashes.map(BigInt)
  return {
    count: words.length,
    high: Uint32Array.from(words, (word) => Number(word >> 32n)),
    low: Uint32Array.from(words, (word) => Number(word & 0xffff_ffffn)),
  }
}
