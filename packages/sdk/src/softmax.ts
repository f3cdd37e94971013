import type { CandidateRows } from './candidates.js'
import type { WorkerPicker } from './components.js'
import { minimumCostPicker } from './minimum-cost.js'
import { portableExp } from './portable-exp.js'
import type { WyRand } from './wyrand.js'

/**
 * Range-normalised softmax: writes `exp(-((c - lo) / (hi - lo)) / temperature)` per row (best row 1, worst
 * `exp(-1 / temperature)`; all 1 when every cost is equal) and returns the sum in canonical order.
 * `O(n)`, allocates nothing but the returned number.
 * @param costs row-aligned, finite, the first `count` entries are read; `count` >= 1
 * @param canonicalRows of the view; `undefined` = rows are in canonical order
 * @param temperature > 0, relative to the spread of the costs
 * @param weights row-aligned output, at least `count` long
 * @source ai-dynamo/dynamo, the default selector at `router_temperature` > 0
 *
 * **Deviations** where spread x temperature is too small for a double, so that the source computes NaN, the lowest costs
 * share all the weight.
 */
export function softmaxWeights(
  costs: Float64Array,
  count: number,
  canonicalRows: Uint32Array | undefined,
  temperature: number,
  weights: Float64Array,
): number {
  let lo = costs[0]!
  let hi = lo
  for (let row = 1; row < count; row++) {
    const cost = costs[row]!
    lo = cost < lo ? cost : lo
    hi = cost > hi ? cost : hi
  }
  if (lo === hi) {
    weights.fill(1, 0, count)
    return count
  }
  // A spread beyond the largest double is halved by scaling with the larger magnitude first.
  const spread = hi - lo
  const magnitude = spread < Infinity ? 1 : Math.max(Math.abs(lo), Math.abs(hi))
  const scale = -1 / ((hi / magnitude - lo / magnitude) * temperature)
  const shift = (lo / magnitude) * scale
  if (!(Math.abs(shift) < Infinity)) return minimumWeights(costs, count, lo, weights)
  let sum = 0
  for (let index = 0; index < count; index++) {
    const row = canonicalRows === undefined ? index : canonicalRows[index]!
    const weight = portableExp((costs[row]! / magnitude) * scale - shift)
    weights[row] = weight
    sum += weight
  }
  return sum
}

/** The limit of a temperature towards 0: 1 for the lowest cost, 0 for the others; returns the sum. */
function minimumWeights(costs: Float64Array, count: number, lo: number, weights: Float64Array): number {
  let sum = 0
  for (let row = 0; row < count; row++) {
    const weight = costs[row] === lo ? 1 : 0
    weights[row] = weight
    sum += weight
  }
  return sum
}

/**
 * First row in canonical order whose cumulative probability `weight / sum` reaches `uniform`; the last row when rounding
 * leaves none. `O(n)`, allocates nothing.
 * @param weights row-aligned, >= 0, the first `count` entries are read; `count` >= 1
 * @param sum of the weights in canonical order
 * @param uniform in [0, 1)
 */
export function pickByProbability(
  weights: Float64Array,
  count: number,
  canonicalRows: Uint32Array | undefined,
  sum: number,
  uniform: number,
): number {
  let cumulative = 0
  for (let index = 0; index < count; index++) {
    const row = canonicalRows === undefined ? index : canonicalRows[index]!
    cumulative += weights[row]! / sum
    if (cumulative >= uniform) return row
  }
  return canonicalRows === undefined ? count - 1 : canonicalRows[count - 1]!
}

/**
 * Picks a row with the probabilities of `softmaxWeights`; `temperature` > 0. One `unit()` per call, whatever the costs.
 * `O(n)`, allocates nothing but boxed doubles.
 * @param weights scratch, at least `count` long
 */
export function pickSoftmax(
  costs: Float64Array,
  count: number,
  canonicalRows: Uint32Array | undefined,
  temperature: number,
  weights: Float64Array,
  random: WyRand,
): number {
  const sum = softmaxWeights(costs, count, canonicalRows, temperature, weights)
  return pickByProbability(weights, count, canonicalRows, sum, random.unit())
}

/**
 * A picker that samples with `pickSoftmax`; at temperature 0 it is `minimumCostPicker`. A pinned row is returned without a
 * draw. Allocates only when the fleet has grown. Throws `RangeError` on a temperature that is not finite and >= 0.
 */
export function softmaxPicker(random: WyRand, temperature: number): WorkerPicker<CandidateRows> {
  if (!(temperature >= 0 && temperature < Infinity)) {
    throw new RangeError(`softmaxPicker takes a finite temperature >= 0, got ${temperature}`)
  }
  if (temperature === 0) return minimumCostPicker(random)
  let weights = new Float64Array(0)
  return {
    name: 'softmax',
    inputs: [],
    pick: (context, candidates, costs) => {
      if (context.pinnedWorker !== undefined) return 0
      if (weights.length < costs.length) weights = new Float64Array(costs.length)
      return pickSoftmax(costs, candidates.count, candidates.canonicalRows, temperature, weights, random)
    },
  }
}

/**
 * Absolute softmax over utilities (higher is better, no range normalisation): writes `exp((u - max u) / temperature)` per
 * row and returns the sum in canonical order. `O(n)`, allocates nothing but the returned number.
 * @param utilities row-aligned, finite, the first `count` entries are read; `count` >= 1
 * @param temperature > 0, in the unit of the utilities
 * @param weights row-aligned output, at least `count` long
 */
export function utilityWeights(
  utilities: Float64Array,
  count: number,
  canonicalRows: Uint32Array | undefined,
  temperature: number,
  weights: Float64Array,
): number {
  let max = utilities[0]!
  for (let row = 1; row < count; row++) max = utilities[row]! > max ? utilities[row]! : max
  let sum = 0
  for (let index = 0; index < count; index++) {
    const row = canonicalRows === undefined ? index : canonicalRows[index]!
    const weight = portableExp((utilities[row]! - max) / temperature)
    weights[row] = weight
    sum += weight
  }
  return sum
}

/**
 * First row in canonical order with `target < cumulative weight`, else the last. `O(n)`, allocates nothing.
 * @param weights row-aligned, >= 0, the first `count` entries are read; `count` >= 1
 * @param target a uniform number in [0, 1) times the sum of the weights
 */
export function pickByTarget(
  weights: Float64Array,
  count: number,
  canonicalRows: Uint32Array | undefined,
  target: number,
): number {
  let cumulative = 0
  for (let index = 0; index < count; index++) {
    const row = canonicalRows === undefined ? index : canonicalRows[index]!
    cumulative += weights[row]!
    if (target < cumulative) return row
  }
  return canonicalRows === undefined ? count - 1 : canonicalRows[count - 1]!
}
