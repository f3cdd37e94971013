// Positions of the bytes that end or break a run of text in a JSON string. Built into special-bytes-module.ts by
// `pnpm run build:simd`; equal to the plain loop of special-bytes.ts.

/**
 * Writes `base` and the offset of each byte at `input` that is a quote, a backslash or a control character, in order, as 32-bit words
 * at `output`; their count. Reads whole vectors: what follows `length` up to a multiple of 16 must be no such byte.
 */
export function findSpecials(input: usize, length: i32, base: i32, output: usize): i32 {
  const quote = i8x16.splat(0x22)
  const backslash = i8x16.splat(0x5c)
  const space = i8x16.splat(0x20)
  let write = output
  for (let at = 0; at < length; at += 16) {
    const bytes = v128.load(input + at)
    const hits = v128.or(
      v128.or(i8x16.eq(bytes, quote), i8x16.eq(bytes, backslash)),
      i8x16.lt_u(bytes, space),
    )
    let mask = i8x16.bitmask(hits)
    while (mask !== 0) {
      store<i32>(write, base + at + ctz(mask))
      write += 4
      mask &= mask - 1
    }
  }
  return <i32>((write - output) >> 2)
}
