import { bodyError } from './body-errors.js'

const backslash = 0x5c
const letterU = 0x75
const slash = 0x2f
const hexDigits = Buffer.from('0123456789abcdef')

/** Second bytes of two-byte escapes, by the code unit that they stand for; 0 = there is none. */
const letters = new Uint8Array(0x80)
for (const [unit, letter] of ['\bb', '\tt', '\nn', '\ff', '\rr', '""', '\\\\']) {
  letters[unit!.charCodeAt(0)] = letter!.charCodeAt(0)
}

/** The code unit of the escape `\uXXXX` whose backslash stands at `at`. Throws `PROMPT_BODY_INVALID`. */
export function unitAt(bytes: Uint8Array, at: number): number {
  let unit = 0
  for (let digit = at + 2; digit < at + 6; digit++) {
    const value = digit < bytes.length ? hexValue(bytes[digit]!) : -1
    if (value < 0) throw bodyError(bytes, digit, 'a hexadecimal digit')
    unit = 16 * unit + value
  }
  return unit
}

function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

/** First half of a surrogate pair. */
export function isHighHalf(unit: number): boolean {
  return (unit & 0xfc00) === 0xd800
}

/** Second half of a surrogate pair. */
export function isLowHalf(unit: number): boolean {
  return (unit & 0xfc00) === 0xdc00
}

/** Bytes of a code unit in the shortest form; a half of a pair counts as if it stood alone. */
export function shortestBytes(unit: number): number {
  if (unit >= 0x80) return unit < 0x800 ? 2 : 3
  if (letters[unit] !== 0) return 2
  return unit < 0x20 ? 6 : 1
}

/** Takes bytes. */
export interface ByteTarget {
  byte(value: number): void
  /** Bytes `[start, end)` of a list. */
  copy(bytes: Uint8Array, start: number, end: number): void
}

/**
 * Writes what a string that was read without fault has between its quotes in the shortest form: as `JSON.stringify` writes well-formed
 * text. A surrogate that stands alone becomes U+FFFD.
 */
export function writeShortest(bytes: Uint8Array, start: number, end: number, target: ByteTarget): void {
  for (let at = start; at < end;) {
    if (bytes[at] !== backslash) {
      const from = at
      while (at < end && bytes[at] !== backslash) at++
      target.copy(bytes, from, at)
    } else if (bytes[at + 1] === letterU) {
      const unit = unitAt(bytes, at)
      at += 6
      let point = unit
      if (isHighHalf(unit) || isLowHalf(unit)) {
        const hasNext = isHighHalf(unit) && at < end && bytes[at] === backslash && bytes[at + 1] === letterU
        const second = hasNext ? unitAt(bytes, at) : 0
        point = 0xfffd
        if (isLowHalf(second)) {
          point = 0x1_0000 + ((unit & 0x3ff) << 10) + (second & 0x3ff)
          at += 6
        }
      }
      writePoint(point, target)
    } else {
      // A needless escape stands for a slash.
      if (bytes[at + 1] !== slash) target.byte(backslash)
      target.byte(bytes[at + 1]!)
      at += 2
    }
  }
}

function writePoint(point: number, target: ByteTarget): void {
  if (point < 0x80) {
    const letter = letters[point]!
    if (letter === 0 && point >= 0x20) return target.byte(point)
    target.byte(backslash)
    if (letter !== 0) return target.byte(letter)
    for (const byte of [letterU, 0x30, 0x30, hexDigits[point >> 4]!, hexDigits[point & 15]!])
      target.byte(byte)
    return
  }
  if (point < 0x800) target.byte(0xc0 | (point >> 6))
  else {
    if (point < 0x1_0000) target.byte(0xe0 | (point >> 12))
    else {
      target.byte(0xf0 | (point >> 18))
      target.byte(0x80 | ((point >> 12) & 0x3f))
    }
    target.byte(0x80 | ((point >> 6) & 0x3f))
  }
  target.byte(0x80 | (point & 0x3f))
}
