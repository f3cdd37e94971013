import type { CandidateRows, WorkerSelectionContext } from '@router/sdk'
import { type Law, defineLaw, hostFor, require, requireSame, requireSameRun } from '../law.js'
import { rankName } from '../outcome.js'
import type { AnyPolicy } from '../run-components.js'
import { type Step, canonicalSteps, ordinarySteps, shuffled } from '../steps.js'
import { lacksFilters } from './skips.js'

/** The order of rows is an accident. */
export const rowPermutation: Law = defineLaw({
  id: 'row-permutation',
  title:
    'permuted rows with their canonical order give the same rank and the same cost of each rank, bit for bit',
  check: (subject) => {
    const canonical = canonicalSteps(subject)
    const expected = hostFor(subject).selectAll(canonical)
    for (const seed of [1n, 2n, 3n]) {
      const permuted = canonical.map((step, index) => ({
        ...step,
        rows: shuffled(step.rows, seed + BigInt(index)),
      }))
      requireSameRun(expected, hostFor(subject).selectAll(permuted), `permutation ${seed}`)
    }
    const host = hostFor(subject)
    const spelled = canonical.map((step) => host.select(step, { writesCanonicalRows: true }))
    requireSameRun(expected, spelled, 'canonical rows with `canonicalRows` spelled out')
  },
})

/** A filter judges rows one by one, whatever was asked before. */
export const filteredRows: Law = defineLaw({
  id: 'filtered-rows',
  title: 'a filter answers the same in any order and when asked twice, and a rejected row is never picked',
  skip: lacksFilters,
  check: (subject) => {
    const steps = ordinarySteps(subject)
    const answers = steps.map(() => new Map<string, boolean>())
    let current = 0
    const record =
      (second: boolean) =>
      (policy: AnyPolicy): AnyPolicy => ({
        ...policy,
        filters: (policy.filters ?? []).map((filter, index) => ({
          ...filter,
          keep: (context: WorkerSelectionContext, candidates: never, row: number): boolean => {
            const view: CandidateRows = candidates
            const rank = `${index} ${rankName(view.workerId(row), view.dpRank[row]!)}`
            const keeps = filter.keep(context, candidates, row)
            if (second)
              require(filter.keep(context, candidates, row) ===
                keeps, `${filter.name} changed its mind on ${rank}`)
            const known = answers[current]!.get(rank)
            require(known === undefined ||
              known === keeps, `${filter.name} answers by the order of questions on ${rank}`)
            answers[current]!.set(rank, keeps)
            return keeps
          },
        })),
      })
    for (const second of [false, true]) {
      const host = hostFor(subject, { wrap: record(second) })
      for (const [index, step] of steps.entries()) {
        current = index
        const rows = second ? step.rows.toReversed() : step.rows
        const outcome = host.select({ ...step, rows })
        if ('refused' in outcome) continue
        const rejected = [...answers[index]!].some(
          ([rank, keeps]) => !keeps && rank.endsWith(` ${outcome.chosen}`),
        )
        require(!rejected, `step ${index}: picked ${outcome.chosen}, which a filter rejects`)
      }
    }
  },
})

/** Entries past `count` are garbage. */
export const leftOvers: Law = defineLaw({
  id: 'left-overs',
  title: 'entries at and past `count` are never read, whether they look cheap, dear or broken',
  check: (subject) => {
    const steps = ordinarySteps(subject)
    const expected = hostFor(subject).selectAll(steps)
    for (const value of [0, NaN, -1e9, 1e9]) {
      const host = hostFor(subject)
      const leftOverCost = Number.isNaN(value) ? NaN : -1e300
      const actual = steps.map((step) => host.select(step, { leftOvers: leftOverRows(value), leftOverCost }))
      requireSameRun(expected, actual, `with ${value} in the left-overs`)
    }
  },
})

function leftOverRows(value: number): Step['rows'] {
  const count = Number.isNaN(value) ? 0 : Math.max(0, value)
  return Array.from({ length: 5 }, () => ({
    workerId: 0n,
    cache: {
      deviceOverlapBlocks: value,
      hostOverlapBlocks: value,
      diskOverlapBlocks: value,
      estimateBlocks: value,
      estimateTokens: value,
    },
    load: { activePrefillTokens: -value, decodeCostBlocks: -value, activeRequests: -value },
    taintMultiplier: value === 1e9 ? 1e-9 : value,
    totalKvBlocks: value,
    maxNumBatchedTokens: value,
    reservations: count === 0 ? 0 : 0xffff_ffff,
    cacheHits: count === 0 ? 0 : 0xffff_ffff,
    prefillBacklogMs: -value,
  }))
}

/** Scratch of an earlier fleet does not leak into a later one. */
export const fleetChanges: Law = defineLaw({
  id: 'fleet-changes',
  title: 'one object over growing and shrinking fleets decides as a fresh object does on each',
  check: (subject) => {
    const host = hostFor(subject)
    const steps = ordinarySteps(subject)
    const order = [...steps, ...steps.toReversed()]
    for (const [index, step] of order.entries()) {
      const expected = hostFor(subject).select(step, { query: true })
      requireSame(
        expected,
        host.select(step, { query: true }),
        `fleet change ${index} (${step.rows.length} rows)`,
      )
    }
  },
})
