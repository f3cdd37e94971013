import { hashWords } from '@router/kv-index'
import {
  type Booking,
  LoadLedger,
  type LoadLedgerOptions,
  type WorkerRecord,
  WorkerTable,
} from '../../src/index.js'

/** A ledger on a fleet of its own, with a clock that stands still until a test moves it. */
export interface LedgerHost {
  readonly table: WorkerTable
  readonly ledger: LoadLedger
  readonly clock: { ms: number }
  slot(name: string): number
  /** Books on `1.0`, unless told otherwise. */
  add(
    requestId: string,
    rest?: Partial<Booking> & { readonly on?: string; readonly path?: readonly number[] },
  ): void
}

/** Default fleet: worker 1 with two ranks, worker 2 with one. */
export function ledgerHost(
  options: Partial<LoadLedgerOptions> & {
    readonly workers?: readonly WorkerRecord[]
    readonly webAssembly?: boolean
  } = {},
): LedgerHost {
  const {
    workers = [{ workerId: 1n, dataParallelSize: 2 }, { workerId: 2n }],
    webAssembly = true,
    ...rest
  } = options
  const table = options.table ?? new WorkerTable({ webAssembly })
  for (const worker of workers) table.upsertWorker(worker)
  const clock = { ms: 0 }
  const ledger = new LoadLedger({ nowMs: () => clock.ms, ...rest, table })
  const slot = (name: string): number => {
    const [workerId = '', dpRank = ''] = name.split('.')
    return table.slotOf(BigInt(workerId), Number(dpRank))
  }
  return {
    table,
    ledger,
    clock,
    slot,
    add: (requestId, { on = '1.0', path, ...booking } = {}) =>
      ledger.add({
        requestId,
        slot: slot(on),
        hashes: path === undefined ? undefined : hashesOfPath(path),
        ...booking,
      }),
  }
}

/** Tracking hashes of small numbers, all bits in use; not chained. */
export function hashesOfPath(path: readonly number[]): Uint32Array {
  return hashWords(path.map((block) => BigInt.asUintN(64, BigInt(block + 1) * 0x9e37_79b9_7f4a_7c15n)))
}

/** What can be seen of a ledger: the load of every rank, adapters, totals. */
export function seen({ ledger, table }: Pick<LedgerHost, 'ledger' | 'table'>): unknown {
  const ranks = table.workers.flatMap(({ workerId, dataParallelStartRank: start, dataParallelSize: size }) =>
    Array.from({ length: size }, (_, offset) => `${workerId}.${start + offset}`),
  )
  return {
    loads: ranks.map((name) => {
      const [workerId = '', dpRank = ''] = name.split('.')
      return [name, ledger.loadOf(table.slotOf(BigInt(workerId), Number(dpRank)))]
    }),
    loras: [...ledger.loras].toSorted(),
    live: ledger.live,
    booked: ledger.booked,
    expired: ledger.expired,
    budget: ledger.budget.live,
    audit: ledger.audit(),
  }
}
