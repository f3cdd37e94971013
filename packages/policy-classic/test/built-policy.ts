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
import {
  type PickExplanation,
  type PolicyDefinition,
  type RouterDefaults,
  type WorkerInfo,
  WyRand,
  routerDefaults,
} from '@router/sdk'

/** A policy of this package on hand-made rows. Rows are named `worker.rank`. */
export interface BuiltPolicy {
  readonly policy: AnyPolicy
  pick(rows: readonly HandMadeRow[], facts?: HandMadeFacts, options?: HandMadeViewOptions): string
  explain(
    rows: readonly HandMadeRow[],
    facts?: HandMadeFacts,
  ): PickExplanation & { readonly names: readonly string[] }
  /** Tells the policy who is there: the workers of these rows. */
  join(rows: readonly HandMadeRow[]): void
}

export interface BuildOptions {
  readonly random?: WyRand
  readonly parameters?: object
  readonly router?: Partial<RouterDefaults>
}

export function build(definition: PolicyDefinition, options: BuildOptions = {}): BuiltPolicy {
  const { random = new WyRand(42n), parameters = {}, router } = options
  const inputs = definition.inputs(parameters, {} as never)
  const policy = definition.create(definition.parameters.parse(parameters), {
    role: 'aggregated',
    model: 'default',
    routingGroup: 'default',
    conditionalDisaggregation: false,
    reservesRuntimeInputs: false,
    routerDefaults: { ...routerDefaults, ...router },
    random: () => random,
    nowMs: () => 0,
    memory: new TestMemory(),
    warnOnce: () => {},
  }) as AnyPolicy
  return {
    policy,
    pick: (rows, facts, viewOptions) => {
      const view = handMadeView(rows, { ...viewOptions, groups: inputs })
      const { worker } = runComponents(policy, view, handMadeContext(view, facts), { inputs })
      return `${worker.workerId}.${worker.dpRank}`
    },
    explain: (rows, facts) => {
      const view = handMadeView(rows, { groups: inputs })
      const context = handMadeContext(view, { ...facts, queryOnly: true })
      const explanation = policy.picker.explain!(context, view as never, new Float64Array(rows.length))
      const nameOf = (row: number): string => `${view.workerId(row)}.${view.dpRank[row]}`
      return { ...explanation, names: explanation.tieSet.map(nameOf) }
    },
    join: (rows) => {
      const workers = new Map<bigint, WorkerInfo>()
      for (const worker of handMadeView(rows).workers) if (worker) workers.set(worker.workerId, worker)
      policy.onWorkersChanged?.([...workers.values()])
    },
  }
}

/** A row as `10.1 x3`: worker 10, rank 1, three reservations. */
export function row(text: string, more: Partial<HandMadeRow> = {}): HandMadeRow {
  const [, id = '', rank = '0', reservations = '0'] = /^(\d+)(?:\.(\d+))?(?: x(\d+))?$/u.exec(text)!
  return { workerId: BigInt(id), dpRank: Number(rank), reservations: Number(reservations), ...more }
}

export const rows = (...texts: readonly string[]): HandMadeRow[] => texts.map((text) => row(text))

/** The same on a CPU worker. */
export const cpu = (text: string, more: Partial<HandMadeRow> = {}): HandMadeRow =>
  row(text, { worker: { deviceKind: 'cpu' }, ...more })
