import { checkAllocationMethod } from '../harness/allocation.js'
import { type Launch, runContest } from '../harness/contest-run.js'
import type { Effort } from '../harness/timing.js'
import { type Contest, type Variant, type VariantName, isSame } from '../harness/variant.js'
import { describeMachine } from '../machine.js'
import { floor } from './floor.js'
import { groups } from './groups/index.js'
import { reachedFigures } from './reach.js'
import { type ResultRatio, type ResultRow, type SelectionReport, ratiosOf, rowsOf } from './results.js'

/** For figures that may be published, on an idle machine. */
export const fullEffort: Effort = { warmUpMs: 200, timedMs: 80, countedMs: 10, rounds: 5 }
/** To see that everything works. */
export const quickEffort: Effort = { warmUpMs: 60, timedMs: 10, countedMs: 5, rounds: 1 }

export interface SelectionBenchOptions {
  /** Sizes of every group; absent = each group's own. */
  readonly workers?: readonly number[] | undefined
  /** Text that a variant's name, or its group's, must contain. */
  readonly filter?: string | undefined
  readonly effort: Effort
  readonly launch: Launch
  readonly isIsolated: boolean
  /** Told before each piece of work. */
  readonly onStep: (what: string) => void
}

/** Measures everything that the options ask for, size by size. */
export async function runSelectionBench(options: SelectionBenchOptions): Promise<SelectionReport> {
  const { effort, launch, isIsolated, onStep } = options
  const machine = describeMachine()
  const contests = contestsFor(options)
  onStep('checking how bytes are counted')
  const allocationMethod = checkAllocationMethod()
  const rows: ResultRow[] = []
  const ratios: ResultRatio[] = []
  for (const [index, contest] of contests.entries()) {
    const place = `${index + 1}/${contests.length} ${contest.group} at ${contest.workers} workers`
    const measurements = await runContest(contest, effort, launch, (what) => onStep(`${place}: ${what}`))
    rows.push(...rowsOf(contest, measurements))
    ratios.push(...ratiosOf(contest, measurements))
  }
  return {
    name: 'selection',
    recordedAt: new Date().toISOString(),
    machine,
    effort,
    isIsolated,
    allocationMethod,
    floor: String(floor),
    rows,
    ratios,
    reach: reachedFigures(rows, ratios),
  }
}

function contestsFor({ workers, filter = '' }: SelectionBenchOptions): Contest[] {
  return groups
    .flatMap((group) => (workers ?? group.sizes).map((size) => group.contest(size)))
    .map((contest) => ({
      ...contest,
      variants: contest.variants.filter(
        ({ name }) => contest.group.includes(filter) || name.includes(filter),
      ),
    }))
    .filter(({ variants }) => variants.length > 0)
}

/** Finds a variant again, in a process that was given its name. Throws when there is none. */
export function variantNamed(groupName: string, workers: number, name: VariantName): Variant {
  const group = groups.find((one) => one.name === groupName)
  const found = group?.contest(workers).variants.find((variant) => isSame(variant, name))
  if (found === undefined) throw new Error(`no variant ${name.name} in group ${groupName}`)
  return found
}
