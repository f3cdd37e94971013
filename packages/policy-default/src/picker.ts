import { type CandidateRows, type WorkerPicker, type WyRand, pickMinimumCost, pickSoftmax } from '@router/sdk'
import type { SimdKernel } from './simd/loader.js'

/** How a row is picked from the costs; `temperature` may change between selections. */
export interface PickSettings {
  temperature: number
}

/** A pinned row without a draw; temperature 0: lowest cost, ties uniform; above: range-normalised softmax, one draw. */
export function defaultPicker(
  settings: PickSettings,
  random: WyRand,
  simd: SimdKernel | undefined,
): WorkerPicker<CandidateRows> {
  let weights = new Float64Array(0)
  return {
    name: 'default-pick',
    inputs: [],
    pick: (context, candidates, costs) => {
      if (context.pinnedWorker !== undefined) return 0
      const { count, canonicalRows } = candidates
      const { temperature } = settings
      const isForKernel = simd !== undefined && canonicalRows === undefined && simd.canRead(costs)
      if (temperature === 0) {
        if (isForKernel) return simd.pickMinimum(costs, count, random)
        return pickMinimumCost(costs, count, canonicalRows, random)
      }
      const row = isForKernel ? simd.pickSoftmax(count, temperature, random) : -1
      if (row >= 0) return row
      if (weights.length < count) weights = new Float64Array(costs.length)
      return pickSoftmax(costs, count, canonicalRows, temperature, weights, random)
    },
  }
}
