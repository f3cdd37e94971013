import type { AllocationCheck } from '../harness/allocation.js'
import { table } from '../harness/table.js'
import { shortestBatchUs } from '../harness/timing.js'
import { caveats, machineText } from '../machine.js'
import { groups } from './groups/index.js'
import type { ReachedFigure } from './reach.js'
import type { ResultRatio, ResultRow, SelectionReport } from './results.js'

/** The whole report as text. */
export function renderReport(report: SelectionReport): string {
  const { machine, rows, ratios, reach } = report
  const measured = groups.filter(({ name }) => rows.some(({ group }) => group === name))
  return [
    machineText(machine),
    methodText(report),
    allocationText(report.allocationMethod),
    `The floor, as it ran:\n\n${report.floor}`,
    ...measured.map(({ name, title }) => groupText(name, title, rows, ratios)),
    reachText(reach),
    ...caveats(machine, report.effort.rounds),
  ].join('\n\n')
}

function methodText({ effort, isIsolated }: SelectionReport): string {
  const { warmUpMs, timedMs, rounds } = effort
  const place = isIsolated
    ? 'a new process for every variant and round'
    : 'all variants in one process, sharing what the engine learned'
  return [
    `Rounds: ${rounds}; ${place}, the variants of a size in turns; each at least ${warmUpMs} ms of warm-up, then ${timedMs} ms of batches of at least ${shortestBatchUs} us.`,
    'p50 and p99 are over the batches of a round, then the median of the rounds; a ratio is the median of the ratios within a round.',
  ].join('\n')
}

function allocationText(checks: readonly AllocationCheck[]): string {
  const lines = checks.map(({ what, expectedBytes, measuredBytes }) => [
    what,
    expectedBytes.toLocaleString('en'),
    measuredBytes.toFixed(2),
  ])
  return `How bytes are counted, on loops of known allocation:\n\n${table(
    ['a call allocates', 'bytes', 'measured'],
    ['left', 'right', 'right'],
    lines,
  )}`
}

function groupText(
  group: string,
  title: string,
  rows: readonly ResultRow[],
  ratios: readonly ResultRatio[],
): string {
  const ofGroup = rows.filter((row) => row.group === group)
  const sizes = [...new Set(ofGroup.map(({ workers }) => workers))]
  const lines = sizes.flatMap((size) =>
    ofGroup
      .filter(({ workers }) => workers === size)
      .map(({ workers, temperature, variant, p50Ns, p99Ns, bytesPerSelection }) => [
        workers.toLocaleString('en'),
        variant,
        String(temperature),
        microseconds(p50Ns),
        microseconds(p99Ns),
        bytesPerSelection.toFixed(bytesPerSelection < 100 ? 2 : 0),
      ]),
  )
  const rowTable = table(
    ['workers', 'variant', 'T', 'p50 us', 'p99 us', 'bytes'],
    ['right', 'left', 'right', 'right', 'right', 'right'],
    lines,
  )
  const compared = ratios.filter((ratio) => ratio.group === group)
  if (compared.length === 0) return `## ${title}\n\n${rowTable}`
  const ratioTable = table(
    ['workers', 'ratio', 'median', 'quarter', '3 quarters'],
    ['right', 'left', 'right', 'right', 'right'],
    compared.map((ratio) => [
      ratio.workers.toLocaleString('en'),
      `${labelled(ratio.variant, ratio.temperature)} / ${labelled(ratio.base, ratio.baseTemperature)}`,
      ratio.ratio.toFixed(3),
      ratio.lowerQuartile.toFixed(3),
      ratio.upperQuartile.toFixed(3),
    ]),
  )
  return `## ${title}\n\n${rowTable}\n\n${ratioTable}`
}

function labelled(variant: string, temperature: number): string {
  return temperature === 0 ? variant : `${variant} T ${temperature}`
}

function reachText(reach: readonly ReachedFigure[]): string {
  const lines = reach.flatMap(({ what, workers, limit, unit, reached, isReached }) =>
    reached === null || limit === null
      ? []
      : [
          [
            what,
            workers.toLocaleString('en'),
            `<= ${plain(limit, unit)}`,
            plain(reached, unit),
            unit,
            isReached ? 'ok' : 'not reached',
          ],
        ],
  )
  const title = '## figures to reach'
  const missing = reach.length - lines.length
  const rest = missing === 0 ? [] : [`${missing} of ${reach.length} figures were not measured in this run.`]
  if (lines.length === 0) return [title, ...rest].join('\n\n')
  const measured = table(
    ['figure', 'workers', 'wanted', 'reached', 'unit', ''],
    ['left', 'right', 'right', 'right', 'left', 'left'],
    lines,
  )
  return [title, measured, ...rest].join('\n\n')
}

function plain(value: number, unit: ReachedFigure['unit']): string {
  return unit === 'bytes' ? String(Math.round(value * 100) / 100) : value.toFixed(unit === 'x' ? 3 : 2)
}

function microseconds(nanoseconds: number): string {
  return (nanoseconds / 1000).toFixed(nanoseconds < 100_000 ? 3 : 0)
}
