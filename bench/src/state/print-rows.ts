import type { Reach } from '../harness/figure.js'
import { table } from '../harness/table.js'
import { shortestBatchUs } from '../harness/timing.js'
import { caveats, machineText } from '../machine.js'
import type { StateReport, StateRow } from './state-bench.js'

/** The whole report as text: a table a group, below it the notes of its rows. */
export function renderRows({ machine, effort, rows }: StateReport): string {
  const groups = [...new Set(rows.map(({ group }) => group))]
  return [
    machineText(machine),
    methodText(effort.rounds),
    ...groups.map((name) =>
      groupText(
        name,
        rows.filter(({ group }) => group === name),
      ),
    ),
    sumText(rows),
    ...caveats(machine, effort.rounds),
  ].join('\n\n')
}

function methodText(rounds: number): string {
  return [
    `Rounds: ${rounds}, the rows in turns, each in a new process; a figure is the median of its rounds.`,
    `Times are p50 and p99 over batches of at least ${shortestBatchUs} us, rates all work by all time; bytes are what a unit of work allocates warm.`,
  ].join('\n')
}

function groupText(group: string, rows: readonly StateRow[]): string {
  const lines = rows.map(({ name, value, unit, reach, reached, p99, bytes }) => [
    name,
    value === null ? 'failed' : figure(value),
    unit,
    reach === null ? '' : limit(reach),
    reached === null ? '' : reached ? 'yes' : 'no',
    p99 === undefined ? '' : figure(p99),
    bytes === undefined ? '' : bytes.toFixed(2),
  ])
  const printed = table(
    [group, 'figure', 'unit', 'reach', 'reached', 'p99', 'bytes'],
    ['left', 'right', 'left', 'right', 'left', 'right', 'right'],
    lines,
  )
  const notes = rows.filter(({ note }) => note !== '').map(({ name, note }) => `- ${name}: ${note}`)
  return notes.length === 0 ? printed : `${printed}\n\n${notes.join('\n')}`
}

function sumText(rows: readonly StateRow[]): string {
  const limited = rows.filter(({ reach }) => reach !== null)
  const reached = limited.filter((row) => row.reached === true)
  return `${reached.length} of ${limited.length} figures reached.`
}

function limit(reach: Reach): string {
  return 'atMost' in reach ? `<= ${figure(reach.atMost)}` : `>= ${figure(reach.atLeast)}`
}

/** Four digits at least, thousands apart. */
function figure(value: number): string {
  const decimals = Number.isInteger(value) ? 0 : Math.max(0, 3 - Math.floor(Math.log10(Math.abs(value) || 1)))
  return value.toLocaleString('en', { maximumFractionDigits: Math.min(decimals, 4) })
}
