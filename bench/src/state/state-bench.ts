import type { FigureRow, Reach } from '../harness/figure.js'
import { type FigureResult, medianOf, middleTake, runFigures } from '../harness/figures-run.js'
import type { Effort } from '../harness/timing.js'
import { type Machine, describeMachine } from '../machine.js'
import type { StateBench } from './benches.js'
import type { LaunchRow } from './row-process.js'

/** For figures that may be published, on an idle machine. */
export const fullEffort: Effort = { warmUpMs: 300, timedMs: 300, countedMs: 10, rounds: 5 }
/** To see that everything works. */
export const quickEffort: Effort = { warmUpMs: 60, timedMs: 30, countedMs: 5, rounds: 1 }

/** One figure, as `--json` writes it. */
export interface StateRow {
  readonly group: string
  readonly name: string
  /** Median of the rounds, as `p99` and `bytes`; null = the row failed. */
  readonly value: number | null
  readonly unit: string
  /** Null = informative. */
  readonly reach: Reach | null
  /** Null = nothing to reach. */
  readonly reached: boolean | null
  /** Why the figure failed or was not reached, and what else there is to know of it; may be empty. */
  readonly note: string
  /** Of times: 99 % of the batches took no more. */
  readonly p99?: number
  /** Allocated by a unit of work. */
  readonly bytes?: number
  /** The value of each round. */
  readonly rounds: readonly number[]
}

/** What `--json` writes. */
export interface StateReport {
  readonly name: string
  readonly recordedAt: string
  readonly machine: Machine
  readonly effort: Effort
  readonly rows: readonly StateRow[]
}

export interface StateBenchOptions {
  /** Text that a row's name, or its group's, must contain. */
  readonly filter?: string | undefined
  readonly effort: Effort
  readonly launch: LaunchRow
  /** Told before each piece of work. */
  readonly onStep: (what: string) => void
}

/** Measures the rows of a bench. */
export async function runStateBench(bench: StateBench, options: StateBenchOptions): Promise<StateReport> {
  const { filter = '', effort, launch, onStep } = options
  const machine = describeMachine()
  const rows = (await bench.rows()).filter(
    ({ group, name }) => group.includes(filter) || name.includes(filter),
  )
  refuseEqualNames(rows)
  const results = await runFigures(rows, effort, (row) => launch(bench.name, row, effort), onStep)
  return {
    name: bench.name,
    recordedAt: new Date().toISOString(),
    machine,
    effort,
    rows: results.map(reported),
  }
}

function refuseEqualNames(rows: readonly FigureRow[]): void {
  const keys = rows.map(({ group, name }) => `${group}, ${name}`)
  const twice = keys.find((key, index) => keys.indexOf(key) !== index)
  if (twice !== undefined) throw new Error(`two rows are named ${twice}`)
}

function reported({ row, takes, failure }: FigureResult): StateRow {
  const { group, name, unit, reach, whyNot } = row
  const value = medianOf(takes, 'value') ?? null
  const p99 = medianOf(takes, 'p99')
  const bytes = medianOf(takes, 'bytes')
  const reached = reach === undefined ? null : value !== null && isWithin(value, reach)
  const notes = [
    failure,
    reached === false && failure === undefined ? whyNot : undefined,
    middleTake(takes)?.note,
  ]
  return {
    group,
    name,
    value,
    unit,
    reach: reach ?? null,
    reached,
    note: notes.filter((note) => note !== undefined).join('; '),
    ...(p99 === undefined ? {} : { p99 }),
    ...(bytes === undefined ? {} : { bytes }),
    rounds: takes.map((take) => take.value),
  }
}

function isWithin(value: number, reach: Reach): boolean {
  return 'atMost' in reach ? value <= reach.atMost : value >= reach.atLeast
}
