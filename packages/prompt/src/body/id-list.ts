import { IdRun } from '../simd/id-run.js'
import { skipSpace } from './json-space.js'

/** The list is not one of one or more plain whole numbers below 2^32. */
export const noIds = -1
/** The list has more ids than there is room for. */
export const noRoom = -2

/** Shorter lists cost less without a call of the kernel. */
const longListBytes = 256

const idRun = new IdRun()

/** Ids that one list is read into, kept for the next list; more are given back. */
const keptIds = 1 << 20
const fewIds = 4096
let scratch = new Uint32Array(fewIds)

/**
 * Reads a JSON list of one or more plain whole numbers below 2^32, whose bracket stands at `start`: a copy of them, and the end of the
 * list. `undefined` = it is another list, or a faulty one.
 */
export function readTokenIds(
  bytes: Uint8Array,
  start: number,
): { readonly ids: Uint32Array<ArrayBuffer>; readonly end: number } | undefined {
  let end = readIds(bytes, start + 1, scratch, 0)
  for (; end === noRoom; end = readIds(bytes, start + 1, scratch, 0))
    scratch = new Uint32Array(2 * scratch.length)
  const ids = end === noIds ? undefined : scratch.slice(1, 1 + scratch[0]!)
  if (scratch.length > keptIds) scratch = new Uint32Array(fewIds)
  return ids && { ids, end }
}

/**
 * Reads a list of token ids whose bracket stands before `start`: their count to `ids[first]`, they themselves behind it. Returns the
 * end of the list, `noIds` or `noRoom`. Allocates nothing.
 */
export function readIds(
  bytes: Uint8Array,
  start: number,
  ids: Uint32Array,
  first: number,
  run = idRun,
): number {
  // Local, because a loop reads a constant of the module again and again.
  const comma = 0x2c
  const zero = 0x30
  const { length } = bytes
  // Numbers and commas then end before the bytes do, so that the loop need not look for their end.
  const last = bytes[length - 1]! - zero
  if (start >= length || isDigit(last) || last === comma - zero) return noIds
  let at = start
  let used = first + 1
  // Lists of whatever else begin otherwise, and have nothing to copy.
  if (length - start >= longListBytes && isDigit(bytes[start]! - zero)) {
    used += run.read(bytes, start, ids, used)
    at = run.end
  }
  for (;;) {
    if (used === ids.length) return noRoom
    let digit = bytes[at]! - zero
    if (digit < 0) {
      at = skipSpace(bytes, at)
      if (at === length) return noIds
      digit = bytes[at]! - zero
    }
    if (!isDigit(digit)) return noIds
    const from = at
    // Whole below ten digits; others are read again.
    let value = digit
    digit = bytes[++at]! - zero
    if (value === 0 && isDigit(digit)) return noIds
    while (isDigit(digit)) {
      value = (10 * value + digit) | 0
      digit = bytes[++at]! - zero
    }
    if (at - from < 10) ids[used++] = value
    else {
      const large = at - from === 10 ? tenDigits(bytes, from) : Infinity
      if (large > 0xffff_ffff) return noIds
      ids[used++] = large
    }
    if (digit !== comma - zero) {
      at = skipSpace(bytes, at)
      if (bytes[at] === 0x5d) {
        ids[first] = used - first - 1
        return at + 1
      }
      if (bytes[at] !== comma) return noIds
    }
    at++
  }
}

function tenDigits(bytes: Uint8Array, start: number): number {
  let value = 0
  for (let at = start; at < start + 10; at++) value = 10 * value + bytes[at]! - 0x30
  return value
}

function isDigit(digit: number): boolean {
  return digit >>> 0 <= 9
}
