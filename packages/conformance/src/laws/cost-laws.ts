import { emptyPromptSteps, extremeSteps, idleStep, unknownSteps } from '../extreme-steps.js'
import { type Law, defineLaw, hostFor, demand, demandSame } from '../law.js'
import { rankName } from '../outcome.js'
import type { Step } from '../steps.js'
import { ordinarySteps } from '../steps.js'
import type { Subject } from '../subject.js'
import { lacksScorers } from './skips.js'

/** Every known fleet gets finite costs and a valid row. */
export const finiteCosts: Law = defineLaw({
  id: 'finite-costs',
  title: 'costs are finite on idle, equal, huge, cold, cached and crowded fleets',
  check: (subject) => {
    const host = hostFor(subject)
    for (const { name, step } of extremeSteps(subject)) selectNamed(() => host.select(step), name)
  },
})

/** No data is told from idle, cold and empty. */
export const unknownRows: Law = defineLaw({
  id: 'unknown-rows',
  title:
    'a row whose load, cache, capacity or backlog is unknown gets a finite cost or is filtered, never NaN',
  skip: (subject) => {
    const known = ['load', 'cache', 'capacity', 'prefillTime'] as const
    const { inputs } = hostFor(subject)
    return known.some((name) => inputs.includes(name))
      ? undefined
      : `the policy declares none of ${known.join(', ')}`
  },
  check: (subject) => {
    const host = hostFor(subject)
    for (const { name, step } of unknownSteps(subject)) selectNamed(() => host.select(step), name)
  },
})

/**
 * For every row whose cost grows by the same amount with each block from one to four, the empty prompt must lie on that line too, give
 * or take one token. A clamp such as `max(1, requestBlocks)` used outside a division charges it a whole block.
 */
export const emptyPrompt: Law = defineLaw({
  id: 'empty-prompt',
  title: 'an empty prompt gets finite costs and is never charged for a block that it does not have',
  skip: lacksScorers,
  check: (subject) => {
    for (const { name, blockSize, steps } of emptyPromptSteps(subject)) {
      const costs = steps.map((step) => costsOf(subject, step, name))
      for (const { workerId, dpRank = 0 } of steps[0]!.rows) {
        const rank = rankName(workerId, dpRank)
        const line = costs.map((byRank) => byRank?.get(rank))
        if (line.every((cost) => cost !== undefined))
          demandNoPhantomBlock(line, blockSize, `${name}, rank ${rank}`)
      }
    }
  },
})

function demandNoPhantomBlock(costs: readonly number[], blockSize: number, where: string): void {
  const [empty, one, two, three, four] = costs as [number, number, number, number, number]
  const slope = two - one
  const tolerance = 1e-9 * Math.max(...costs.map(Math.abs))
  const isLine = Math.abs(three - two - slope) <= tolerance && Math.abs(four - three - slope) <= tolerance
  if (!isLine || slope <= tolerance) return
  const charged = empty - (one - slope)
  demand(
    charged <= slope / blockSize + tolerance,
    () =>
      `${where}: one to four blocks cost ${one}, ${two}, ${three}, ${four}; the empty prompt costs ${empty}, which is ` +
      `${charged / slope} of a block too much. Divide by a clamped count, but charge for the true one`,
  )
}

function costsOf(subject: Subject, step: Step, name: string): ReadonlyMap<string, number> | undefined {
  const outcome = selectNamed(() => hostFor(subject).select(step, { query: true }), name)
  return 'refused' in outcome ? undefined : outcome.costs
}

/** Row numbers are positions, up to the largest fleet. */
export const pickerRow: Law = defineLaw({
  id: 'picker-row',
  title: 'the picked row is an integer in range for one row, for a pin and for a thousand rows',
  check: (subject) => {
    const host = hostFor(subject)
    for (const size of [1, 2, 63, 64, 65, 1025, 1]) {
      const step = idleStep(subject, size)
      selectNamed(() => host.select(step), `${size} rows`)
      const { workerId, dpRank = 0 } = step.rows[0]!
      const pinned = { ...step, fleet: step.rows, rows: [step.rows[0]!] }
      const facts = { ...step.facts, pinnedWorker: { workerId, dpRank } }
      selectNamed(() => host.select({ ...pinned, facts }), `a pin among ${size} rows`)
    }
  },
})

/** A column that the host did not fill is not read. */
export const unfilledTaints: Law = defineLaw({
  id: 'unfilled-taints',
  title: 'without preferred taints the multiplier column is not read',
  skip: (subject) =>
    hostFor(subject).inputs.includes('preferredTaint')
      ? undefined
      : 'the policy does not declare preferredTaint',
  check: (subject) => {
    for (const [index, step] of ordinarySteps(subject).entries()) {
      const { preferredTaints: _none, ...plain } = step
      const expected = hostFor(subject).select(plain, { query: true })
      for (const taintMultiplier of [NaN, 1e-6, 1e6]) {
        const rows = plain.rows.map((row) => ({ ...row, taintMultiplier }))
        const actual = hostFor(subject).select({ ...plain, rows, taintApplies: false }, { query: true })
        demandSame(expected, actual, `step ${index} with ${taintMultiplier} in the column`)
      }
    }
  },
})

function selectNamed<T>(select: () => T, name: string): T {
  try {
    return select()
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`${name}: ${message}`, { cause })
  }
}
