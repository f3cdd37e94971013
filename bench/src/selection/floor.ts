/** What the floor reads: one plain array a column, and the weights of the default parameters. */
export interface FloorInput {
  readonly device: Float64Array
  readonly host: Float64Array
  readonly disk: Float64Array
  readonly estimateTokens: Float64Array
  readonly active: Float64Array
  readonly decode: Float64Array
  readonly count: number
  readonly promptTokens: number
  readonly blockSize: number
  readonly credit: number
  readonly scale: number
  readonly hostWeight: number
  readonly diskWeight: number
}

/**
 * The least that a selection could cost in this language: the formula of the default policy under its default parameters and the
 * argmin in one loop. No eligibility, no missing data, no ties, no result, no check of anything.
 */
export function floor(input: FloorInput): number {
  const { device, host, disk, estimateTokens, active, decode, count } = input
  const { promptTokens, blockSize, credit, scale, hostWeight, diskWeight } = input
  let best = Infinity
  let chosen = -1
  for (let row = 0; row < count; row++) {
    const reused = estimateTokens[row]!
    const uncached = promptTokens - reused
    const raw = active[row]! + (uncached > 0 ? uncached : 0) + reused
    const saved = credit * device[row]! + hostWeight * host[row]! + diskWeight * disk[row]!
    const prefill = raw / blockSize - saved
    const cost = scale * (prefill > 0 ? prefill : 0) + decode[row]!
    if (cost < best) {
      best = cost
      chosen = row
    }
  }
  return chosen
}
