import { type JsonTape, nodeKinds } from './json-tape.js'

const { object, array, text, escapedText, key, number, word } = nodeKinds

/** No node. */
export const absent = -1

/** What a scanned text says, node by node. Asking for a value of another kind than is there gives what "there is none" gives. */
export class JsonView {
  readonly bytes: Uint8Array
  readonly tape: JsonTape

  constructor(bytes: Uint8Array, tape: JsonTape) {
    this.bytes = bytes
    this.tape = tape
  }

  isObject(node: number): boolean {
    return node !== absent && this.tape.kind(node) === object
  }

  /** Whether it is a list of anything but token ids. */
  isArray(node: number): boolean {
    return node !== absent && this.tape.kind(node) === array
  }

  isIds(node: number): boolean {
    return node !== absent && this.tape.kind(node) === nodeKinds.ids
  }

  isText(node: number): boolean {
    return node !== absent && (this.tape.kind(node) === text || this.tape.kind(node) === escapedText)
  }

  isNumber(node: number): boolean {
    return node !== absent && this.tape.kind(node) === number
  }

  /** The value of the last such key, as `JSON.parse` would have it; `absent` where there is none, or null. `O(entries)`. */
  find(node: number, name: string): number {
    if (!this.isObject(node)) return absent
    const { tape } = this
    const end = tape.next(node)
    let found = absent
    for (let child = node + 1; child < end; child = tape.next(child + 1)) {
      if (this.isName(child, name)) found = child + 1
    }
    return found === absent || this.isNull(found) ? absent : found
  }

  /** Whether a key or text is this name, of ASCII letters. */
  isName(node: number, name: string): boolean {
    const { bytes, tape } = this
    const start = tape.start(node) + 1
    const length = tape.end(node) - 1 - start
    const kind = tape.kind(node)
    if (kind === key || kind === text) {
      if (length !== name.length) return false
      for (let index = 0; index < length; index++) {
        if (bytes[start + index] !== name.charCodeAt(index)) return false
      }
      return true
    }
    return length <= 6 * name.length && this.#parsed(node) === name
  }

  /** A key. */
  name(node: number): string {
    return this.#parsed(node)
  }

  isNull(node: number): boolean {
    return this.tape.kind(node) === word && this.bytes[this.tape.start(node)] === 0x6e
  }

  /** `undefined` for what is no string. */
  text(node: number): string | undefined {
    return this.isText(node) ? this.#parsed(node) : undefined
  }

  /** `undefined` for what is neither true nor false. */
  flag(node: number): boolean | undefined {
    if (node === absent || this.tape.kind(node) !== word || this.isNull(node)) return undefined
    return this.bytes[this.tape.start(node)] === 0x74
  }

  /** A number without fraction, exponent or leading minus that is exact; `undefined` for everything else. */
  wholeNumber(node: number): number | undefined {
    const digits = this.#digits(node)
    const value = digits === undefined ? NaN : Number(digits)
    return Number.isSafeInteger(value) ? value : undefined
  }

  /** As `wholeNumber`, of up to 20 digits. */
  bigWholeNumber(node: number): bigint | undefined {
    const digits = this.#digits(node)
    return digits === undefined ? undefined : BigInt(digits)
  }

  /** The bytes of a node as text for messages, cut where long. */
  shown(node: number): string {
    const start = this.tape.start(node)
    const end = this.tape.end(node)
    return this.#slice(start, Math.min(end, start + 40)) + (end - start > 40 ? '...' : '')
  }

  #digits(node: number): string | undefined {
    if (!this.isNumber(node)) return undefined
    const start = this.tape.start(node)
    // No number of interest has more.
    if (this.tape.end(node) - start > 20) return undefined
    const digits = this.#slice(start, this.tape.end(node))
    return /^\d+$/.test(digits) ? digits : undefined
  }

  #parsed(node: number): string {
    const inner = this.#slice(this.tape.start(node) + 1, this.tape.end(node) - 1)
    // Few strings have escapes; whatever else stands for something else the scanner refused.
    return inner.includes('\\') ? (JSON.parse(`"${inner}"`) as string) : inner
  }

  #slice(start: number, end: number): string {
    const { buffer, byteOffset } = this.bytes
    return Buffer.from(buffer, byteOffset + start, end - start).toString()
  }
}
