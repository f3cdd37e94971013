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

/** Writes the lowest cost to `out` and the highest to `out + 8`; `count` >= 1. */
export function extremes(costs: usize, count: i32, out: usize): void {
  let low = v128.load64_splat(costs)
  let high = low
  const end = <usize>(count & ~1) << 3
  let at: usize = 0
  for (; at < end; at += 16) {
    const pair = v128.load(costs + at)
    low = f64x2.pmin(low, pair)
    high = f64x2.pmax(high, pair)
  }
  if ((count & 1) != 0) {
    const last = v128.load64_splat(costs + at)
    low = f64x2.pmin(low, last)
    high = f64x2.pmax(high, last)
  }
  const low1 = f64x2.extract_lane(low, 1)
  const high1 = f64x2.extract_lane(high, 1)
  store<f64>(out, low1 < f64x2.extract_lane(low, 0) ? low1 : f64x2.extract_lane(low, 0))
  store<f64>(out, high1 > f64x2.extract_lane(high, 0) ? high1 : f64x2.extract_lane(high, 0), 8)
}

/** e to the power x for x <= 0, the bits of the SDK's portableExp: fdlibm 5.3, e_exp.c. */
@inline
function expNonPositive(x: v128): v128 {
  const reduces = f64x2.le(x, f64x2.splat(-0.3465735912322998))
  const steps = f64x2.sub(f64x2.mul(f64x2.splat(1.44269504088896338700), x), f64x2.splat(0.5))
  const k = i32x4.trunc_sat_f64x2_s_zero(v128.and(steps, reduces))
  const kAsDouble = f64x2.convert_low_i32x4_s(k)
  const high = f64x2.sub(x, f64x2.mul(kAsDouble, f64x2.splat(6.93147180369123816490e-1)))
  const low = f64x2.mul(kAsDouble, f64x2.splat(1.90821492927058770002e-10))
  const r = f64x2.sub(high, low)
  const t = f64x2.mul(r, r)
  let p = f64x2.add(f64x2.splat(-1.65339022054652515390e-6), f64x2.mul(t, f64x2.splat(4.13813679705723846039e-8)))
  p = f64x2.add(f64x2.splat(6.61375632143793436117e-5), f64x2.mul(t, p))
  p = f64x2.add(f64x2.splat(-2.77777777770155933842e-3), f64x2.mul(t, p))
  p = f64x2.add(f64x2.splat(1.66666666666666019037e-1), f64x2.mul(t, p))
  const c = f64x2.sub(r, f64x2.mul(t, p))
  const quotient = f64x2.div(f64x2.mul(r, c), f64x2.sub(f64x2.splat(2), c))
  const y = f64x2.sub(f64x2.splat(1), f64x2.sub(f64x2.sub(low, quotient), high))
  // Below 2^-1021 the scale is applied in two steps.
  const wide = i64x2.extend_low_i32x4_s(k)
  const isDeep = i64x2.lt_s(wide, i64x2.splat(-1021))
  const exponent = i64x2.add(wide, v128.bitselect(i64x2.splat(2023), i64x2.splat(1023), isDeep))
  const scaled = f64x2.mul(y, i64x2.shl(exponent, 52))
  const deep = f64x2.mul(scaled, f64x2.splat(9.332636185032189e-302))
  let result = v128.bitselect(deep, scaled, isDeep)
  result = v128.andnot(result, f64x2.lt(x, f64x2.splat(-745.1332191019411)))
  const isTiny = f64x2.gt(x, f64x2.splat(-3.725290298461914e-9))
  return v128.bitselect(f64x2.add(f64x2.splat(1), x), result, isTiny)
}

/** weights = exp(costs x scale - shift); the sum in row order to `out`. params: 0 scale, 1 shift. */
export function exponentials(params: usize, costs: usize, count: i32, weights: usize, out: usize): void {
  const scale = v128.load64_splat(params)
  const shift = v128.load64_splat(params, 8)
  const end = <usize>(count & ~1) << 3
  let sum: f64 = 0
  let at: usize = 0
  for (; at < end; at += 16) {
    const pair = expNonPositive(f64x2.sub(f64x2.mul(v128.load(costs + at), scale), shift))
    v128.store(weights + at, pair)
    sum += f64x2.extract_lane(pair, 0)
    sum += f64x2.extract_lane(pair, 1)
  }
  if ((count & 1) != 0) {
    const last = expNonPositive(f64x2.sub(f64x2.mul(v128.load64_splat(costs + at), scale), shift))
    store<f64>(weights + at, f64x2.extract_lane(last, 0))
    sum += f64x2.extract_lane(last, 0)
  }
  store<f64>(out, sum)
}

/** First row whose cumulative weight / sum reaches the uniform, else the last. params: 0 sum, 1 uniform. */
export function pickByProbability(params: usize, weights: usize, count: i32): i32 {
  const sum = v128.load64_splat(params)
  const uniform = load<f64>(params, 8)
  const pairs = count & ~1
  let cumulative: f64 = 0
  for (let row = 0; row < pairs; row += 2) {
    const pair = f64x2.div(v128.load(weights + ((<usize>row) << 3)), sum)
    cumulative += f64x2.extract_lane(pair, 0)
    if (cumulative >= uniform) return row
    cumulative += f64x2.extract_lane(pair, 1)
    if (cumulative >= uniform) return row + 1
  }
  return count - 1
}
