import { SpecialBytes, noPosition } from '../simd/special-bytes.js'
import { bodyError, bodyTooLarge } from './body-errors.js'
import { noIds, noRoom, readIds } from './id-list.js'
import { isHighHalf, isLowHalf, shortestBytes, unitAt } from './json-escapes.js'
import { skipSpace } from './json-space.js'
import { JsonTape, nodeKinds, nodeLimit } from './json-tape.js'

const { object, array, text, key, number, word, ids: idList } = nodeKinds
const none = -1

const quote = 0x22
const comma = 0x2c
const minus = 0x2d
const point = 0x2e
const zero = 0x30
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/** A key that canonical texts leave out. */
const cacheMark = '"cache_control"'

/** Bytes behind the backslash by what follows: 0 = no escape, 1 = the shortest form, 2 = a needless escape, 3 = four digits. */
const escapes = new Uint8Array(256)
for (const letter of '"\\bfnrt') escapes[letter.charCodeAt(0)] = 1
escapes[0x2f] = 2
escapes[0x75] = 3

/**
 * Reads JSON in UTF-8 to a tape and refuses what `JSON.parse` refuses; a byte order mark is passed over. Linear in the bytes, whatever
 * the nesting: there is no recursion. Bytes that are not UTF-8 pass in strings.
 */
export class JsonScanner {
  readonly tape = new JsonTape()
  readonly #specials: SpecialBytes
  #bytes: Uint8Array = new Uint8Array(0)
  // Where the bytes looked at end, and the next position to be asked for.
  #windowEnd = 0
  #nextSpecial = 0
  // What has no place in a canonical text, counted: white space, needless escapes, cache marks.
  #oddities = 0

  constructor(specials = new SpecialBytes()) {
    this.#specials = specials
  }

  /** Throws `PROMPT_BODY_INVALID`, `PROMPT_BODY_TOO_LARGE`; the tape then means nothing. */
  scan(bytes: Uint8Array): JsonTape {
    const { tape } = this
    tape.clear()
    this.#bytes = bytes
    this.#windowEnd = 0
    this.#specials.positions[0] = noPosition
    this.#nextSpecial = 0
    this.#oddities = 0
    try {
      this.#scanText(bytes, bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0)
    } finally {
      // The caller's; a reader that waits must not hold it.
      this.#bytes = new Uint8Array(0)
    }
    return tape
  }

  #scanText(bytes: Uint8Array, start: number): void {
    const { tape } = this
    let at = start
    let parent = none
    // Each turn reads one value and what follows it, up to the next value.
    for (;;) {
      if (tape.count >= nodeLimit) throw bodyTooLarge(nodeLimit)
      at = this.#skipSpace(at)
      const first = at < bytes.length ? bytes[at]! : none
      let isOpen = false
      if (first === quote) at = this.#string(at, text)
      else if (first === openBrace || first === openBracket) {
        const end = first === openBracket ? this.#ids(at) : noIds
        if (end !== noIds) at = end
        else {
          // Until it is closed, the place of its end holds what was odd before it.
          parent = tape.add(first === openBrace ? object : array, at, this.#oddities, parent)
          at = this.#skipSpace(at + 1)
          isOpen = bytes[at] !== (first === openBrace ? closeBrace : closeBracket)
        }
      } else if (first === minus || isDigit(first)) at = this.#number(at)
      else at = this.#word(at, first)
      // Closes what ends here.
      while (!isOpen) {
        at = this.#skipSpace(at)
        if (parent === none) {
          if (at < bytes.length) throw bodyError(bytes, at, 'the end')
          return
        }
        const isObject = tape.kind(parent) === object
        const byte = bytes[at]
        if (byte === (isObject ? closeBrace : closeBracket)) {
          const outer = tape.extra(parent)
          tape.close(parent, at + 1, tape.end(parent) === this.#oddities)
          parent = outer
        } else if (byte === comma) isOpen = true
        else throw bodyError(bytes, at, isObject ? '"," or "}"' : '"," or "]"')
        at++
      }
      if (tape.kind(parent) === object) at = this.#key(at)
    }
  }

  /** From before a key to behind its colon. */
  #key(start: number): number {
    const bytes = this.#bytes
    let at = this.#skipSpace(start)
    if (bytes[at] !== quote) throw bodyError(bytes, at, 'a key in double quotes')
    const end = this.#string(at, key)
    if (end - at === cacheMark.length && isAt(bytes, at, cacheMark)) this.#oddities++
    at = this.#skipSpace(end)
    if (bytes[at] !== colon) throw bodyError(bytes, at, '":"')
    return at + 1
  }

