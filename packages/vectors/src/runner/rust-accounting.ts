import { type Booking, LoadLedger, type WorkerTable } from '@router/core'
import { type HashWords, hashWords } from '@router/kv-index'
import { RouterError } from '@router/sdk'
import { type RustAccountingLine, rustAccountingLine } from '../shapes/rust-accounting.js'
import type { IndexBlock } from '../shapes/rust-index.js'
import type { Checks } from './checks.js'
import { defineFamily } from './family.js'
import { nameOf, rankOf } from './rows.js'
import { blockNames } from './rust-index-blocks.js'
import { emptyTable, kernels } from './selectors.js'

type Step = RustAccountingLine['steps'][number]
type StepOf<O extends Step['op']> = Extract<Step, { op: O }>

/** Bookings, sharing of blocks, decay of prefill, expiry, projections. */
export const rustAccountingFamily = defineFamily({
  name: 'rust-accounting',
  recognises: (line) => 'expirySecs' in line && 'workers' in line && 'steps' in line,
  covers: '@router/core, @router/kv-index',
  schema: rustAccountingLine,
  evaluate: (line, checks) => {
    const [simd, plain] = kernels
    const names = blockNames({ blockSize: line.blockSize })
    const chained: Tracking = (path) => hashWords(names.ofPath(path).engine)
    checks.within('chained hashes', () => runLine(line, emptyTable(simd!), chained, checks))
    // A block is known by all hashes up to it, so hashes that tell only of their own block give the same.
    checks.within('hashes of single blocks', () => runLine(line, emptyTable(plain!), singleBlocks, checks))
  },
})

/** Tracking hashes of a path of local ones. */
type Tracking = (path: readonly IndexBlock[]) => HashWords

const singleBlocks: Tracking = (path) => hashWords(path.map(BigInt))

function runLine(line: RustAccountingLine, table: WorkerTable, hashesOf: Tracking, checks: Checks): void {
  let nowMs = 0
  for (const worker of line.workers) upsert(table, worker)
  const ledger = new LoadLedger({
    table,
    nowMs: () => nowMs,
    expiry:
      line.expirySecs === null ? { measure: 'never' } : { measure: 'age', afterMs: line.expirySecs * 1000 },
  })
  try {
    for (const [index, step] of line.steps.entries()) {
      if (step.op === 'advance') nowMs += step.ms
      else checks.within(`steps[${index}]`, () => runStep(step, ledger, hashesOf, checks))
    }
    checks.list('audit', [], ledger.audit())
  } finally {
    ledger.dispose()
  }
}

function runStep(step: Step, ledger: LoadLedger, hashesOf: Tracking, checks: Checks): void {
  if (step.op === 'probe') return probe(step, ledger, hashesOf, checks)
  if (step.op === 'loras') return checkLoras(step, ledger, checks)
  const outcome = applied(step, ledger, hashesOf)
  if ('expect' in step && step.expect !== undefined) checks.equal('expect', step.expect, outcome)
}

function applied(
  step: Exclude<Step, StepOf<'probe' | 'loras'>>,
  ledger: LoadLedger,
  hashesOf: Tracking,
): string {
  const { table } = ledger
  switch (step.op) {
    case 'add':
      return outcomeOf(() => ledger.add(bookingOf(step, table, hashesOf)), 'worker_not_found')
    case 'output':
      return outcomeOf(() => ledger.addOutputBlock(step.id, step.fraction), 'request_not_found')
    case 'prefillComplete':
      return ledger.markPrefillCompleted(step.id) ? 'applied' : 'no_change'
    case 'free':
      return ledger.free(step.id) ? 'applied' : 'no_change'
    case 'removeWorker':
      return table.removeWorker(BigInt(step.worker)) ? 'ok' : 'worker_not_found'
    case 'upsertWorker':
      upsert(table, step)
      return 'ok'
    case 'sweep':
      ledger.sweep()
      return 'ok'
    default:
      return 'ok'
  }
}

function bookingOf(step: StepOf<'add'>, table: WorkerTable, hashesOf: Tracking): Booking {
  const { workerId, dpRank } = rankOf(step.rank)
  return {
    requestId: step.id,
    slot: table.slotOf(workerId, dpRank),
    hashes: step.path === null ? undefined : hashesOf(step.path),
    prefillTokens: step.prefillTokens,
    prefillDurationMs: step.durationMs,
    tracksPrefillTokens: step.tracksPrefill,
    lora: step.lora,
  }
}

function outcomeOf(work: () => void, notFound: string): string {
  try {
    work()
    return 'ok'
  } catch (error) {
    if (!RouterError.isInstance(error)) throw error
    if (error.code === 'ROUTER_DUPLICATE_REQUEST') return 'duplicate_request'
    return error.code === 'ROUTER_NOT_FOUND' ? notFound : error.code
  }
}

/** What the ledger says of each rank, and the same in the columns that policies see. */
function probe(step: StepOf<'probe'>, ledger: LoadLedger, hashesOf: Tracking, checks: Checks): void {
  const { table } = ledger
  ledger.project(hashesOf(step.path))
  checks.list('audit', [], ledger.audit())
  if (step.expect === undefined) return
  const ranks = table.workers.flatMap(({ workerId, dataParallelStartRank: start, dataParallelSize: size }) =>
    Array.from({ length: size }, (_, offset) => ({ workerId, dpRank: start + offset })),
  )
  const { expect } = step
  checks.list('ranks', Object.keys(expect).toSorted(), ranks.map(nameOf).toSorted())
  const columns = table.columns.views.load!
  for (const rank of ranks) {
    const expected = expect[nameOf(rank)]
    if (expected === undefined) continue
    const load = ledger.loadOf(table.slotOf(rank.workerId, rank.dpRank))
    const row = table.rowOf(rank.workerId, rank.dpRank)
    const { activeBlocks, activePrefillTokens, activeRequests, additionalBlocks } = expected
    const { modeledRemainingMs = 0 } = expected
    checks.within(nameOf(rank), () => {
      checks.equal('activeBlocks', activeBlocks, load.activeBlocks)
      checks.equal('activePrefillTokens', activePrefillTokens, load.activePrefillTokens)
      checks.equal('activeRequests', activeRequests, load.activeRequests)
      checks.equal('modeledRemainingMs', modeledRemainingMs, load.modeledRemainingMs ?? null)
      checks.equal('additionalBlocks', additionalBlocks, columns.decodeCostBlocks[row]! - load.activeBlocks)
      checks.equal('column activePrefillTokens', activePrefillTokens, columns.activePrefillTokens[row])
      checks.equal('column activeRequests', activeRequests, columns.activeRequests[row])
    })
  }
}

function checkLoras({ expect }: StepOf<'loras'>, ledger: LoadLedger, checks: Checks): void {
  if (expect === undefined) return
  const print = ([adapter, requests]: readonly [string, number]): string => `${adapter}: ${requests}`
  checks.list('expect', Object.entries(expect).map(print).toSorted(), [...ledger.loras].map(print).toSorted())
}

function upsert(table: WorkerTable, range: { worker: string; startRank: number; ranks: number }): void {
  table.upsertWorker({
    workerId: BigInt(range.worker),
    dataParallelStartRank: range.startRank,
    dataParallelSize: range.ranks,
  })
}
