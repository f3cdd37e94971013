import { type JsonTape, nodeKinds } from '../body/json-tape.js'
import type { TextSink } from './prompt-text.js'

const { text, escapedText } = nodeKinds
const shortestSpan = 256

/** Counts the bytes of a canonical text without writing it, and its media parts, whose bytes it leaves out. */
export class TextCount implements TextSink {
  bytes = 0
  mediaParts = 0
  readonly #spans: (readonly [start: number, end: number])[] = []
  readonly #tape: JsonTape

  constructor(tape: JsonTape) {
    this.#tape = tape
  }

  /** Strings of 256 bytes and more in media parts: start and end between the quotes by turns, ascending. */
  get mediaSpans(): number[] {
    return this.#spans.toSorted(([one], [other]) => one - other).flat()
  }

  byte(_value: number): void {
    this.bytes++
  }

  copy(_bytes: Uint8Array, start: number, end: number): void {
    this.bytes += end - start
  }

  rewrite(_bytes: Uint8Array, start: number, end: number, saved: number): void {
    this.bytes += end - start - saved
  }

  beginMedia(root: number): boolean {
    this.mediaParts++
    const tape = this.#tape
    const end = tape.next(root)
    for (let node = root; node < end; node++) {
      const kind = tape.kind(node)
      if (kind !== text && kind !== escapedText) continue
      const start = tape.start(node) + 1
      const length = tape.end(node) - 1 - start
      if (length >= shortestSpan) this.#spans.push([start, start + length])
    }
    return false
  }

  endMedia(): void {}
}
