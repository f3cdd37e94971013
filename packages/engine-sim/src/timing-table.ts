import { duration, refuse, refuseUnknown } from './checks.js'

/**
 * Measured times, as plain lists such as `JSON.parse` gives; between points and beyond them on straight lines, never below 0. An axis
 * rises from point to point and has at least two.
 */
export interface TimingTable {
  readonly type: 'table'
  /** New prompt tokens of a pass, and the time of its prefill part at each, in ms. */
  readonly prefill_isl: readonly number[]
  readonly prefill_ttft_ms: readonly number[]
  /** Tokens of all requests that decode, and of the mean one, whole. */
  readonly decode_active_kv_tokens: readonly number[]
  readonly decode_context_length: readonly number[]
  /** The time of the decode part in ms: a row for each of `decode_active_kv_tokens`, in it a time for each of `decode_context_length`. */
  readonly decode_itl: readonly (readonly number[])[]
}

/** Throws `ENGINE_SIM_PARAMETER_INVALID`. */
export function checkTimingTable(table: TimingTable): void {
  const { prefill_isl: tokens, prefill_ttft_ms: prefillMs, decode_itl: rows } = table
  const { decode_active_kv_tokens: active, decode_context_length: context } = table
  refuseUnknown('timing_model.', table, [
    'type',
    'prefill_isl',
    'prefill_ttft_ms',
    'decode_active_kv_tokens',
    'decode_context_length',
    'decode_itl',
  ])
  checkAxis('prefill_isl', tokens)
  checkTimes('prefill_ttft_ms', prefillMs, tokens.length)
  checkAxis('decode_active_kv_tokens', active)
  checkAxis('decode_context_length', context)
  if (!Array.isArray(rows) || rows.length !== active.length)
    refuse('timing_model.decode_itl', lengthOf(rows), `a list of ${active.length} lists`)
  for (const [index, row] of rows.entries()) checkTimes(`decode_itl[${index}]`, row, context.length)
}

function checkAxis(name: string, points: readonly number[]): void {
  if (!Array.isArray(points) || points.length < 2)
    refuse(`timing_model.${name}`, lengthOf(points), 'a list of at least 2 numbers')
  for (const [index, point] of points.entries()) {
    duration(`timing_model.${name}[${index}]`, point)
    if (index > 0 && point <= points[index - 1]!)
      refuse(`timing_model.${name}[${index}]`, point, `more than ${points[index - 1]}, the point before`)
  }
}

function checkTimes(name: string, times: readonly number[], count: number): void {
  if (!Array.isArray(times) || times.length !== count)
    refuse(`timing_model.${name}`, lengthOf(times), `a list of ${count} numbers, one a point`)
  for (const [index, ms] of times.entries()) duration(`timing_model.${name}[${index}]`, ms)
}

function lengthOf(value: unknown): unknown {
  return Array.isArray(value) ? `a list of ${value.length}` : value
}

/** The time at `x`, of the points of one axis. O(log points), allocates nothing. */
export function onLine(points: Float64Array, times: Float64Array, x: number): number {
  const index = segmentOf(points, x)
  return between(points, index, x, times[index]!, times[index + 1]!)
}

/** The time at (`x`, `y`); `times` row by row, a row for each of `xPoints`. */
export function onGrid(
  xPoints: Float64Array,
  yPoints: Float64Array,
  times: Float64Array,
  x: number,
  y: number,
): number {
  const row = segmentOf(xPoints, x)
  const column = segmentOf(yPoints, y)
  const at = row * yPoints.length + column
  const below = between(yPoints, column, y, times[at]!, times[at + 1]!)
  const next = at + yPoints.length
  return between(xPoints, row, x, below, between(yPoints, column, y, times[next]!, times[next + 1]!))
}

/** The segment that `x` is in, or whose line leads to it. */
function segmentOf(points: Float64Array, x: number): number {
  let low = 0
  let high = points.length - 2
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (points[middle]! <= x) low = middle
    else high = middle - 1
  }
  return low
}

function between(points: Float64Array, index: number, x: number, first: number, second: number): number {
  const start = points[index]!
  return first + ((second - first) * (x - start)) / (points[index + 1]! - start)
}
