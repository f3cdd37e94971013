import { describe, expect, it } from 'vitest'
import { BookingBudget, WorkerTable } from '../src/index.js'
import { type LedgerViolation, auditLedger } from '../src/load/audit.js'
import { BlockRegistry } from '../src/load/block-registry.js'
import { BookingStore } from '../src/load/booking-store.js'
import type { LoadState } from '../src/load/load-columns.js'
import { PrefillQueues } from '../src/load/prefill-queues.js'
import { hashesOfPath, ledgerHost } from './support/ledgers.js'

interface Books extends LoadState {
  readonly table: WorkerTable
  readonly loras: Map<string, number>
  readonly budget: BookingBudget
}

/** Two requests that share a prefix on slot 0, one on slot 1; every kind of count is in use. */
function books(): Books {
  const table = new WorkerTable()
  table.upsertWorker({ workerId: 1n, dataParallelSize: 2 })
  const [registry, bookings, prefills] = [new BlockRegistry(), new BookingStore(), new PrefillQueues()]
  const budget = new BookingBudget()
  for (const [id, slot, path] of [
    ['a', 0, [1, 2, 3]],
    ['b', 0, [1, 2, 4]],
    ['c', 1, [1]],
  ] as const) {
    const booking = bookings.add(id, slot, 0)
    bookings.end[booking] = registry.hold(slot, hashesOfPath(path), path.length)
    prefills.add(booking, slot, 10, id === 'b' ? Number.NaN : 100, 0)
    budget.live++
  }
  bookings.outputBlocks[0] = bookings.outputWeight[0] = bookings.outputWeightOfRank[0] = 1
  bookings.loras[0] = 'x'
  return { table, registry, bookings, prefills, budget, loras: new Map([['x', 1]]) }
}

const audit = (kept: Books): LedgerViolation[] => auditLedger(kept.table, kept, kept.loras, kept.budget)

const slips: readonly [string, (kept: Books) => unknown][] = [
  ['bookings', ({ bookings }) => bookings.requests[0]!++],
  ['reservations', ({ bookings }) => bookings.reservations[0]!--],
  ['listed bookings', ({ bookings }) => (bookings.next[1] = -1)],
  ['live ids', ({ bookings }) => bookings.byId.set('ghost', 9)],
  ['id leads to its booking', ({ bookings }) => bookings.byId.set('a', 1)],
  ['bookings of the process, at least', ({ budget }) => (budget.live = 2)],
  ['adapters', ({ loras }) => loras.set('y', 1)],
  ['requests of adapter x', ({ loras }) => loras.set('x', 2)],
  ['weight of prompt blocks', ({ registry }) => (registry.weight[0]! -= 1)],
  ['weight of output blocks', ({ bookings }) => (bookings.outputWeightOfRank[0] = 2)],
  ['tracked prefills', ({ prefills }) => prefills.count[1]!--],
  ['listed prefills', ({ prefills }) => (prefills.younger[0] = -1)],
  ['prefills without a model', ({ prefills }) => prefills.unmodelled[0]!--],
  ['prefill tokens', ({ prefills }) => (prefills.tokenSum[0]! -= 1)],
  ['prefill duration', ({ prefills }) => (prefills.durationSumMs[0]! += 1)],
  ['edges', ({ registry }) => registry.edges.count++],
  ['bookings of a rank that left', ({ table }) => table.upsertWorker({ workerId: 1n, dataParallelSize: 1 })],
  ['holders of edge', ({ registry, bookings }) => registry.holders.count[bookings.end[0]!]!++],
  [
    'references of edge',
    ({ registry, bookings }) => registry.holders.pairs[2 * registry.holders.find(bookings.end[2]!, 1) + 1]!++,
  ],
  ['is found', ({ registry, bookings }) => (registry.edges.parent[bookings.end[1]!] = 0)],
]

describe('the audit', () => {
  it('finds nothing in books that are right', () => {
    expect(audit(books())).toEqual([])
  })

  it.each(slips)('finds a slip: %s', (what, slip) => {
    const kept = books()
    slip(kept)
    expect(
      audit(kept)
        .map((violation) => violation.what)
        .join('; '),
    ).toContain(what)
  })

  it('says what is expected and what is kept, and on which rank', () => {
    const kept = books()
    kept.bookings.requests[1] = -1
    expect(audit(kept)).toEqual([{ what: 'bookings', slot: 1, expected: 1, actual: -1 }])
  })

  it('finds exactly 0 after the last free, whatever fractions there were', () => {
    const { ledger, add } = ledgerHost()
    for (const [at, fraction] of [0.1, 0.7, 1 / 3, 0.9].entries()) {
      add(`${at}`, { path: [1, 2, at, 7], prefillTokens: 3, prefillDurationMs: 0.1 * (at + 1) })
      for (let block = 0; block < 5; block++) ledger.addOutputBlock(`${at}`, fraction)
    }
    for (const at of [2, 0, 3, 1]) {
      ledger.free(`${at}`)
      expect(ledger.audit()).toEqual([])
    }
  })
})
