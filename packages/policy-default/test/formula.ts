import type { HandMadeRow, RowCache, RowLoad } from '@router/conformance'
import type { RouterDefaults, WorkerRole } from '@router/sdk'

/** Where a policy object serves, and one request. */
export interface FormulaRequest {
  readonly role: WorkerRole
  readonly conditionalDisaggregation: boolean
  readonly promptTokens: number
  readonly blockSize: number
  readonly tracks: boolean
  readonly hasTierMatches: boolean
  readonly sharedHits: readonly (readonly [number, number])[] | undefined
  readonly appliesTaints: boolean
}

/** The default cost of each row, transcribed from the formula with objects, one term a line; every field of a row is given. */
export function formulaCosts(
  weights: RouterDefaults,
  request: FormulaRequest,
  rows: readonly HandMadeRow[],
): number[] {
  const { promptTokens: P, blockSize: B, tracks: track, hasTierMatches, sharedHits } = request
  const R = Math.ceil(P / B)
  const RB = Math.max(1, R)
  const label = request.role === 'prefill' ? 'prefill' : 'decode'
  const plainDecode = request.role === 'decode' && !request.conditionalDisaggregation
  const { overlap_score_credit, prefix_affinity_weight } = weights
  const usesCache = !plainDecode && (overlap_score_credit !== 0 || prefix_affinity_weight !== 0)
  const c0 = usesCache ? overlap_score_credit : 0
  const useDecay = track && weights.overlap_score_credit_decay > 0
  const minA = Math.min(...rows.map((row) => loadOf(row)?.activePrefillTokens ?? 0))
  const subtract = label === 'decode' && !track && c0 > 0
  const charge = usesCache && prefix_affinity_weight !== 0 && !(label === 'decode' && !track && c0 === 0)

  return rows.map((row) => {
    const load = loadOf(row)
    const cache: RowCache = usesCache && row.cache !== 'unknown' ? row.cache! : {}
    const { deviceOverlapBlocks = 0, hostOverlapBlocks: host = 0, diskOverlapBlocks: disk = 0 } = cache
    const { estimateBlocks = 0, estimateTokens: cached = 0 } = cache
    const { activePrefillTokens: A = 0, decodeCostBlocks: D = 0, activeRequests: n = 0 } = load ?? {}
    const dev = hasTierMatches ? deviceOverlapBlocks : estimateBlocks
    const decay = useDecay
      ? 1 / (1 + weights.overlap_score_credit_decay * (atLeastZero(A - minA) / B / RB))
      : 1
    const shared = usesCache ? blocksFrom(Math.round(atLeastZero(dev)), sharedHits ?? []) : 0
    const credit = usesCache
      ? c0 * decay * dev +
        weights.host_cache_hit_weight * host +
        weights.disk_cache_hit_weight * disk +
        weights.shared_cache_multiplier * shared
      : 0
    const ofRequests = weights.decode_active_request_weight * n
    const affinity = charge ? prefix_affinity_weight * atLeastZero(R - dev) : 0
    const known = A + atLeastZero(P - cached) + cached
    const raw = track ? (load === undefined ? P : known) : 0
    const base = subtract
      ? atLeastZero(D - credit) + ofRequests + affinity
      : weights.prefill_load_scale * atLeastZero(raw / B - credit) + D + ofRequests + affinity
    return request.appliesTaints ? base * row.taintMultiplier! : base
  })
}

function loadOf({ load }: HandMadeRow): RowLoad | undefined {
  return load === 'unknown' ? undefined : load
}

/** `max(0, value)`; an infinite value less an infinite one (NaN) counts as 0. */
function atLeastZero(value: number): number {
  return value > 0 ? value : 0
}

/** Covered positions at or past `from`, counted one by one. */
function blocksFrom(from: number, ranges: readonly (readonly [number, number])[]): number {
  let blocks = 0
  for (const [start, end] of ranges) for (let at = start; at < end; at++) blocks += at >= from ? 1 : 0
  return blocks
}
