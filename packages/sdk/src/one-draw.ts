import type { WyRand } from './wyrand.js'

// The chooser that takes exactly one u64 per decision, whatever happens: after `random.step()`, both read the same draw, so
// that the position of the stream does not depend on the path taken.

const exactCount = 2 ** 21

/** Index in `[0, count)` from the last draw: `floor(draw x count / 2^64)`, `1 <= count <= 2^53`. Allocates nothing up to 2^21. */
export function oneDrawIndex(random: WyRand, count: number): number {
  if (count > exactCount) {
    return Number((((BigInt(random.high) << 32n) | BigInt(random.low)) * BigInt(count)) >> 64n)
  }
  return Math.floor((random.high * count + Math.floor((random.low * count) / 2 ** 32)) / 2 ** 32)
}

/** Uniform double in `[0, 1)` with 53 bits from the last draw: `(draw >> 11) / 2^53`. Allocates nothing. */
export function oneDrawUniform(random: WyRand): number {
  return (random.high * 2 ** 21 + (random.low >>> 11)) / 2 ** 53
}
