/**
 * Blocks of a prompt: `ceil(promptTokens / blockSize)`, 0 for an empty one. Exact for counts below 2^53 / `blockSize`.
 * @param promptTokens tokens, integer >= 0
 * @param blockSize tokens per block, integer >= 1
 */
export function requestBlocks(promptTokens: number, blockSize: number): number {
  return Math.ceil(promptTokens / blockSize)
}

/** `max(1, blocks)`: a divisor that is never 0. The true count keeps the plain name, and nothing is charged for this one. */
export function requestBlocksForDivision(blocks: number): number {
  return blocks < 1 ? 1 : blocks
}

/** Nearest integer, halves away from zero; exact at every magnitude. */
export function roundHalfAway(value: number): number {
  return value < 0 ? -Math.round(-value) : Math.round(value)
}

/**
 * How much the preferred taints that a worker carries scale its cost: `exp(-tanh(sum of their weights))`, in [1/e, e]; exactly 1
 * for a sum of 0. The sum takes each weight as a 32-bit float (`Math.fround`), in the order of the request.
 */
export function preferredTaintMultiplier(weightSum: number): number {
  return Math.exp(-Math.tanh(weightSum))
}
