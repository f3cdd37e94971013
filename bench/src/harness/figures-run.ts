import type { FigureRow, FigureTake } from './figure.js'
import { median } from './statistics.js'
import type { Effort } from './timing.js'

/** Measures a row once: in this process, or in a new one. */
export type TakeRow = (row: FigureRow, effort: Effort) => Promise<FigureTake>

/** What a row came to: medians of the rounds. */
export interface FigureResult {
  readonly row: FigureRow
  /** One entry a round; empty when the row failed. */
  readonly takes: readonly FigureTake[]
  /** Why the row could not be measured. */
  readonly failure?: string
}

/** Measures rows in turns: A B C, A B C, ... A row that fails is left out of later rounds. `onStep` is told before each. */
export async function runFigures(
  rows: readonly FigureRow[],
  effort: Effort,
  take: TakeRow,
  onStep: (what: string) => void,
): Promise<FigureResult[]> {
  const results = rows.map((row) => ({
    row,
    takes: [] as FigureTake[],
    failure: undefined as string | undefined,
  }))
  for (let round = 1; round <= effort.rounds; round++) {
    for (const result of results) {
      if (result.failure !== undefined) continue
      onStep(`round ${round} of ${effort.rounds}: ${result.row.group}, ${result.row.name}`)
      try {
        result.takes.push(await take(result.row, effort))
      } catch (error) {
        result.failure = error instanceof Error ? error.message : String(error)
      }
    }
  }
  return results.map(({ row, takes, failure }) =>
    failure === undefined ? { row, takes } : { row, takes: [], failure },
  )
}

/** The round whose value is the middle one (of an even count the lower middle): its note belongs to the figure. */
export function middleTake(takes: readonly FigureTake[]): FigureTake | undefined {
  return takes.toSorted((a, b) => a.value - b.value)[(takes.length - 1) >> 1]
}

/** Median of a property that every round has; undefined when none has it. */
export function medianOf(takes: readonly FigureTake[], key: 'value' | 'p99' | 'bytes'): number | undefined {
  const values = takes.flatMap((take) => take[key] ?? [])
  return values.length === 0 ? undefined : median(values)
}
