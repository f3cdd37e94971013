import {
  type PartitionKey,
  type SelectionRequest,
  type Selector,
  type SelectorOptions,
  WorkerTable,
  createSelector,
} from '@router/core'
import { PolicyCatalog, type ResolvedPolicy, WyRand } from '@router/sdk'
import { defaultPolicy } from '../src/index.js'

/** An instance of the policy as a configuration makes it; without parameters the built-in. */
export function resolved(parameters?: object, runtime = false): ResolvedPolicy {
  const catalog = new PolicyCatalog().register(defaultPolicy).withDefault(defaultPolicy)
  if (parameters === undefined) return catalog.resolve({}).roles.aggregated!
  const instance = { name: 'tuned', type: defaultPolicy.type, parameters, runtime }
  return catalog.resolve({ instances: [instance] }).instances[0]!
}

/** Facts of one rank; what is left out is 0. */
export interface RankFacts {
  readonly active?: number
  readonly decode?: number
  readonly requests?: number
  readonly device?: number
  readonly host?: number
  readonly disk?: number
  readonly estimateBlocks?: number
  readonly estimateTokens?: number
}

/** Workers of one table, and selectors over it. */
export class LiveFleet {
  readonly table: WorkerTable
  #size = 0

  constructor(options: { readonly webAssembly?: boolean } = {}) {
    this.table = new WorkerTable(options)
  }

  /** Adds a worker of one rank, or rewrites its facts. */
  set(workerId: number, facts: RankFacts = {}, taints: readonly string[] = []): void {
    const { active = 0, decode = 0, requests = 0, device = 0, host = 0, disk = 0 } = facts
    const { estimateBlocks = device, estimateTokens = Math.round(estimateBlocks * 16) } = facts
    this.table.upsertWorker({ workerId: BigInt(workerId), taints })
    const slot = this.table.slotOf(BigInt(workerId), 0)
    this.table.setLoad(slot, active, decode, requests)
    this.table.setOverlap(slot, device, host, disk, estimateBlocks, estimateTokens)
  }

  /** Workers `0` to `size - 1`, none else; new ones have a load of 20 blocks. */
  resize(size: number): void {
    for (; this.#size > size; this.#size--) this.table.removeWorker(BigInt(this.#size - 1))
    const first = this.#size
    for (; this.#size < size; this.#size++) this.table.upsertWorker({ workerId: BigInt(this.#size) })
    for (let worker = first; worker < size; worker++)
      this.table.setLoad(this.table.slotOf(BigInt(worker), 0), 0, 20, 0)
  }

  selector(
    parameters?: object,
    options: Partial<Omit<SelectorOptions, 'table'> & PartitionKey> = {},
  ): Selector {
    const entropy = new WyRand(2026n)
    return createSelector({
      table: this.table,
      policy: resolved(parameters),
      role: 'aggregated',
      entropy: () => entropy.next(),
      nowMs: () => 0,
      ...options,
    })
  }
}

/** A tracked prompt of 1,600 tokens in blocks of 16, tier maps present, where `facts` says nothing else. */
export function request(facts: Partial<SelectionRequest> = {}): SelectionRequest {
  return { mode: 'tracked', promptTokens: 1600, blockSize: 16, hasTierMatches: true, ...facts }
}

/** Workers picked in `count` selections. */
export function picks(selector: Selector, count: number, facts: Partial<SelectionRequest> = {}): number[] {
  return Array.from({ length: count }, () => Number(selector.select(request(facts)).workerId))
}

/** Total of each row that was scored. */
export function costs(selector: Selector, facts: Partial<SelectionRequest> = {}): number[] {
  const { rows, error } = selector.explain(request(facts))
  if (error !== undefined) throw error
  return rows.flatMap(({ total }) => (total === undefined ? [] : [total]))
}
