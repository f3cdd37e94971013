/**
 * A row of a state bench (`index`, `events`, `accounting`, `core`): one figure, measured in a process of its own, round after round.
 *
 * To add one, append it to the rows of its bench (`src/<bench>/rows.ts`); nothing else knows the rows. Either time a body:
 *
 * ```ts
 * {
 *   group: 'lookup', name: '128 blocks, 1 holder', unit: 'ns', reach: { atMost: 220 }, countsBytes: true,
 *   setup: () => {
 *     const prompts = ...                       // everything that is not to be timed; throw when the answer is wrong
 *     let turn = 0
 *     return { perCall: 1, body: () => { turn = (turn + 1) & 15; index.lookup(prompts[turn]!, 128, target); return target.count } }
 *   },
 * }
 * ```
 *
 * or compute the figure: `{ group, name, unit: 'bytes', reach: { atMost: 42 }, compute: () => ({ value, note }) }`.
 *
 * Calls are batched until the clock does not count, so a body may be as short as it likes. A body that must be undone (a store)
 * does plenty of work and undoes it in `afterwards`, which is not timed; every call is then timed alone.
 */
export type FigureRow = TimedRow | ComputedRow

/** A limit in the unit of the row. */
export type Reach = { readonly atMost: number } | { readonly atLeast: number }

interface RowName {
  /** Rows of a group are printed together. */
  readonly group: string
  /** Unique within the group. */
  readonly name: string
  /** Absent = informative. */
  readonly reach?: Reach
  /** Printed when the limit is not reached: what is known of the reason. */
  readonly whyNot?: string
}

/** Time of a unit of work (the median over batches), or millions of units of work a second (all work by all time). */
export type TimedUnit = 'ns' | 'us' | 'ms' | `M ${string}/s`

export interface TimedRow extends RowName {
  readonly unit: TimedUnit
  /** Also count the bytes that a unit of work allocates on the JavaScript heap. Not for rows with `afterwards`. */
  readonly countsBytes?: boolean
  /** Builds everything; called once in the process that measures. */
  readonly setup: () => Timed | Promise<Timed>
}

export interface Timed {
  /** Returns a small integer that depends on its work, so that nothing is optimised away. */
  readonly body: () => number
  /** Units of work of one call; a positive number. */
  readonly perCall: number
  /** Undoes what a call changed; not timed. */
  readonly afterwards?: () => void
}

export interface ComputedRow extends RowName {
  readonly unit: string
  /** Measures by its own means; called once in the process that measures. */
  readonly compute: () => ComputedFigure | Promise<ComputedFigure>
}

export interface ComputedFigure {
  readonly value: number
  /** What the reader should know of this value, such as where the longest pause was. */
  readonly note?: string
}

/** What one process says of one row. */
export interface FigureTake extends ComputedFigure {
  /** Of a timed row in a unit of time: 99 % of the batches took no more. */
  readonly p99?: number
  /** Bytes that a unit of work allocates, where the row asks for it. */
  readonly bytes?: number
}
