import {
  type AnyPolicy,
  type HandMadeFacts,
  type HandMadeRow,
  type HandMadeViewOptions,
  TestMemory,
  handMadeContext,
  handMadeView,
  runComponents,
} from '@router/conformance'
import { type PickExplanation, type PolicyScope, WyRand, routerDefaults } from '@router/sdk'
import { kvCapacityAwareParameters, kvCapacityAwarePolicy } from '../src/index.js'

/** The policy on hand-made rows. */
export interface BuiltPolicy {
  readonly policy: AnyPolicy
  /** `code worker.rank` of every call of `warnOnce`, repetitions included. */
  readonly warnings: readonly string[]
  readonly random: WyRand
  /** `worker.rank` of the pick, and the costs of the rows. */
  run(
    rows: readonly HandMadeRow[],
    facts?: HandMadeFacts,
    options?: HandMadeViewOptions,
  ): { pick: string; costs: number[] }
  explain(rows: readonly HandMadeRow[]): PickExplanation & { readonly names: readonly string[] }
}

/** Builds the policy with a seeded stream and a scope that records its warnings. */
export function build(parameters: object = {}, seed = 42n): BuiltPolicy {
  const warnings: string[] = []
  const random = new WyRand(seed)
  const scope: PolicyScope = {
    role: 'decode',
    model: 'default',
    routingGroup: 'default',
    conditionalDisaggregation: false,
    reservesRuntimeInputs: false,
    routerDefaults,
    random: () => random,
    nowMs: () => 0,
    memory: new TestMemory(),
    warnOnce: (code, workerId, dpRank) => warnings.push(`${code} ${workerId}.${dpRank}`),
  }
  const policy = kvCapacityAwarePolicy.create(kvCapacityAwareParameters.parse(parameters), scope) as AnyPolicy
  return {
    policy,
    warnings,
    random,
    run: (rows, facts, options) => {
      const view = handMadeView(rows, options)
      const { worker, totals } = runComponents(policy, view, handMadeContext(view, facts))
      return { pick: `${worker.workerId}.${worker.dpRank}`, costs: [...totals] }
    },
    explain: (rows) => {
      const view = handMadeView(rows)
      const context = handMadeContext(view, { queryOnly: true })
      const { totals } = runComponents(policy, view, context)
      const explanation = policy.picker.explain!(context, view as never, totals)
      const nameOf = (row: number): string => `${view.workerId(row)}.${view.dpRank[row]}`
      return { ...explanation, names: explanation.tieSet.map(nameOf) }
    },
  }
}

/** A row of worker `id`, rank 0: D blocks, n requests, capacity; what is left out is 0 or not advertised. */
export function row(id: number, blocks: number, requests = 0, totalKvBlocks = 0): HandMadeRow {
  return { workerId: BigInt(id), load: { decodeCostBlocks: blocks, activeRequests: requests }, totalKvBlocks }
}
