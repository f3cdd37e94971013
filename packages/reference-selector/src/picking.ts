import type { ReferenceRandom } from './reference-random.js'

/** Indexes of the lowest keys, in order. `isBelow` is a strict order. */
export function lowest<T>(keys: readonly T[], isBelow: (left: T, right: T) => boolean): number[] {
  const best = keys.reduce((low, key) => (isBelow(key, low) ? key : low))
  return keys.flatMap((key, index) => (isBelow(best, key) ? [] : [index]))
}

/**
 * One index of the lowest key, uniform over exact ties: a strictly lower key becomes best, an equal one replaces the best with
 * probability 1 / (ties so far). Ties among keys that are beaten later draw as well.
 */
export function reservoir<T>(
  keys: readonly T[],
  isBelow: (left: T, right: T) => boolean,
  random: ReferenceRandom,
): number {
  let best = 0
  let ties = 1
  for (let index = 1; index < keys.length; index++) {
    if (isBelow(keys[index]!, keys[best]!)) {
      best = index
      ties = 1
    } else if (!isBelow(keys[best]!, keys[index]!)) {
      ties += 1
      if (random.below(ties) === 0) best = index
    }
  }
  return best
}

/**
 * Probability of each cost under the range-normalised softmax. Where spread x temperature is too small for a double, the lowest
 * costs share everything: the limit, in place of the NaN that the formula would give.
 */
export function softmaxProbabilities(costs: readonly number[], temperature: number): number[] {
  const lo = costs.reduce((low, cost) => Math.min(low, cost))
  const hi = costs.reduce((high, cost) => Math.max(high, cost))
  if (lo === hi) return costs.map(() => 1 / costs.length)
  const mag = Number.isFinite(hi - lo) ? 1 : Math.max(Math.abs(lo), Math.abs(hi))
  const k = -1 / ((hi / mag - lo / mag) * temperature)
  const isTooSmall = !Number.isFinite(k) || !Number.isFinite((lo / mag) * k)
  const weights = costs.map((cost) => {
    if (isTooSmall) return cost === lo ? 1 : 0
    return Math.exp((cost / mag) * k - (lo / mag) * k)
  })
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return weights.map((weight) => weight / sum)
}

/** First index whose cumulative probability reaches `uniform`; the last when rounding leaves none. */
export function pickByCumulative(probabilities: readonly number[], uniform: number): number {
  let cumulative = 0
  for (const [index, probability] of probabilities.entries()) {
    cumulative += probability
    if (cumulative >= uniform) return index
  }
  return probabilities.length - 1
}
