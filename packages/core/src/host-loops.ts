import { instantiateKernel } from '@router/sdk'
import type { Column, ColumnMemory } from './column-memory.js'
import { moduleHex } from './simd/host-module.js'

type Doubles = Column<Float64Array>

/**
 * Loops of the host over whole columns: one implementation in WebAssembly SIMD, one plain, equal bit for bit. The maximum of
 * a `reuse` column is at least 0, ignores NaN, and goes to `out[0]`.
 */
export interface HostLoops {
  /** totals = (first ? +0 : totals) + contributions, contributions = NaN; first row whose total is not finite, or -1. */
  readonly accumulate: (contributions: Doubles, totals: Doubles, count: number, first: boolean) => number
  /** `accumulate` of a first scorer and `maximumReuse` in one pass. */
  readonly accumulateWithReuse: (
    contributions: Doubles,
    totals: Doubles,
    count: number,
    reuse: Doubles,
    out: Doubles,
  ) => number
  readonly maximumReuse: (count: number, reuse: Doubles, out: Doubles) => void
  /** target[i] = source[i] + addend; an integer within 32 bits. */
  readonly add: (source: Doubles, addend: number, target: Doubles, count: number) => void
  /** target[i] = source[rows[i]]; both columns of one type. */
  readonly gather: (rows: Column<Uint32Array>, count: number, source: Column, target: Column) => void
  /** target[to + i] = source[from + i]; both columns of one type. */
  readonly copyRun: (source: Column, from: number, target: Column, to: number, count: number) => void
}

interface HostKernel {
  readonly accumulate: (contributions: number, totals: number, count: number, first: number) => number
  readonly accumulateWithReuse: (
    contributions: number,
    totals: number,
    count: number,
    reuse: number,
    out: number,
  ) => number
  readonly maximumReuse: (count: number, reuse: number, out: number) => void
  readonly add: (source: number, addend: number, target: number, count: number) => void
  readonly gather64: (rows: number, count: number, source: number, target: number) => void
  readonly gather32: (rows: number, count: number, source: number, target: number) => void
  readonly gather8: (rows: number, count: number, source: number, target: number) => void
  readonly copy: (source: number, target: number, bytes: number) => void
}

/** The fastest loops that this memory allows. All columns passed to them must lie in `memory`. */
export function hostLoopsFor(memory: ColumnMemory): HostLoops {
  const kernel = instantiateKernel<HostKernel>(moduleHex, memory.webAssemblyMemory)
  return kernel === undefined ? plainHostLoops(memory) : simdHostLoops(kernel)
}

function simdHostLoops(kernel: HostKernel): HostLoops {
  return {
    accumulate: (contributions, totals, count, first) =>
      kernel.accumulate(contributions.offset, totals.offset, count, first ? 1 : 0),
    accumulateWithReuse: (contributions, totals, count, reuse, out) =>
      kernel.accumulateWithReuse(contributions.offset, totals.offset, count, reuse.offset, out.offset),
    maximumReuse: (count, reuse, out) => kernel.maximumReuse(count, reuse.offset, out.offset),
    add: (source, addend, target, count) => kernel.add(source.offset, addend, target.offset, count),
    gather: (rows, count, source, target) => {
      if (source.width === 8) kernel.gather64(rows.offset, count, source.offset, target.offset)
      else if (source.width === 4) kernel.gather32(rows.offset, count, source.offset, target.offset)
      else kernel.gather8(rows.offset, count, source.offset, target.offset)
    },
    copyRun: (source, from, target, to, count) => {
      const width = source.width
      kernel.copy(source.offset + from * width, target.offset + to * width, count * width)
    },
  }
}

/** The same loops without WebAssembly. */
function plainHostLoops(memory: ColumnMemory): HostLoops {
  return {
    accumulate: (contributions, totals, count, first) =>
      accumulate(contributions.view, totals.view, count, first),
    accumulateWithReuse: (contributions, totals, count, reuse, out) =>
      accumulateWithReuse(
        memory.doubles,
        contributions.offset,
        totals.offset,
        reuse.offset,
        out.offset,
        count,
      ),
    maximumReuse: (count, reuse, out) => maximumReuse(reuse.view, count, out.view),
    add: (source, addend, target, count) => addTo(source.view, addend, target.view, count),
    // By width and over the whole buffer: one loop that met columns of several types would be ten times slower.
    gather: (rows, count, source, target) => {
      const { width } = source
      const { doubles, words, bytes } = memory
      if (width === 8) gatherDoubles(doubles, rows.view, count, source.offset >> 3, target.offset >> 3)
      else if (width === 4) gatherWords(words, rows.view, count, source.offset >> 2, target.offset >> 2)
      else gatherBytes(bytes, rows.view, count, source.offset, target.offset)
    },
    copyRun: (source, from, target, to, count) => {
      const { width } = source
      const start = source.offset + from * width
      memory.bytes.copyWithin(target.offset + to * width, start, start + count * width)
    },
  }
}

