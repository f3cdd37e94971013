import type { WorkerTable } from '../worker-table.js'
import type { BookingBudget } from './booking.js'
import { rootEdge } from './edge-table.js'
import type { LoadState } from './load-columns.js'

/** A count of the ledger that is not what the live bookings give. */
export interface LedgerViolation {
  /** Which count. */
  readonly what: string
  /** Rank by slot; absent where it concerns none. */
  readonly slot?: number
  /** From the bookings. */
  readonly expected: number
  /** As kept. */
  readonly actual: number
}

// Sums of fractions depend on the order of additions.
const sumTolerance = 1e-6

interface RankCounts {
  requests: number
  reservations: number
  outputWeight: number
  promptWeight: number
  prefills: number
  unmodelled: number
  tokens: number
  durationMs: number
}

/** Every count against the live bookings. */
export function auditLedger(
  table: WorkerTable,
  state: LoadState,
  loras: ReadonlyMap<string, number>,
  budget: BookingBudget,
): LedgerViolation[] {
  table.settle()
  const { bookings, prefills, registry } = state
  const violations: LedgerViolation[] = []
  const check = (what: string, expected: number, actual: number, slot?: number, tolerance = 0): void => {
    if (Math.abs(expected - actual) <= tolerance && actual >= -tolerance) return
    violations.push({ what, expected, actual, ...(slot === undefined ? {} : { slot }) })
  }

  const ranks = Array.from({ length: bookings.first.length }, newCounts)
  const references = new Map<number, Map<number, number>>()
  const adapters = new Map<string, number>()
  let live = 0
  for (const [booking, id] of bookings.ids.entries()) {
    if (id === undefined) continue
    live++
    const slot = bookings.rank[booking]!
    check('id leads to its booking', booking, bookings.byId.get(id) ?? -1)
    countBooking(state, booking, ranks[slot]!)
    for (let edge = bookings.end[booking]!; edge !== rootEdge; edge = registry.edges.parent[edge]!) {
      const holders = references.get(edge) ?? new Map<number, number>()
      references.set(edge, holders.set(slot, (holders.get(slot) ?? 0) + 1))
    }
    const lora = bookings.loras[booking]
    if (lora !== undefined) adapters.set(lora, (adapters.get(lora) ?? 0) + 1)
  }
  check('live ids', live, bookings.byId.size)
  check('bookings of the process, at least', Math.max(live, budget.live), budget.live)
  check('adapters', adapters.size, loras.size)
  for (const [lora, count] of adapters) check(`requests of adapter ${lora}`, count, loras.get(lora) ?? 0)

  check('edges', references.size, registry.edges.count)
  for (const [edge, holders] of references) {
    check(`holders of edge ${edge}`, holders.size, registry.holders.count[edge]!)
    check(`edge ${edge} is found`, 1, registry.edges.isFound(edge) ? 1 : 0)
    for (const [slot, count] of holders) {
      const entry = registry.holders.find(edge, slot)
      const kept = entry < 0 ? 0 : registry.holders.pairs[2 * entry + 1]!
      check(`references of edge ${edge}`, count, kept, slot)
      if (entry >= 0)
        ranks[slot]!.promptWeight += registry.holders.weights[entry]! * registry.edges.length[edge]!
    }
  }

  for (const [slot, counts] of ranks.entries()) {
    check('bookings', counts.requests, bookings.requests[slot]!, slot)
    check('listed bookings', counts.requests, chain(bookings.first[slot]!, bookings.next), slot)
    check('reservations', counts.reservations, bookings.reservations[slot]!, slot)
    const { outputWeight, promptWeight, durationMs } = counts
    // Exactly 0 once nothing is left.
    const slack = (sum: number): number => (counts.requests === 0 ? 0 : sumTolerance * (1 + sum))
    check(
      'weight of output blocks',
      outputWeight,
      bookings.outputWeightOfRank[slot]!,
      slot,
      slack(outputWeight),
    )
    check('weight of prompt blocks', promptWeight, registry.weight[slot]!, slot, slack(promptWeight))
    check('tracked prefills', counts.prefills, prefills.count[slot]!, slot)
    check('listed prefills', counts.prefills, chain(prefills.anchor[slot]!, prefills.younger), slot)
    check('prefills without a model', counts.unmodelled, prefills.unmodelled[slot]!, slot)
    check('prefill tokens', counts.tokens, prefills.tokenSum[slot]!, slot)
    check('prefill duration', durationMs, prefills.durationSumMs[slot]!, slot, slack(durationMs))
    if ((table.rowOfSlot[slot] ?? -1) < 0) check('bookings of a rank that left', 0, counts.requests, slot)
  }
  return violations
}

function countBooking({ bookings, prefills }: LoadState, booking: number, counts: RankCounts): void {
  counts.requests++
  counts.reservations += bookings.reserves[booking]!
  counts.outputWeight += bookings.outputWeight[booking]!
  const tokens = prefills.tokens[booking]!
  if (tokens === 0) return
  const durationMs = prefills.durationMs[booking]!
  counts.prefills++
  counts.tokens += tokens
  if (Number.isNaN(durationMs)) counts.unmodelled++
  else counts.durationMs += durationMs
}

/** Entries of a list; a circle counts as endless. */
function chain(first: number, next: Int32Array): number {
  let length = 0
  for (let entry = first; entry >= 0 && length <= next.length; entry = next[entry]!) length++
  return length
}

function newCounts(): RankCounts {
  return {
    requests: 0,
    reservations: 0,
    outputWeight: 0,
    promptWeight: 0,
    prefills: 0,
    unmodelled: 0,
    tokens: 0,
    durationMs: 0,
  }
}
