import type { CandidateGroups, WorkerCandidates } from '@router/sdk'
import type { HandMadeView } from './hand-made-view.js'

export type Column = Float64Array | Uint32Array | Uint8Array

/** A function from column to column that keeps the type of the array. */
export type ColumnMap = <T extends Column>(column: T) => T

/** The same candidates with every column replaced; scalars stay. */
export function mapColumns<V extends WorkerCandidates>(view: V, map: ColumnMap): V {
  return {
    ...view,
    canonicalRows: view.canonicalRows === undefined ? undefined : map(view.canonicalRows),
    workerIdHigh: map(view.workerIdHigh),
    workerIdLow: map(view.workerIdLow),
    dpRank: map(view.dpRank),
    cache: mapGroup(view.cache, map),
    load: mapGroup(view.load, map),
    preferredTaint: mapGroup(view.preferredTaint, map),
    capacity: mapGroup(view.capacity, map),
    occupancy: mapGroup(view.occupancy, map),
    prefillTime: mapGroup(view.prefillTime, map),
  }
}

function mapGroup<G extends CandidateGroups[keyof CandidateGroups]>(
  group: G | undefined,
  map: ColumnMap,
): G | undefined {
  if (group === undefined) return undefined
  const entries = Object.entries(group).map(([name, value]) => [name, isColumn(value) ? map(value) : value])
  return Object.fromEntries(entries) as G
}

/** Whether a member of a group is a column. */
export function isColumn(value: unknown): value is Column {
  return value instanceof Float64Array || value instanceof Uint32Array || value instanceof Uint8Array
}

/**
 * The candidates that remain when only `rows` (ascending) are kept: renumbered densely, left-overs of the view behind them.
 * `canonicalRows` keeps its order.
 */
export function keepRows(view: HandMadeView, rows: readonly number[]): HandMadeView {
  if (rows.length === view.count) return view
  const pick: ColumnMap = (column) => {
    const kept = column.slice(0, rows.length + column.length - view.count) as typeof column
    for (const [index, row] of rows.entries()) kept[index] = column[row]!
    kept.set(column.subarray(view.count) as never, rows.length)
    return kept
  }
  const kept = mapColumns({ ...view, canonicalRows: undefined }, pick)
  return {
    ...kept,
    count: rows.length,
    canonicalRows: keptOrder(view, rows),
    workerId: (row) => view.workerId(rows[row]!),
    workers: rows.map((row) => view.workers[row]),
  }
}

function keptOrder(view: HandMadeView, rows: readonly number[]): Uint32Array | undefined {
  if (view.canonicalRows === undefined) return undefined
  const renumbered = new Map(rows.map((row, index) => [row, index]))
  const order = Array.from(view.canonicalRows.subarray(0, view.count)).flatMap(
    (row) => renumbered.get(row) ?? [],
  )
  return Uint32Array.from([...order, ...view.canonicalRows.subarray(view.count)])
}
