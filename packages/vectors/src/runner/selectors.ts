import { type RouterWarning, type Selector, WorkerTable, createSelector } from '@router/core'
import {
  type PrefixHashes,
  type ResolvedPolicy,
  type RouterDefaults,
  type WorkerRole,
  routerDefaults,
} from '@router/sdk'

/** Where a policy object serves. */
export interface Place {
  readonly role: WorkerRole
  readonly conditionalDisaggregation: boolean
}

/** One of the two ways in which the shipped code computes; both must agree. */
export interface Kernel {
  readonly name: string
  readonly webAssembly: boolean
}

/** SIMD in WebAssembly, and plain JavaScript. */
export const kernels: readonly Kernel[] = [
  { name: 'SIMD kernel', webAssembly: true },
  { name: 'plain kernel', webAssembly: false },
]

/** What a case needs to select. */
export interface SelectorSource {
  readonly table: WorkerTable
  readonly policy: ResolvedPolicy
  readonly place: Place
  readonly defaults?: Partial<RouterDefaults>
  readonly onWarning?: (warning: RouterWarning) => void
}

/** Seed of the streams that a case leaves unseeded; no expected value may depend on it. */
export const unseededEntropy = 0x5eed_0f_ca5en

/** A selector that is disposed of when `body` is done. */
export function withSelector<T>(source: SelectorSource, body: (selector: Selector) => T): T {
  const { table, policy, place, defaults, onWarning } = source
  const selector = createSelector({
    table,
    policy,
    ...place,
    routerDefaults: { ...routerDefaults, ...defaults },
    entropy: () => unseededEntropy,
    nowMs: () => 0,
    ...(onWarning === undefined ? {} : { onWarning }),
  })
  try {
    return body(selector)
  } finally {
    selector.dispose()
  }
}

const tables = new Map<boolean, WorkerTable>()

/**
 * An empty worker table. One table serves all cases of a kernel, because engines reserve much address space for each; so the
 * cases also are one long sequence of growing and shrinking fleets.
 */
export function emptyTable({ webAssembly }: Kernel): WorkerTable {
  const table = tables.get(webAssembly) ?? new WorkerTable({ webAssembly })
  tables.set(webAssembly, table)
  for (const worker of table.workers) table.removeWorker(worker.workerId)
  table.setAvailableWorkers(undefined)
  return table
}

const noHashes = new Uint32Array(0)

/** So many tracking hashes, for accounting that reads nothing but how many there are. */
export function countOfHashes(count: number): PrefixHashes {
  return { count, high: noHashes, low: noHashes }
}