function gatherDoubles(all: Float64Array, rows: Uint32Array, count: number, from: number, to: number): void {
  for (let index = 0; index < count; index++) all[to + index] = all[from + rows[index]!]!
}

function gatherWords(all: Uint32Array, rows: Uint32Array, count: number, from: number, to: number): void {
  for (let index = 0; index < count; index++) all[to + index] = all[from + rows[index]!]!
}

function gatherBytes(all: Uint8Array, rows: Uint32Array, count: number, from: number, to: number): void {
  for (let index = 0; index < count; index++) all[to + index] = all[from + rows[index]!]!
}

/** Four rows a turn: what the engine loads anew each turn is shared. */
function addTo(source: Float64Array, addend: number, target: Float64Array, count: number): void {
  const fours = count & ~3
  for (let row = 0; row < fours; row += 4) {
    const first = source[row]! + addend
    const second = source[row + 1]! + addend
    const third = source[row + 2]! + addend
    target[row + 3] = source[row + 3]! + addend
    target[row] = first
    target[row + 1] = second
    target[row + 2] = third
  }
  for (let row = fours; row < count; row++) target[row] = source[row]! + addend
}

// Two rows at a time: a single running sum or maximum waits for itself.

function accumulate(
  contributions: Float64Array,
  totals: Float64Array,
  count: number,
  first: boolean,
): number {
  const pairs = count & ~1
  let bad = 0
  let otherBad = 0
  for (let row = 0; row < pairs; row += 2) {
    const total = (first ? 0 : totals[row]!) + contributions[row]!
    const other = (first ? 0 : totals[row + 1]!) + contributions[row + 1]!
    totals[row] = total
    totals[row + 1] = other
    bad += total - total
    otherBad += other - other
  }
  if (pairs < count) {
    const total = (first ? 0 : totals[pairs]!) + contributions[pairs]!
    totals[pairs] = total
    bad += total - total
  }
  contributions.fill(Number.NaN, 0, count)
  if (bad + otherBad === 0) return -1
  for (let row = 0; row < count; row++) if (totals[row]! - totals[row]! !== 0) return row
  return -1
}

function maximumReuse(reuse: Float64Array, count: number, out: Float64Array): void {
  const pairs = count & ~1
  let best = 0
  let otherBest = 0
  for (let row = 0; row < pairs; row += 2) {
    if (reuse[row]! > best) best = reuse[row]!
    if (reuse[row + 1]! > otherBest) otherBest = reuse[row + 1]!
  }
  if (pairs < count && reuse[pairs]! > best) best = reuse[pairs]!
  out[0] = best > otherBest ? best : otherBest
}

/**
 * Offsets in bytes. One buffer and four rows a turn: what the engine checks and loads anew each turn is shared by four rows and three
 * columns, which halves the time.
 */
function accumulateWithReuse(
  doubles: Float64Array,
  contributionsAt: number,
  totalsAt: number,
  reuseAt: number,
  outAt: number,
  count: number,
): number {
  const contributions = contributionsAt >> 3
  const totals = totalsAt >> 3
  const reuse = reuseAt >> 3
  const fours = count & ~3
  let bad = 0
  let otherBad = 0
  let best = 0
  let otherBest = 0
  for (let row = 0; row < fours; row += 4) {
    const total0 = 0 + doubles[(contributions + row) | 0]!
    const total1 = 0 + doubles[(contributions + row + 1) | 0]!
    const total2 = 0 + doubles[(contributions + row + 2) | 0]!
    const total3 = 0 + doubles[(contributions + row + 3) | 0]!
    doubles[(totals + row) | 0] = total0
    doubles[(totals + row + 1) | 0] = total1
    doubles[(totals + row + 2) | 0] = total2
    doubles[(totals + row + 3) | 0] = total3
    bad += total0 - total0
    otherBad += total1 - total1
    bad += total2 - total2
    otherBad += total3 - total3
    const reuse0 = doubles[(reuse + row) | 0]!
    const reuse1 = doubles[(reuse + row + 1) | 0]!
    const reuse2 = doubles[(reuse + row + 2) | 0]!
    const reuse3 = doubles[(reuse + row + 3) | 0]!
    if (reuse0 > best) best = reuse0
    if (reuse1 > otherBest) otherBest = reuse1
    if (reuse2 > best) best = reuse2
    if (reuse3 > otherBest) otherBest = reuse3
  }
  for (let row = fours; row < count; row++) {
    const total = 0 + doubles[contributions + row]!
    doubles[totals + row] = total
    bad += total - total
    if (doubles[reuse + row]! > best) best = doubles[reuse + row]!
  }
  doubles[outAt >> 3] = best > otherBest ? best : otherBest
  doubles.fill(Number.NaN, contributions, contributions + count)
  if (bad + otherBad === 0) return -1
  for (let row = 0; row < count; row++) {
    const total = doubles[totals + row]!
    if (total - total !== 0) return row
  }
  return -1
}
