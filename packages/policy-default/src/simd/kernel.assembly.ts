// The default cost of two rows at a time, for requests that use the cache group and have no shared-cache hits; all others run
// the plain loop of ../kernel.ts, which this equals bit for bit. Built into kernel-module.ts by `pnpm run build:simd`.
// Offsets are bytes in the imported memory; `end` is 8 x an even number of rows, and nothing at or past it is touched. A row
// without load, or without cache state, has NaN in those columns.
//
// params, doubles: 0 promptTokens, 1 blockSize, 2 1 / blockSize, 3 requestBlocks, 4 divisor of the decay, 5 1 / that divisor,
// 6 credit, 7 decay weight, 8 scale, 9 host weight, 10 disk weight, 11 request weight, 12 affinity weight, 13 smallest prefill

/** NaN -> 0 where `masked`. */
@inline
function known(value: v128, masked: bool): v128 {
  return masked ? v128.and(value, f64x2.eq(value, value)) : value
}

@inline
function positive(value: v128): v128 {
  return f64x2.pmax(f64x2.splat(0), value)
}

/** `value / divisor`, by multiplication where the reciprocal is exact. */
@inline
function divided(value: v128, divisor: v128, reciprocal: v128, exact: bool): v128 {
  return exact ? f64x2.mul(value, reciprocal) : f64x2.div(value, divisor)
}

/**
 * Costs without request, affinity and taint terms. All flags are constants where this is inlined: `masked` = rows may be unknown,
 * `exact` = block size and divisor of the decay are powers of two, `subtracts` = cache-aware decode. The parameters are read
 * once: for all that the compiler knows, a store could change them.
 */
@inline
function scorePairs(
  params: usize, masked: bool, decays: bool, exact: bool, subtracts: bool, end: usize,
  active: usize, estimateTokens: usize, device: usize, host: usize, disk: usize, decode: usize, costs: usize
): void {
  const prompt = v128.load64_splat(params)
  const blockSize = v128.load64_splat(params, 8)
  const perBlockSize = v128.load64_splat(params, 16)
  const divisor = v128.load64_splat(params, 32)
  const perDivisor = v128.load64_splat(params, 40)
  const c0 = v128.load64_splat(params, 48)
  const decayWeight = v128.load64_splat(params, 56)
  const scale = v128.load64_splat(params, 64)
  const hostWeight = v128.load64_splat(params, 72)
  const diskWeight = v128.load64_splat(params, 80)
  const minimum = v128.load64_splat(params, 104)
  const one = f64x2.splat(1)
  for (let at: usize = 0; at < end; at += 16) {
    const prefill = v128.load(active + at)
    let weighted = c0
    if (decays) {
      const above = positive(f64x2.sub(known(prefill, masked), minimum))
      const share = divided(divided(above, blockSize, perBlockSize, exact), divisor, perDivisor, exact)
      weighted = f64x2.mul(c0, f64x2.div(one, f64x2.add(one, f64x2.mul(decayWeight, share))))
    }
    let credit = f64x2.mul(weighted, known(v128.load(device + at), masked))
    credit = f64x2.add(credit, f64x2.mul(hostWeight, known(v128.load(host + at), masked)))
    credit = f64x2.add(credit, f64x2.mul(diskWeight, known(v128.load(disk + at), masked)))
    const blocksThere = known(v128.load(decode + at), masked)
    if (subtracts) {
      v128.store(costs + at, positive(f64x2.sub(blocksThere, credit)))
      continue
    }
    const cached = known(v128.load(estimateTokens + at), masked)
    let raw = f64x2.add(f64x2.add(prefill, positive(f64x2.sub(prompt, cached))), cached)
    if (masked) raw = v128.bitselect(raw, prompt, f64x2.eq(prefill, prefill))
    const uncredited = positive(f64x2.sub(divided(raw, blockSize, perBlockSize, exact), credit))
    v128.store(costs + at, f64x2.add(f64x2.mul(scale, uncredited), blocksThere))
  }
}

/** `mode`: 0 every row known, exact, no decay; 1 the same with decay; 2 and 3 their general forms; 4 cache-aware decode. */
export function score(
  params: usize, mode: i32, end: usize,
  active: usize, estimateTokens: usize, device: usize, host: usize, disk: usize, decode: usize, costs: usize
): void {
  if (mode == 0) scorePairs(params, false, false, true, false, end, active, estimateTokens, device, host, disk, decode, costs)
  else if (mode == 1) scorePairs(params, false, true, true, false, end, active, estimateTokens, device, host, disk, decode, costs)
  else if (mode == 2) scorePairs(params, true, false, false, false, end, active, estimateTokens, device, host, disk, decode, costs)
  else if (mode == 3) scorePairs(params, true, true, false, false, end, active, estimateTokens, device, host, disk, decode, costs)
  else scorePairs(params, true, false, false, true, end, active, estimateTokens, device, host, disk, decode, costs)
}

/** costs = costs + request weight x requests + affinity weight x max(0, blocks - device). */
export function addRequestAndAffinity(params: usize, end: usize, requests: usize, device: usize, costs: usize): void {
  const blocks = v128.load64_splat(params, 24)
  const requestWeight = v128.load64_splat(params, 88)
  const affinityWeight = v128.load64_splat(params, 96)
  for (let at: usize = 0; at < end; at += 16) {
    const withRequests = f64x2.add(v128.load(costs + at), f64x2.mul(requestWeight, known(v128.load(requests + at), true)))
    const uncovered = positive(f64x2.sub(blocks, known(v128.load(device + at), true)))
    v128.store(costs + at, f64x2.add(withRequests, f64x2.mul(affinityWeight, uncovered)))
  }
}

/** costs = costs x taints. */
export function multiply(end: usize, taints: usize, costs: usize): void {
  for (let at: usize = 0; at < end; at += 16) {
    v128.store(costs + at, f64x2.mul(v128.load(costs + at), v128.load(taints + at)))
  }
}

/** Writes the smallest active prefill of `count` rows to `out`; a row without a projection counts 0. */
export function minimumPrefill(active: usize, count: i32, out: usize): void {
  let best = f64x2.splat(Infinity)
  const end = <usize>(count & ~1) << 3
  let at: usize = 0
  for (; at < end; at += 16) best = f64x2.pmin(best, known(v128.load(active + at), true))
  if ((count & 1) != 0) best = f64x2.pmin(best, known(v128.load64_splat(active + at), true))
  const first = f64x2.extract_lane(best, 0)
  const second = f64x2.extract_lane(best, 1)
  store<f64>(out, second < first ? second : first)
}

/** First of the four-row groups from `from` on that holds a cost <= the double at `best`; `count & ~3` when none does. */
export function nextGroupAtMost(costs: usize, from: i32, count: i32, best: usize): i32 {
  const bound = v128.load64_splat(best)
  const groups = count & ~3
  for (let row = from; row < groups; row += 4) {
    const at = costs + ((<usize>row) << 3)
    const low = f64x2.le(v128.load(at), bound)
    const high = f64x2.le(v128.load(at, 16), bound)
    if (v128.any_true(v128.or(low, high))) return row
  }
  return groups
}
