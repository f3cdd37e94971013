import {
  type PolicyDefinition,
  type PolicyScope,
  type WorkerCandidates,
  type WorkerFilter,
  type WorkerInputs,
  type WorkerPicker,
  type WorkerScorer,
  type WorkerSelectionPolicy,
  definePolicy,
  minimumCostPicker,
} from '@router/sdk'
import { z } from 'zod'

/** A policy with one fault, and the laws that must reject it. */
export interface WrongPolicy {
  readonly name: string
  readonly policy: PolicyDefinition
  /** All of them; the first is the law that the policy was written for. */
  readonly breaks: readonly [string, ...string[]]
}

type Pieces = Partial<Omit<WorkerSelectionPolicy<WorkerCandidates, never>, 'scorers' | 'filters'>> & {
  readonly filter?: WorkerFilter['keep']
  readonly score?: WorkerScorer['score']
  readonly pick?: WorkerPicker['pick']
}

/** A sound least-busy policy but for what `pieces` replaces; components see every declared group. */
export function faulty(
  pieces: (scope: PolicyScope) => Pieces,
  source: {
    readonly inputs?: WorkerInputs
    readonly parameters?: z.ZodType
    readonly runtime?: readonly string[]
  } = {},
): PolicyDefinition {
  const definition = definePolicy({
    type: 'faulty',
    version: '1.0.0',
    stability: 'stable',
    roles: ['aggregated'],
    affinity: 'advisory',
    parameters: source.parameters ?? z.strictObject({}),
    ...(source.runtime === undefined ? {} : { runtime: source.runtime }),
    inputs: source.inputs ?? ['load'],
    create: () => ({ picker: { name: 'replaced', pick: () => 0 } }),
  })
  const create = (_parameters: unknown, scope: PolicyScope): WorkerSelectionPolicy<never, unknown> => {
    const { filter, score = scoreRequests, pick, ...hooks } = pieces(scope)
    return {
      ...(filter === undefined ? {} : { filters: [{ name: 'filter', keep: filter }] }),
      scorers: [{ name: 'score', score }],
      picker: pick === undefined ? minimumCostPicker(scope.random()) : { name: 'pick', pick },
      ...hooks,
    } as unknown as WorkerSelectionPolicy<never, unknown>
  }
  return { ...definition, create }
}

/** The sound scorer: requests in flight, none known counts as none. */
export const scoreRequests: WorkerScorer['score'] = (_context, { count, load }, costs) => {
  for (let row = 0; row < count; row++) costs[row] = knownLoad(load!, row) ? load!.activeRequests[row]! : 0
}

export function knownLoad(load: { readonly isAvailable: Uint8Array }, row: number): boolean {
  return load.isAvailable[row] === 1
}

/** The sound picker: first canonical row of the lowest cost. */
export const pickFirst: WorkerPicker['pick'] = (_context, candidates, costs) => {
  const order = canonicalOrder(candidates)
  return order.reduce((best, row) => (costs[row]! < costs[best]! ? row : best), order[0]!)
}

export function canonicalOrder({ count, canonicalRows }: WorkerCandidates): number[] {
  return Array.from({ length: count }, (_unused, index) => canonicalRows?.[index] ?? index)
}
