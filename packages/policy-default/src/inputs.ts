import type { CandidatesFor, InputScope, RouterDefaults, WorkerRole } from '@router/sdk'
import { type DefaultParameters, effectiveWeights } from './parameters.js'

const loadOnly = ['load', 'preferredTaint'] as const
const withCache = ['load', 'preferredTaint', 'cache'] as const

/** The groups that the policy declares, with or without the cache. */
export type DefaultInputs = typeof loadOnly | typeof withCache

/** What its scorer sees. */
export type DefaultCandidates = CandidatesFor<DefaultInputs>

/** Role decode without conditional disaggregation: load only, cache terms vanish. */
export function isPlainDecode(scope: {
  readonly role: WorkerRole
  readonly conditionalDisaggregation: boolean
}): boolean {
  return scope.role === 'decode' && !scope.conditionalDisaggregation
}

/** Whether these numbers use the cache group; declared is not used. */
export function usesCache(weights: RouterDefaults, plainDecode: boolean): boolean {
  return !plainDecode && (weights.overlap_score_credit !== 0 || weights.prefix_affinity_weight !== 0)
}

/** Inputs of the default family, a pure function of parameters and scope. */
export function defaultCostInputs(parameters: DefaultParameters, scope: InputScope): DefaultInputs {
  const plainDecode = isPlainDecode(scope)
  if (scope.reservesRuntimeInputs) return plainDecode ? loadOnly : withCache
  return usesCache(effectiveWeights(parameters, scope.routerDefaults), plainDecode) ? withCache : loadOnly
}
