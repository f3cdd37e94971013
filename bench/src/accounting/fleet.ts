import { LoadLedger, WorkerTable } from '@router/core'
import type { HashWords } from '@router/kv-index'

/** Ranks of a worker, where there are enough. */
const ranksOfWorker = 8

/** Scatters 32-bit numbers one to one (the finaliser of MurmurHash3). */
function scatter(number: number): number {
  let word = Math.imul(number ^ (number >>> 16), 0x85eb_ca6b)
  word = Math.imul(word ^ (word >>> 13), 0xc2b2_ae35)
  return word ^ (word >>> 16)
}

/** Hashes of the blocks numbered from `first` on, into `hashes` from block `at` on. */
export function fillHashes(hashes: HashWords, at: number, first: number, count: number): void {
  for (let block = 0; block < count; block++) {
    hashes[2 * (at + block)] = scatter(first + block)
    hashes[2 * (at + block) + 1] = scatter((first + block) ^ 0x27d4_eb2f)
  }
}

/** Blocks of a prompt that many share, then blocks of its own; the own ones are numbered from `own` on. */
export function promptOf(shared: number, own: number, ownBlocks: number): HashWords {
  const hashes = new Uint32Array(2 * (shared + ownBlocks))
  fillHashes(hashes, 0, 0, shared)
  fillHashes(hashes, shared, own, ownBlocks)
  return hashes
}

/** A ledger whose clock the caller moves. */
export interface Subject {
  readonly table: WorkerTable
  readonly ledger: LoadLedger
  readonly clock: { ms: number }
}

/** A ledger over so many ranks. */
export function createSubject(ranks: number, modelsPrefillTime = false): Subject {
  const table = new WorkerTable()
  for (let worker = 0; worker < ranks / ranksOfWorker; worker++) {
    table.upsertWorker({ workerId: BigInt(worker + 1), dataParallelSize: ranksOfWorker })
  }
  table.settle()
  const clock = { ms: 0 }
  return { table, clock, ledger: new LoadLedger({ table, nowMs: () => clock.ms, modelsPrefillTime }) }
}
