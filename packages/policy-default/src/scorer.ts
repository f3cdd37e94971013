import type { WorkerScorer } from '@router/sdk'
import { ColumnPlaces } from './column-places.js'
import type { CostTerms } from './cost-terms.js'
import type { DefaultCandidates } from './inputs.js'
import { addRequestAndAffinity, minimumActivePrefill, scoreKnownRows, scoreRows } from './kernel.js'
import { SimdKernel } from './simd/loader.js'

/** The default cost per row, by the SIMD kernel where there is one, else by the plain loops. Equal bit for bit. */
export function defaultCostScorer(
  terms: CostTerms,
  simd: SimdKernel | undefined,
): WorkerScorer<DefaultCandidates> {
  const places = new ColumnPlaces(simd)
  return {
    name: 'default-cost',
    score: (context, candidates, costs) => {
      terms.prepare(context, candidates)
      if (SimdKernel.canScore(terms, candidates) && places.locate(candidates, costs)) {
        if (simd !== undefined && places.isInKernelMemory) {
          simd.score(terms, candidates, places, costs)
          return
        }
        if (isCommon(terms, candidates)) {
          scoreKnownRows(terms, candidates.count, places)
          if (terms.addsRequestOrAffinity) addRequestAndAffinity(terms, candidates.count, places)
          return
        }
      }
      scoreRows(terms, candidates, terms.usesDecay ? minimumActivePrefill(candidates) : 0, 0, costs)
    },
  }
}

function isCommon(terms: CostTerms, { load, cache }: DefaultCandidates): boolean {
  const isPlain = terms.tracks && !terms.usesDecay && !terms.appliesTaints
  return isPlain && cache!.allAvailable && load.allAvailable
}
