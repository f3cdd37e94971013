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
import { defaultPolicy } from '@router/policy-default'
import {
  type PolicyDefinition,
  type PolicyScope,
  type RouterDefaults,
  type WorkerRole,
  WyRand,
  routerDefaults,
} from '@router/sdk'
import { prefixAffinityPolicy } from '../src/index.js'

export type Run = (
  rows: readonly HandMadeRow[],
  facts?: HandMadeFacts,
  options?: HandMadeViewOptions,
) => { readonly pick: string; readonly costs: number[] }

/** What `build` may be given. */
export interface BuildOptions {
  readonly definition?: PolicyDefinition
  readonly role?: WorkerRole
  readonly router?: Partial<RouterDefaults>
}

/** Builds a policy of the default family; its stream starts at 42. */
export function build(
  parameters: object = {},
  { definition = prefixAffinityPolicy, role = 'aggregated', router = {} }: BuildOptions = {},
): { readonly policy: AnyPolicy; readonly run: Run } {
  const memory = new TestMemory()
  const scope: PolicyScope = {
    role,
    model: 'default',
    routingGroup: 'default',
    conditionalDisaggregation: false,
    reservesRuntimeInputs: false,
    routerDefaults: { ...routerDefaults, ...router },
    random: () => new WyRand(42n),
    nowMs: () => 0,
    memory,
    warnOnce: () => {},
  }
  const parsed = definition.parameters.parse(parameters)
  const policy = definition.create(parsed, scope) as AnyPolicy
  const inputs = definition.inputs(parsed, scope)
  return {
    policy,
    run: (rows, facts, options) => {
      const view = handMadeView(rows, options)
      const { worker, totals } = runComponents(policy, view, handMadeContext(view, facts), { inputs, memory })
      return { pick: `${worker.workerId}.${worker.dpRank}`, costs: [...totals] }
    },
  }
}

/** The same with `dynamo-default-cost-fn`. */
export const buildDefault: typeof build = (parameters, options) =>
  build(parameters, { ...options, definition: defaultPolicy })
