// Loops of the host over whole columns. Built into host-module.ts by `pnpm run build:simd`; equal to ../host-loops.ts bit for bit.
// Offsets are bytes in the imported memory. No function reads or writes at or past `count` entries.

/** NaN where `total` is not finite, else 0: added up, one register tells of any bad row. */
@inline
function badness(total: v128): v128 {
  return f64x2.mul(total, f64x2.splat(0))
}

/** One pair: totals = (first ? 0 : totals) + contributions, contributions = NaN. Returns the totals. */
@inline
function addPair(contributions: usize, totals: usize, at: usize, first: bool): v128 {
  const before = first ? f64x2.splat(0) : v128.load(totals + at)
  const total = f64x2.add(before, v128.load(contributions + at))
  v128.store(totals + at, total)
  v128.store(contributions + at, f64x2.splat(NaN))
  return total
}

/** `first` and `reuses` are constants where this is inlined. */
@inline
function addUp(
  contributions: usize, totals: usize, count: i32, first: bool,
  reuses: bool, reuse: usize, out: usize
): i32 {
  const end = <usize>count << 3
  const quads = <usize>(count & ~3) << 3
  let bad0 = f64x2.splat(0)
  let bad1 = f64x2.splat(0)
  let best0 = f64x2.splat(0)
  let best1 = f64x2.splat(0)
  let at: usize = 0
  for (; at < quads; at += 32) {
    bad0 = f64x2.add(bad0, badness(addPair(contributions, totals, at, first)))
    bad1 = f64x2.add(bad1, badness(addPair(contributions, totals, at + 16, first)))
    if (reuses) {
      best0 = f64x2.pmax(best0, v128.load(reuse + at))
      best1 = f64x2.pmax(best1, v128.load(reuse + at + 16))
    }
  }
  bad0 = f64x2.add(bad0, bad1)
  best0 = f64x2.pmax(best0, best1)
  let bad = f64x2.extract_lane(bad0, 0) + f64x2.extract_lane(bad0, 1)
  let best = f64x2.extract_lane(best0, 0)
  const other = f64x2.extract_lane(best0, 1)
  best = best < other ? other : best
  for (; at < end; at += 8) {
    const total = (first ? 0.0 : load<f64>(totals + at)) + load<f64>(contributions + at)
    store<f64>(totals + at, total)
    store<f64>(contributions + at, NaN)
    bad += total * 0
    if (reuses) {
      const last = load<f64>(reuse + at)
      best = best < last ? last : best
    }
  }
  if (reuses) store<f64>(out, best)
  if (bad == 0) return -1
  for (let row: i32 = 0; row < count; row++) {
    const total = load<f64>(totals + ((<usize>row) << 3))
    if (total - total != 0) return row
  }
  return -1
}

/** totals = (first ? 0 : totals) + contributions, contributions = NaN. Returns the first row whose total is not finite, or -1. */
export function accumulate(contributions: usize, totals: usize, count: i32, first: bool): i32 {
  return first
    ? addUp(contributions, totals, count, true, false, 0, 0)
    : addUp(contributions, totals, count, false, false, 0, 0)
}

/** `accumulate` of the first scorer, and in the same pass the largest `reuse` (at least 0, NaN ignored) to `out`. */
export function accumulateWithReuse(
  contributions: usize, totals: usize, count: i32, reuse: usize, out: usize
): i32 {
  return addUp(contributions, totals, count, true, true, reuse, out)
}

/** Writes the largest `reuse` (at least 0, NaN ignored) to `out`. */
export function maximumReuse(count: i32, reuse: usize, out: usize): void {
  let best = f64x2.splat(0)
  const pairs = <usize>(count & ~1) << 3
  let at: usize = 0
  for (; at < pairs; at += 16) best = f64x2.pmax(best, v128.load(reuse + at))
  let result = f64x2.extract_lane(best, 0)
  const other = f64x2.extract_lane(best, 1)
  result = result < other ? other : result
  if ((count & 1) != 0) {
    const last = load<f64>(reuse + at)
    result = result < last ? last : result
  }
  store<f64>(out, result)
}

/** target[i] = source[rows[i]] for 8-byte entries. */
export function gather64(rows: usize, count: i32, source: usize, target: usize): void {
  for (let i: i32 = 0; i < count; i++) {
    const row = load<u32>(rows + ((<usize>i) << 2))
    store<u64>(target + ((<usize>i) << 3), load<u64>(source + ((<usize>row) << 3)))
  }
}

/** target[i] = source[rows[i]] for 4-byte entries. */
export function gather32(rows: usize, count: i32, source: usize, target: usize): void {
  for (let i: i32 = 0; i < count; i++) {
    const row = load<u32>(rows + ((<usize>i) << 2))
    store<u32>(target + ((<usize>i) << 2), load<u32>(source + ((<usize>row) << 2)))
  }
}

/** target[i] = source[rows[i]] for 1-byte entries. */
export function gather8(rows: usize, count: i32, source: usize, target: usize): void {
  for (let i: i32 = 0; i < count; i++) {
    const row = load<u32>(rows + ((<usize>i) << 2))
    store<u8>(target + <usize>i, load<u8>(source + row))
  }
}

/** target[i] = source[i] + addend. */
export function add(source: usize, addend: i32, target: usize, count: i32): void {
  const addends = f64x2.splat(<f64>addend)
  const end = <usize>count << 3
  const quads = <usize>(count & ~3) << 3
  let at: usize = 0
  for (; at < quads; at += 32) {
    v128.store(target + at, f64x2.add(v128.load(source + at), addends))
    v128.store(target + at + 16, f64x2.add(v128.load(source + at + 16), addends))
  }
  for (; at < end; at += 8) store<f64>(target + at, load<f64>(source + at) + <f64>addend)
}

/** Copies `bytes` bytes: one run of rows of one column. */
export function copy(source: usize, target: usize, bytes: i32): void {
  memory.copy(target, source, bytes)
}
