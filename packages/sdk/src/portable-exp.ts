const powers = Float64Array.from({ length: 2047 }, (_, index) => 2 ** (index - 1023))

/**
 * `e` to the power `x`, the same bits in every JavaScript engine; `Math.exp` may differ in the last one, and a sampled choice must
 * not. Equal to V8's `Math.exp`.
 * @source fdlibm 5.3, e_exp.c: argument reduction by ln 2 and a Remez polynomial on [0, ln(2) / 2]; error below 1 ulp
 */
export function portableExp(x: number): number {
  // Constants of the function, not of the module: bundlers turn the latter into variables, which a loop then loads, checks and
  // unboxes at every use. And no `Math.E` or `Infinity`: a branch never taken that reads a global makes the result a boxed number.
  const ln2High = 6.931_471_803_691_238_164_9e-1
  const ln2Low = 1.908_214_929_270_587_700_02e-10
  const inverseLn2 = 1.442_695_040_888_963_387
  const c1 = 1.666_666_666_666_660_190_37e-1
  const c2 = -2.777_777_777_701_559_338_42e-3
  const c3 = 6.613_756_321_437_934_361_17e-5
  const c4 = -1.653_390_220_546_525_153_9e-6
  const c5 = 4.138_136_797_057_238_460_39e-8
  // The double with the high word 0x3fd62e43, just above ln(2) / 2: from here on the argument is reduced.
  const reduceFrom = 0.346_573_591_232_299_8
  const overflowAbove = 709.782_712_893_384
  const underflowBelow = -745.133_219_101_941_1
  const tiny = 2 ** -28
  if (x < tiny && x > -tiny) return 1 + x
  // The algorithm misses the last bit of e itself.
  if (x === 1) return 2.718_281_828_459_045
  if (x > overflowAbove) return x * 2 ** 1023
  if (x < underflowBelow) return 0
  const halfStep = x > 0 ? 0.5 : -0.5
  const k = x >= reduceFrom || x <= -reduceFrom ? Math.trunc(inverseLn2 * x + halfStep) : 0
  const high = x - k * ln2High
  const low = k * ln2Low
  const r = high - low
  const t = r * r
  const c = r - t * (c1 + t * (c2 + t * (c3 + t * (c4 + t * c5))))
  const y = 1 - (low - (r * c) / (2 - c) - high)
  if (k === 1024) return y * 2 * 2 ** 1023
  return k >= -1021 ? y * powers[k + 1023]! : y * powers[k + 2023]! * 2 ** -1000
}
