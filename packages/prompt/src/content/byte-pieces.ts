import { type ByteTarget, writeShortest } from '../body/json-escapes.js'

// Below this many bytes a loop is faster than a view.
const fewBytes = 24

/**
 * Bytes that come one after another and are handed on in pieces: whenever the buffer is full, `onPiece` takes its bytes from the front
 * and says how many of the last ones it leaves, which must be fewer than there is room for.
 */
export class BytePieces implements ByteTarget {
  readonly buffer: Uint8Array
  /** Bytes that wait in the buffer. */
  used = 0
  readonly #onPiece: (used: number) => number

  constructor(capacity: number, onPiece: (used: number) => number) {
    this.buffer = new Uint8Array(capacity)
    this.#onPiece = onPiece
  }

  byte(value: number): void {
    if (this.used === this.buffer.length) this.#handOn()
    this.buffer[this.used++] = value
  }

  copy(bytes: Uint8Array, start: number, end: number): void {
    if (end - start <= fewBytes) {
      for (let at = start; at < end; at++) this.byte(bytes[at]!)
      return
    }
    for (let at = start; at < end;) {
      if (this.used === this.buffer.length) this.#handOn()
      const size = Math.min(end - at, this.buffer.length - this.used)
      this.buffer.set(bytes.subarray(at, at + size), this.used)
      this.used += size
      at += size
    }
  }

  rewrite(bytes: Uint8Array, start: number, end: number): void {
    writeShortest(bytes, start, end, this)
  }

  #handOn(): void {
    const left = this.#onPiece(this.used)
    this.buffer.copyWithin(0, this.used - left, this.used)
    this.used = left
  }
}