  /** Adds the string or key that starts at a quote; returns its end. */
  #string(start: number, kind: number): number {
    const bytes = this.#bytes
    const { positions } = this.#specials
    let next = this.#nextSpecial
    // Positions before this one are behind us.
    let from = start + 1
    let saved = 0
    let isShortest = true
    for (;;) {
      while (positions[next]! < from) next++
      const at = positions[next]!
      if (at === noPosition) {
        from = Math.max(from, this.#windowEnd)
        if (from >= bytes.length) throw bodyError(bytes, bytes.length, 'the end of a string')
        this.#windowEnd = this.#specials.find(bytes, from)
        next = 0
        continue
      }
      const byte = bytes[at]!
      if (byte === quote) {
        this.#nextSpecial = next + 1
        this.tape.add(isShortest ? kind : kind + 1, start, at + 1, saved)
        if (!isShortest) this.#oddities++
        return at + 1
      }
      if (byte !== backslash)
        throw bodyError(bytes, at, 'an escape: a control character cannot stand in a string')
      const escape = at + 1 < bytes.length ? escapes[bytes[at + 1]!]! : 0
      from = at + 2
      if (escape === 1) continue
      if (escape === 0) throw bodyError(bytes, at + 1, 'one of "\\/bfnrtu behind a backslash')
      isShortest = false
      if (escape === 2) saved++
      else {
        const unit = unitAt(bytes, at)
        saved += 6 - shortestBytes(unit)
        from = at + 6
        if (isHighHalf(unit) && bytes[from] === backslash && bytes[from + 1] === 0x75) {
          // A pair is four bytes of UTF-8 in place of twice three.
          if (isLowHalf(unitAt(bytes, from))) saved += 2
        }
      }
    }
  }

  #skipSpace(start: number): number {
    const end = skipSpace(this.#bytes, start)
    if (end !== start) this.#oddities++
    return end
  }

  #number(start: number): number {
    const bytes = this.#bytes
    let at = start
    if (bytes[at] === minus) at++
    if (bytes[at] === zero) at++
    else at = this.#digits(at)
    if (bytes[at] === point) at = this.#digits(at + 1)
    if (bytes[at] === 0x65 || bytes[at] === 0x45) {
      at++
      if (bytes[at] === 0x2b || bytes[at] === minus) at++
      at = this.#digits(at)
    }
    this.tape.add(number, start, at, 0)
    return at
  }

  #digits(start: number): number {
    const bytes = this.#bytes
    let at = start
    while (at < bytes.length && isDigit(bytes[at]!)) at++
    if (at === start) throw bodyError(bytes, at, 'a digit')
    return at
  }

  #word(start: number, first: number): number {
    const bytes = this.#bytes
    const expected = first === 0x74 ? 'true' : first === 0x66 ? 'false' : first === 0x6e ? 'null' : undefined
    if (expected === undefined) throw bodyError(bytes, start, 'a value')
    for (let index = 1; index < expected.length; index++) {
      if (bytes[start + index] !== expected.charCodeAt(index))
        throw bodyError(bytes, start + index, `the rest of "${expected}"`)
    }
    this.tape.add(word, start, start + expected.length, 0)
    return start + expected.length
  }

  /** The end of a list of plain whole numbers, whose values then are in the tape; `noIds` for every other list, also a faulty one. */
  #ids(start: number): number {
    const { tape } = this
    const first = tape.idsUsed
    if (first === tape.ids.length) tape.growIds()
    for (;;) {
      const end = readIds(this.#bytes, start + 1, tape.ids, first)
      if (end !== noRoom) {
        if (end !== noIds) {
          tape.idsUsed = first + 1 + tape.ids[first]!
          tape.add(idList, start, end, first)
          // It may have white space.
          this.#oddities++
        }
        return end
      }
      tape.growIds()
    }
  }
}

/** Whether a text of ASCII stands there. */
function isAt(bytes: Uint8Array, start: number, text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    if (bytes[start + index] !== text.charCodeAt(index)) return false
  }
  return true
}

function isDigit(byte: number): boolean {
  return (byte - zero) >>> 0 <= 9
}
