import { defineScorer } from '@router/sdk'
import type { CapacityTerms } from './capacity-terms.js'
import { scoreRows } from './kernel.js'

/** Load of a row in blocks, scaled by preferred taints. */
export function loadScorer(terms: CapacityTerms) {
  return defineScorer({
    name: 'decode-load',
    inputs: ['load', 'preferredTaint'],
    score: (_context, candidates, costs) => scoreRows(terms, candidates, costs),
  })
}
