import type { PolicyDefinition } from '@router/sdk'
import {
  type RouterWarning,
  type SelectionRequest,
  type Selector,
  type SelectorOptions,
  type WorkerRecord,
  WorkerTable,
  createSelector,
} from '../../src/index.js'
import { type TinyObject, type TinySource, resolved, tinyPolicy } from './policies.js'

/** A selector on a table of its own. */
export interface Host {
  readonly table: WorkerTable
  readonly selector: Selector
  readonly warnings: readonly RouterWarning[]
  /** `worker.rank` of a selection. */
  select(overrides?: Partial<SelectionRequest>): string
  slot(name: string): number
}

export interface HostOptions extends Partial<Omit<SelectorOptions, 'policy'>> {
  /** Default: workers 1, 2, 3 with one rank each. */
  readonly workers?: readonly WorkerRecord[]
  readonly parameters?: object
  readonly runtime?: boolean
  readonly webAssembly?: boolean
}

/** A host of this policy; random seeds 1, 2, 3, and a clock that stands still. */
export function hostOf(definition: PolicyDefinition, options: HostOptions = {}): Host {
  const { workers = [1, 2, 3].map((id) => ({ workerId: BigInt(id) })), webAssembly = true } = options
  const { parameters = {}, runtime = false, ...rest } = options
  const table = options.table ?? new WorkerTable({ webAssembly })
  for (const worker of workers) table.upsertWorker(worker)
  const warnings: RouterWarning[] = []
  let seed = 0n
  const selector = createSelector({
    role: 'decode',
    entropy: () => ++seed,
    nowMs: () => 0,
    onWarning: (warning) => warnings.push(warning),
    ...rest,
    table,
    policy: resolved(definition, { parameters, runtime }),
  })
  return {
    table,
    selector,
    warnings,
    select: (overrides) => nameOf(selector.select(request(overrides))),
    slot: (name) => table.slotOf(...rank(name)),
  }
}

/** A host of a policy with these components. */
export function tinyHost(
  components: TinyObject | NonNullable<TinySource['create']>,
  options: HostOptions & Pick<TinySource, 'inputs' | 'affinity' | 'roles'> = {},
): Host {
  const create = typeof components === 'function' ? components : () => components
  return hostOf(tinyPolicy({ ...picked(options), create }), options)
}

function picked({ inputs, affinity, roles }: Pick<TinySource, 'inputs' | 'affinity' | 'roles'>): TinySource {
  return {
    ...(inputs === undefined ? {} : { inputs }),
    ...(affinity === undefined ? {} : { affinity }),
    ...(roles === undefined ? {} : { roles }),
  }
}

/** A tracked request of 100 tokens in blocks of 16. */
export function request(overrides: Partial<SelectionRequest> = {}): SelectionRequest {
  return { mode: 'tracked', promptTokens: 100, blockSize: 16, ...overrides }
}

export function nameOf({ workerId, dpRank }: { workerId: bigint; dpRank: number }): string {
  return `${workerId}.${dpRank}`
}

/** `'7.1'` -> worker 7, rank 1. */
function rank(name: string): [workerId: bigint, dpRank: number] {
  const [id = '', dpRank = '0'] = name.split('.')
  return [BigInt(id), Number(dpRank)]
}
