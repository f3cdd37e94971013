import type { DefaultOptions, SnapshotLoad, SnapshotRequest } from './snapshot.js'

/** What the formulas see of one eligible rank. Unknown cache values are 0 already. */
export interface Candidate {
  readonly workerId: bigint
  readonly dpRank: number
  readonly deviceOverlapBlocks: number
  readonly hostOverlapBlocks: number
  readonly diskOverlapBlocks: number
  readonly estimateBlocks: number
  readonly estimateTokens: number
  readonly load: SnapshotLoad | null
  /** `null` = preferences do not apply. */
  readonly taintMultiplier: number | null
  /** Blocks; `null` = not advertised. */
  readonly totalKvBlocks: number | null
}

type FormulaOptions = Pick<DefaultOptions, 'role' | 'conditionalDisaggregation' | 'parameters'>
type FormulaRequest = Pick<
  SnapshotRequest,
  'promptTokens' | 'blockSize' | 'tracksPrefillTokens' | 'hasTierMatches' | 'sharedHits'
>

/** A decode pool that takes every decode leg: no cache credit there. */
function isPlainDecode(options: FormulaOptions): boolean {
  return options.role === 'decode' && !options.conditionalDisaggregation
}

/** Whether these options look at the cache. */
export function usesCache(options: FormulaOptions): boolean {
  const { overlap_score_credit: credit, prefix_affinity_weight: affinity } = options.parameters
  return !isPlainDecode(options) && (credit !== 0 || affinity !== 0)
}

/** Whether the cache group is declared, and accounting therefore sees it. */
export function declaresCache(options: DefaultOptions): boolean {
  return usesCache(options) || (options.reservesRuntimeInputs === true && !isPlainDecode(options))
}

/** `max(0, value)`, and 0 for NaN (an infinite load less an infinite credit), as the release computes it. */
function atLeastZero(value: number): number {
  return value > 0 ? value : 0
}

/** Rounds a value >= 0 half away from zero, by looking at the fraction. */
function roundPosition(value: number): number {
  const below = Math.floor(value)
  return value - below >= 0.5 ? below + 1 : below
}

/** Covered positions at or past `position`, counted range by range. */
function hitsBeyond(ranges: readonly (readonly [number, number])[], position: number): number {
  let hits = 0
  for (const [start, end] of ranges) {
    const first = Math.max(start, position)
    if (end > first) hits += end - first
  }
  return hits
}

/**
 * Cost of every candidate by the default formula, term by term, each product and sum from left to right: that order is what
 * parity compares. `O(n)`; may return infinities or NaN, which the caller reports.
 */
export function defaultCosts(
  options: FormulaOptions,
  request: FormulaRequest,
  candidates: readonly Candidate[],
): number[] {
  const { parameters } = options
  const track = request.tracksPrefillTokens
  const label = options.role === 'prefill' ? 'prefill' : 'decode'
  const cacheInUse = usesCache(options)
  const c0 = cacheInUse ? parameters.overlap_score_credit : 0
  const useDecay = track && parameters.overlap_score_credit_decay > 0
  const subtract = label === 'decode' && !track && c0 > 0
  const charge =
    cacheInUse && parameters.prefix_affinity_weight !== 0 && !(label === 'decode' && !track && c0 === 0)
  const P = request.promptTokens
  const B = request.blockSize
  const R = Math.ceil(P / B)
  const RB = Math.max(1, R)

  let minA = Infinity
  for (const candidate of candidates) minA = Math.min(minA, candidate.load?.activePrefillTokens ?? 0)

  return candidates.map((candidate) => {
    const A = candidate.load?.activePrefillTokens ?? 0
    const D = candidate.load?.decodeCostBlocks ?? 0
    const n = candidate.load?.activeRequests ?? 0

    let dev = 0
    let cached = 0
    let credit = 0
    if (cacheInUse) {
      dev = request.hasTierMatches ? candidate.deviceOverlapBlocks : candidate.estimateBlocks
      cached = candidate.estimateTokens
      const decay = useDecay
        ? 1 / (1 + parameters.overlap_score_credit_decay * (atLeastZero(A - minA) / B / RB))
        : 1
      const shared =
        request.sharedHits === null ? 0 : hitsBeyond(request.sharedHits, roundPosition(atLeastZero(dev)))
      credit =
        c0 * decay * dev +
        parameters.host_cache_hit_weight * candidate.hostOverlapBlocks +
        parameters.disk_cache_hit_weight * candidate.diskOverlapBlocks +
        parameters.shared_cache_multiplier * shared
    }

    const requestTerm = parameters.decode_active_request_weight * n
    const affinity = charge ? parameters.prefix_affinity_weight * atLeastZero(R - dev) : 0

    let base: number
    if (subtract) {
      base = atLeastZero(D - credit) + requestTerm + affinity
    } else {
      let raw = 0
      if (track) raw = candidate.load === null ? P : A + atLeastZero(P - cached) + cached
      base = parameters.prefill_load_scale * atLeastZero(raw / B - credit) + D + requestTerm + affinity
    }
    return candidate.taintMultiplier === null ? base : base * candidate.taintMultiplier
  })
}
