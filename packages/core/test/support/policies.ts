import {
  PolicyCatalog,
  type PolicyDefinition,
  type PolicyScope,
  type ResolvedPolicy,
  type WorkerFilter,
  type WorkerInputName,
  type WorkerPicker,
  type WorkerRole,
  type WorkerScorer,
  type WorkerSelectionPolicy,
  definePolicy,
  workerInputNames,
} from '@router/sdk'
import { z } from 'zod'

/** A policy object whose components see every group as possibly absent. */
export interface TinyObject extends Omit<WorkerSelectionPolicy, 'picker'> {
  /** Default: row 0. */
  readonly picker?: WorkerPicker
}

/** What a test says of its policy; what it leaves out does not matter to it. */
export interface TinySource {
  readonly inputs?: readonly WorkerInputName[]
  readonly affinity?: 'exclusive' | 'advisory'
  readonly roles?: readonly WorkerRole[]
  readonly parameters?: z.ZodType
  readonly runtime?: readonly string[]
  /** Overrides `inputs`. */
  readonly inputsOf?: PolicyDefinition['inputs']
  readonly create?: (parameters: never, scope: PolicyScope) => TinyObject
}

/** A policy around a few components. Default: all inputs, advisory, decode, no parameters, row 0. */
export function tinyPolicy(source: TinySource = {}): PolicyDefinition {
  const { inputs = workerInputNames, create = () => ({}) } = source
  return definePolicy({
    type: 'tiny',
    version: '1.2.3',
    stability: 'stable',
    roles: source.roles ?? ['decode'],
    affinity: source.affinity ?? 'advisory',
    parameters: source.parameters ?? z.strictObject({}),
    runtime: source.runtime ?? [],
    inputs: (source.inputsOf ?? (() => inputs)) as () => readonly WorkerInputName[],
    create: (parameters, scope) => ({ picker: firstRow, ...create(parameters as never, scope) }) as never,
  })
}

/** The policy as a catalog hands it to a host. */
export function resolved(
  definition: PolicyDefinition,
  options: { name?: string; parameters?: object; runtime?: boolean } = {},
): ResolvedPolicy {
  const { name = 'tested', parameters, runtime = false } = options
  const instance = { name, type: definition.type, parameters, runtime }
  return new PolicyCatalog()
    .register(definition)
    .resolveForRole({ decode: name, instances: [instance] }, 'decode')
}

export const firstRow: WorkerPicker = { name: 'first', inputs: [], pick: () => 0 }

/** The lowest total, the first of equals. */
export const lowestTotal: WorkerPicker = {
  name: 'lowest',
  inputs: [],
  pick: (_context, { count }, costs) =>
    costs.subarray(0, count).indexOf(Math.min(...costs.subarray(0, count))),
}

/** Costs from a list, by row. */
export function listedCosts(costs: readonly number[], name = 'listed'): WorkerScorer {
  return { name, inputs: [], score: (_context, _candidates, out) => out.set(costs) }
}

/** Costs from a function of worker id and rank. */
export function costsBy(cost: (workerId: bigint, dpRank: number) => number, name = 'by-rank'): WorkerScorer {
  return {
    name,
    inputs: [],
    score: (_context, candidates, out) => {
      for (let row = 0; row < candidates.count; row++)
        out[row] = cost(candidates.workerId(row), candidates.dpRank[row]!)
    },
  }
}

/** Keeps what a function of worker id and rank says. */
export function keepBy(keep: (workerId: bigint, dpRank: number) => boolean, name = 'keep-by'): WorkerFilter {
  return {
    name,
    inputs: [],
    keep: (_context, candidates, row) => keep(candidates.workerId(row), candidates.dpRank[row]!),
  }
}

/** Row 0, after a look at what the picker is given. */
export function firstAfter(
  look: (...seen: Parameters<WorkerPicker['pick']>) => void,
  name = 'first',
): WorkerPicker {
  return {
    name,
    pick: (...seen) => {
      look(...seen)
      return 0
    },
  }
}
