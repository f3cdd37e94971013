import type { WorkerScorer } from '@router/sdk'
import type { CostTerms } from './cost-terms.js'
import type { DefaultCandidates } from './inputs.js'
import { minimumActivePrefill, scoreKnownRows, scoreRows } from './kernel.js'
import type { SimdKernel } from './simd/loader.js'

/** The default cost per row, by the SIMD kernel where the memory allows one, else by the plain loops. Equal bit for bit. */
export function defaultCostScorer(
  terms: CostTerms,
  simd: SimdKernel | undefined
): WorkerScorer<DefaultCandidates> {
  return {
    name: 'default-cost',
    score: (context, candidates, costs) => {
      terms.prepare(context, candidates)
      if (simd !== undefined && simd.score(terms, candidates, costs)) return
      if (isCommon(terms, candidates)) scoreKnownRows(terms, candidates, costs)
      else scoreRows(terms, candidates, terms.usesDecay ? minimumActivePrefill(candidates) : 0, 0, costs)
    }
  }
}

function isCommon(terms: CostTerms, { load, cache }: DefaultCandidates): boolean {
  const isPlain = terms.usesCache && terms.tracks && !terms.usesDecay && !terms.appliesTaints
  return isPlain && cache !== undefined && cache.sharedHits === undefined && cache.allAvailable && load.allAvailable
}
