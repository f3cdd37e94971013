import { instantiateKernel } from '@router/sdk'
import type { Column } from './column-memory.js'
import { moduleHex } from './simd/host-module.js'

type Doubles = Column<Float64Array>
/** The cache tiers of one set of columns. */
export type Tiers = { readonly device: Doubles; readonly host: Doubles; readonly disk: Doubles }

/**
 * Loops of the host over whole columns: one implementation in WebAssembly SIMD, one plain, equal bit for bit. *Reuse* is
 * device + host + disk of a row, blocks; its maximum is at least 0, ignores NaN, and goes to `out[0]`.
 */
export interface HostLoops {
  /** totals = (first ? +0 : totals) + contributions, contributions = NaN; first row whose total is not finite, or -1. */
  readonly accumulate: (contributions: Doubles, totals: Doubles, count: number, first: boolean) => number
  /** `accumulate` of a first scorer and `maximumReuse` in one pass. */
  readonly accumulateWithReuse: (
    contributions: Doubles,
    totals: Doubles,
    count: number,
    tiers: Tiers,
    out: Doubles,
  ) => number
  readonly maximumReuse: (count: number, tiers: Tiers, out: Doubles) => void
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
    device: number,
    host: number,
    disk: number,
    out: number,
  ) => number
  readonly maximumReuse: (count: number, device: number, host: number, disk: number, out: number) => void
  readonly gather64: (rows: number, count: number, source: number, target: number) => void
  readonly gather32: (rows: number, count: number, source: number, target: number) => void
  readonly gather8: (rows: number, count: number, source: number, target: number) => void
  readonly copy: (source: number, target: number, bytes: number) => void
}

/** The fastest loops that this memory allows. All columns passed to them must lie in `memory`. */
export function hostLoopsFor(memory: object | undefined): HostLoops {
  const kernel = instantiateKernel<HostKernel>(moduleHex, memory)
  return kernel === undefined ? plainHostLoops : simdHostLoops(kernel)
}

function simdHostLoops(kernel: HostKernel): HostLoops {
  return {
    accumulate: (contributions, totals, count, first) =>
      kernel.accumulate(contributions.offset, totals.offset, count, first ? 1 : 0),
    accumulateWithReuse: (contributions, totals, count, { device, host, disk }, out) =>
      kernel.accumulateWithReuse(
        contributions.offset,
        totals.offset,
        count,
        device.offset,
        host.offset,
        disk.offset,
        out.offset,
      ),
    maximumReuse: (count, { device, host, disk }, out) =>
      kernel.maximumReuse(count, device.offset, host.offset, disk.offset, out.offset),
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
export const plainHostLoops: HostLoops = {
  accumulate: (contributions, totals, count, first) =>
    accumulate(contributions.view, totals.view, count, first),
  accumulateWithReuse: (contributions, totals, count, tiers, out) => {
    maximumReuse(tiers.device.view, tiers.host.view, tiers.disk.view, count, out.view)
    return accumulate(contributions.view, totals.view, count, true)
  },
  maximumReuse: (count, { device, host, disk }, out) =>
    maximumReuse(device.view, host.view, disk.view, count, out.view),
  gather: (rows, count, source, target) => {
    const from = source.view
    const to = target.view
    const list = rows.view
    for (let index = 0; index < count; index++) to[index] = from[list[index]!]!
  },
  copyRun: (source, from, target, to, count) => {
    const read = source.view
    const written = target.view
    for (let index = 0; index < count; index++) written[to + index] = read[from + index]!
  },
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

function maximumReuse(
  device: Float64Array,
  host: Float64Array,
  disk: Float64Array,
  count: number,
  out: Float64Array,
): void {
  const pairs = count & ~1
  let best = 0
  let otherBest = 0
  for (let row = 0; row < pairs; row += 2) {
    const reuse = device[row]! + host[row]! + disk[row]!
    const other = device[row + 1]! + host[row + 1]! + disk[row + 1]!
    if (reuse > best) best = reuse
    if (other > otherBest) otherBest = other
  }
  if (pairs < count) {
    const reuse = device[pairs]! + host[pairs]! + disk[pairs]!
    if (reuse > best) best = reuse
  }
  out[0] = best > otherBest ? best : otherBest
}
