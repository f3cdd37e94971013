const mostDigits = 19
const lowerDigits = 10
// 10^10 = 2 x 2^32 + this.
const tenPower = 1_410_065_408
const half = 0x8000_0000

/**
 * Reads a signed whole number of 64 bits from the bytes of a JSON number, to the words `out[index]` (low) and `out[index + 1]` (high).
 * False for every other number; nothing is written then. Allocates nothing.
 */
export function readSignedHash(
  bytes: Uint8Array,
  start: number,
  end: number,
  out: Uint32Array,
  index: number,
): boolean {
  const isNegative = bytes[start] === 0x2d
  const first = isNegative ? start + 1 : start
  if (end - first > mostDigits) return false
  const split = Math.max(first, end - lowerDigits)
  let upper = 0
  let lower = 0
  for (let at = first; at < end; at++) {
    const digit = bytes[at]! - 0x30
    // A point or an exponent.
    if (digit < 0 || digit > 9) return false
    if (at < split) upper = 10 * upper + digit
    else lower = 10 * lower + digit
  }
  // upper x 10^10 + lower, in parts that a double holds.
  const upperProduct = (upper >>> 15) * tenPower
  const sum = (upperProduct % 0x2_0000) * 0x8000 + (upper & 0x7fff) * tenPower + lower
  const low = sum >>> 0
  const high = 2 * upper + Math.floor(upperProduct / 0x2_0000) + Math.floor(sum / 0x1_0000_0000)
  if (high > half || (high === half && !(isNegative && low === 0))) return false
  // No integer to the readers of integers.
  if (isNegative && high === 0 && low === 0) return false
  out[index] = isNegative ? -low : low
  out[index + 1] = isNegative ? (low === 0 ? -high : ~high) : high
  return true
}
