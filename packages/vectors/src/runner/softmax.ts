import {
  pickByProbability,
  pickByTarget,
  pickSoftmax,
  softmaxWeights,
  utilityWeights,
  type WyRand,
} from '@router/sdk'
import { type SoftmaxLine, softmaxLine } from '../shapes/softmax.js'
import type { Checks } from './checks.js'
import { defineFamily } from './family.js'
import { kindsOf } from './kinds.js'
import { permutations } from './permutations.js'

/** Sampling by cost and by utility, over rows in several orders. */
export const softmaxFamily = defineFamily({
  name: 'softmax',
  recognises: kindsOf(softmaxLine),
  covers: '@router/sdk',
  schema: softmaxLine,
  evaluate: (line, checks) => evaluators[line.kind](line as never, checks),
})

type Evaluators = {
  [K in SoftmaxLine['kind']]: (line: Extract<SoftmaxLine, { kind: K }>, checks: Checks) => void
}

const evaluators: Evaluators = {
  normalised: ({ costs, temperature, probabilities, tolerance, picks }, checks) => {
    const count = costs.length
    for (const { name, rowOf, canonicalRows } of permutations(count)) {
      const column = Float64Array.from(rowOf, (canonical) => costs[canonical]!)
      const weights = new Float64Array(count)
      const sum = softmaxWeights(column, count, canonicalRows, temperature, weights)
      const actual = costs.map((_, canonical) => weights[canonicalRows?.[canonical] ?? canonical]! / sum)
      checks.within(name, () => {
        checks.list('probabilities', probabilities, actual, { tolerance })
        for (const [index, { u, row }] of picks.entries()) {
          const picked = pickByProbability(weights, count, canonicalRows, sum, u)
          checks.equal(`picks[${index}].row`, row, rowOf[picked])
          const stream = { unit: () => u } as WyRand
          const whole = pickSoftmax(
            column,
            count,
            canonicalRows,
            temperature,
            new Float64Array(count),
            stream,
          )
          checks.equal(`picks[${index}].row in one call`, row, rowOf[whole])
        }
      })
    }
  },
  utility: ({ utilities, temperature, u, weights: expected, target, tolerance, row }, checks) => {
    const count = utilities.length
    for (const { name, rowOf, canonicalRows } of permutations(count)) {
      const column = Float64Array.from(rowOf, (canonical) => utilities[canonical]!)
      const weights = new Float64Array(count)
      const sum = utilityWeights(column, count, canonicalRows, temperature, weights)
      const actual = utilities.map((_, canonical) => weights[canonicalRows?.[canonical] ?? canonical]!)
      checks.within(name, () => {
        checks.list('weights', expected, actual, { tolerance })
        checks.equal('target', target, u * sum, { tolerance })
        checks.equal('row', row, rowOf[pickByTarget(weights, count, canonicalRows, u * sum)])
      })
    }
  },
}
