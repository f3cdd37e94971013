import type { CandidateRows, PickExplanation, WorkerSelectionContext } from '@router/sdk'
import { type Law, defineLaw, hostFor, demand, demandSame, demandSameRun } from '../law.js'
import { rankName } from '../outcome.js'
import type { AnyPolicy } from '../run-components.js'
import { type Step, canonicalSteps, ordinarySteps, shuffled } from '../steps.js'
import { TestMemory } from '../test-memory.js'
import { choosesByMemory, lacksFilters } from './skips.js'

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
      demandSameRun(expected, hostFor(subject).selectAll(permuted), `permutation ${seed}`)
    }
    const host = hostFor(subject)
    const spelled = canonical.map((step) => host.select(step, { writesCanonicalRows: true }))
    demandSameRun(expected, spelled, 'canonical rows with `canonicalRows` spelled out')
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
              demand(
                filter.keep(context, candidates, row) === keeps,
                `${filter.name} changed its mind on ${rank}`,
              )
            const known = answers[current]!.get(rank)
            demand(
              known === undefined || known === keeps,
              `${filter.name} answers by the order of questions on ${rank}`,
            )
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
        demand(!rejected, `step ${index}: picked ${outcome.chosen}, which a filter rejects`)
      }
    }
  },
})

/** What a picker says of its choice can be shown. */
export const explainRows: Law = defineLaw({
  id: 'explain-rows',
  title: 'picker.explain names distinct rows in range, and keys with one number per row',
  skip: (subject) =>
    hostFor(subject).policy.picker.explain === undefined ? 'the picker has no explain()' : undefined,
  check: (subject) => {
    const explaining = (policy: AnyPolicy): AnyPolicy => {
      const { picker } = policy
      const pick: typeof picker.pick = (context, candidates, costs) => {
        const { count }: CandidateRows = candidates
        demandExplanation(picker.explain!({ ...context, queryOnly: true }, candidates, costs), count)
        return picker.pick(context, candidates, costs)
      }
      return { ...policy, picker: { ...picker, pick } }
    }
    hostFor(subject, { wrap: explaining }).selectAll(ordinarySteps(subject))
  },
})

function demandExplanation({ tieSet, keys = {} }: PickExplanation, count: number): void {
  const isRow = (row: number): boolean => Number.isInteger(row) && row >= 0 && row < count
  const told = `tieSet [${tieSet.join(', ')}] of ${count} rows`
  demand(tieSet.length > 0 && tieSet.every(isRow), `${told} must name rows in [0, ${count})`)
  demand(new Set(tieSet).size === tieSet.length, `${told} names a row twice`)
  for (const [name, values] of Object.entries(keys)) {
    demand(values.length === count, `key '${name}' has ${values.length} values for ${count} rows`)
  }
}

/** Entries past `count` are garbage. */
export const leftOvers: Law = defineLaw({
  id: 'left-overs',
  title: 'entries at and past `count` are never read, whether they look cheap, dear or broken',
  check: (subject) => {
    const steps = ordinarySteps(subject)
    for (const webAssembly of choosesByMemory(subject) ? [true, false] : [true]) {
      const expected = hostFor(subject, { memory: new TestMemory({ webAssembly }) }).selectAll(steps)
      for (const value of [0, NaN, -1e9, 1e9]) {
        const host = hostFor(subject, { memory: new TestMemory({ webAssembly }) })
        const leftOverCost = Number.isNaN(value) ? NaN : -1e300
        const actual = steps.map((step) =>
          host.select(step, { leftOvers: leftOverRows(value), leftOverCost }),
        )
        const memory = webAssembly ? '' : ', without WebAssembly memory'
        demandSameRun(expected, actual, `with ${value} in the left-overs${memory}`)
      }
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
      demandSame(
        expected,
        host.select(step, { query: true }),
        `fleet change ${index} (${step.rows.length} rows)`,
      )
    }
  },
})
