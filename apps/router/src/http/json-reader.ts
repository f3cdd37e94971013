import { isUtf8 } from 'node:buffer'
import { readTokenIds } from '@router/prompt'
import { cut } from '../quoted.js'
import { HttpError } from './http-error.js'

/** Levels of lists and objects; deeper ones are refused, as they would have this reader call itself without end. */
const deepest = 128
/** Numbers of lists that are read into one array, kept for the next list; more are given back. */
const keptNumbers = 1 << 20
const largestU32 = 0xffff_ffff

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const minus = 0x2d
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
const zero = 0x30
const nine = 0x39

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
const isDigit = (byte: number): boolean => byte >= zero && byte <= nine
const startsValue = (byte: number): boolean => isDigit(byte) || '"{[-tfn'.includes(String.fromCharCode(byte))

let numbers = new Uint32Array(4096)

/**
 * Reads JSON straight from the bytes, value by value, as whoever asks expects it: integers are exact up to 64 bits, `1.0` is no integer,
 * and what nobody asks for is checked and skipped. Faults are `HttpError`: `invalid_json` for what is no JSON, `invalid_body` for a value
 * of another kind than asked for, with its place.
 */
export class JsonReader {
  /** Keys that nobody asked for, so far. */
  unknownKeys = 0
  readonly #bytes: Buffer
  readonly #path: (string | number)[] = []
  #at = 0
  #depth = 0

  /** Borrows the bytes. Error: `invalid_json` when they are no UTF-8. */
  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    if (!isUtf8(bytes)) throw this.#noJson('it is no UTF-8 text')
  }

  /** The next value; nothing may follow it. */
  document<T>(read: (reader: JsonReader) => T): T {
    const value = read(this)
    this.#skipSpace()
    if (this.#at < this.#bytes.length) throw this.#noJson('something follows the value')
    return value
  }

  /** Takes a `null`, if the next value is one. */
  takeNull(): boolean {
    if (this.#next() !== 0x6e) return false
    this.#word('null')
    return true
  }

  /** Reads an object key by key; `readValue` must take the value. */
  object(readValue: (key: string) => void): void {
    if (this.#next() !== openBrace) throw this.fault('an object')
    this.#enter()
    if (this.#next() === closeBrace) this.#at++
    else {
      do {
        if (this.#next() !== quote) throw this.#noJson('a key is expected')
        const key = this.#text()
        if (this.#next() !== colon) throw this.#noJson("':' is expected behind a key")
        this.#at++
        this.#path.push(key)
        readValue(key)
        this.#path.pop()
      } while (this.#hasMore(closeBrace))
    }
    this.#depth--
  }

  /** Reads a list; `readItem` must take one entry. */
  list(readItem: (index: number) => void): void {
    if (this.#next() !== openBracket) throw this.fault('a list')
    this.#enter()
    if (this.#next() === closeBracket) this.#at++
    else {
      let index = 0
      do {
        this.#path.push(index)
        readItem(index++)
        this.#path.pop()
      } while (this.#hasMore(closeBracket))
    }
    this.#depth--
  }

  string(): string {
    if (this.#next() !== quote) throw this.fault('a string')
    return this.#text()
  }

  boolean(): boolean {
    const first = this.#next()
    if (first === 0x74) {
      this.#word('true')
      return true
    }
    if (first !== 0x66) throw this.fault('true or false')
    this.#word('false')
    return false
  }

  /** A finite number, integer or not. */
  double(): number {
    const value = Number(this.#number('a number'))
    if (!Number.isFinite(value)) throw this.#noJson('a number is beyond the largest double')
    return value
  }

  /** An integer from `minimum` to `maximum`, both safe. */
  integer(minimum: number, maximum: number): number {
    const accepted = `an integer from ${minimum} to ${maximum}`
    const text = this.#number(accepted)
    const value = Number(text)
    if (!isInteger(text) || !(value >= minimum && value <= maximum)) throw this.fault(accepted, text)
    return value
  }

  /** A 64-bit integer. @param mayBeText a string of digits will do as well */
  bigint(minimum: bigint, maximum: bigint, mayBeText = false): bigint {
    const accepted = `an integer from ${minimum} to ${maximum}`
    const text = mayBeText && this.#next() === quote ? this.#text() : this.#number(accepted)
    if (!isInteger(text)) throw this.fault(accepted, text)
    const value = text.length > 40 ? maximum + 1n : BigInt(text)
    if (value < minimum || value > maximum) throw this.fault(accepted, text)
    return value
  }

  /** A list of unsigned 32-bit integers. */
  u32List(): Uint32Array<ArrayBuffer> {
    if (this.#next() !== openBracket) throw this.fault('a list')
    const found = readTokenIds(this.#bytes, this.#at)
    if (found === undefined) return this.#u32ListSlowly()
    this.#at = found.end
    return found.ids
  }

  /** A list of 64-bit signed integers as pairs of 32-bit halves, low first. */
  i64Words(): Uint32Array<ArrayBuffer> {
    let count = 0
    this.list(() => {
      const value = this.bigint(-(1n << 63n), (1n << 63n) - 1n)
      if (count + 2 > numbers.length) growNumbers()
      numbers[count++] = Number(value & 0xffff_ffffn)
      numbers[count++] = Number((value >> 32n) & 0xffff_ffffn)
    })
    return takenNumbers(count)
  }

  /** Checks the next value and drops it. */
  skip(): void {
    const first = this.#next()
    if (first === quote) this.#skipText()
    else if (first === openBrace) this.object(() => this.skip())
    else if (first === openBracket) this.list(() => this.skip())
    else if (first === 0x74 || first === 0x66) this.boolean()
    else if (first === 0x6e) this.takeNull()
    else this.#number('a value')
  }

  /** A value of the wrong kind at this place. @param found its text, when it was taken already */
  fault(accepted: string, found?: string): HttpError {
    const place = this.#path.length === 0 ? 'the body' : cut(this.#path.map(String).join('.'))
    if (found === undefined && this.#at >= this.#bytes.length) return this.#noJson('it ends too early')
    if (found === undefined && !startsValue(this.#bytes[this.#at]!))
      return this.#noJson('a value is expected')
    // A word, a text or a number that is none is no JSON, whatever was asked for.
    if (found === undefined && ![openBrace, openBracket].includes(this.#bytes[this.#at]!)) this.skip()
    const shown = found === undefined ? '' : `, got ${cut(found, 40)}`
    return new HttpError('invalid_body', `${place}: expected ${accepted}${shown}`)
  }

  #u32ListSlowly(): Uint32Array<ArrayBuffer> {
    let count = 0
    this.list(() => {
      const value = this.integer(0, largestU32)
      if (count === numbers.length) growNumbers()
      numbers[count++] = value
    })
    return takenNumbers(count)
  }

  /** Text of a number, by the grammar of JSON. */
  #number(accepted: string): string {
    const first = this.#next()
    if (first !== minus && !isDigit(first)) throw this.fault(accepted)
    const start = this.#at
    if (first === minus) this.#at++
    const hasLeadingZero = this.#bytes[this.#at] === zero
    const digits = this.#digits()
    if (hasLeadingZero && digits > 1) throw this.#noJson('a number starts with 0')
    if (this.#bytes[this.#at] === 0x2e) {
      this.#at++
      this.#digits()
    }
    if ((this.#bytes[this.#at]! | 0x20) === 0x65) {
      this.#at++
      const sign = this.#bytes[this.#at]
      if (sign === 0x2b || sign === minus) this.#at++
      this.#digits()
    }
    return this.#bytes.toString('latin1', start, this.#at)
  }

  #digits(): number {
    const start = this.#at
    while (isDigit(this.#bytes[this.#at]!)) this.#at++
    if (this.#at === start) throw this.#noJson('a digit is expected')
    return this.#at - start
  }

  /** Text of the string that starts here. */
  #text(): string {
    const start = this.#at
    const isPlain = this.#skipPlainText()
    if (isPlain) return this.#bytes.toString('utf8', start + 1, this.#at - 1)
    return this.#unescaped(start)
  }

  #skipText(): void {
    const start = this.#at
    if (!this.#skipPlainText()) this.#unescaped(start)
  }

  /** Goes behind the string; whether it is without escapes. */
  #skipPlainText(): boolean {
    const bytes = this.#bytes
    const { length } = bytes
    let at = this.#at + 1
    let isPlain = true
    for (; at < length; at++) {
      const byte = bytes[at]!
      if (byte === quote) {
        this.#at = at + 1
        return isPlain
      }
      if (byte < 0x20) throw this.#noJson('a string holds a control character')
      if (byte === backslash) {
        isPlain = false
        at++
      }
    }
    throw this.#noJson('a string has no end')
  }

  #unescaped(start: number): string {
    let text: string
    try {
      text = JSON.parse(this.#bytes.toString('utf8', start, this.#at)) as string
    } catch {
      throw this.#noJson('a string has an escape that there is not')
    }
    if (/\p{Surrogate}/u.test(text)) throw this.#noJson('a string holds half a character')
    return text
  }

  #word(word: string): void {
    if (this.#bytes.toString('latin1', this.#at, this.#at + word.length) !== word)
      throw this.#noJson(`'${word}' is expected`)
    this.#at += word.length
  }

  #hasMore(end: number): boolean {
    const byte = this.#next()
    if (byte !== comma && byte !== end) throw this.#noJson(`',' or '${String.fromCharCode(end)}' is expected`)
    this.#at++
    return byte === comma
  }

  #enter(): void {
    this.#at++
    if (++this.#depth > deepest) throw this.#noJson(`it is nested more than ${deepest} levels deep`)
  }

  /** The first byte of what comes next; NaN at the end. */
  #next(): number {
    this.#skipSpace()
    return this.#bytes[this.#at] ?? Number.NaN
  }

  #skipSpace(): void {
    while (isSpace(this.#bytes[this.#at]!)) this.#at++
  }

  #noJson(why: string): HttpError {
    return new HttpError('invalid_json', `the body is no JSON: ${why}, at byte ${this.#at}`)
  }
}

function isInteger(text: string): boolean {
  return /^(?:0|-?[1-9]\d*)$/.test(text)
}

function growNumbers(): void {
  const more = new Uint32Array(2 * numbers.length)
  more.set(numbers)
  numbers = more
}

function takenNumbers(count: number): Uint32Array<ArrayBuffer> {
  const taken = numbers.slice(0, count)
  if (numbers.length > keptNumbers) numbers = new Uint32Array(4096)
  return taken
}
