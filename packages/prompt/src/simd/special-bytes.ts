import { instantiate } from './instantiate.js'
import { moduleHex } from './special-bytes-module.js'

/** Bytes looked at in one call. */
export const windowBytes = 16_384
/** Stands behind the last position. */
export const noPosition = 0x7fff_ffff

const inputStart = 0
const outputStart = windowBytes
// One position more than bytes, for the mark behind the last.
const pages = Math.ceil((outputStart + 4 * (windowBytes + 1)) / 65_536)

type FindSpecials = (input: number, length: number, base: number, output: number) => number

/**
 * Finds the bytes that end or break a run of text in a JSON string: quotes, backslashes and control characters. Works on a window of
 * up to 16 KiB at a time in 128 KiB of memory that never grows; warm it allocates nothing but a view. There is a WebAssembly kernel
 * and a plain loop for where that cannot run, with equal results.
 */
export class SpecialBytes {
  /** Positions in the body, rising, and behind them `noPosition`. */
  readonly positions: Int32Array
  /** Whether the WebAssembly kernel is the one in use. */
  readonly usesWebAssembly: boolean
  readonly #input: Uint8Array
  readonly #findSpecials: FindSpecials

  /** `webAssembly` false = the plain loop even where the other could run. */
  constructor(webAssembly = true) {
    const instance = webAssembly ? instantiate<{ findSpecials: FindSpecials }>(moduleHex, pages) : undefined
    const buffer = instance?.buffer ?? new ArrayBuffer(65_536 * pages)
    this.usesWebAssembly = instance !== undefined
    this.#input = new Uint8Array(buffer, inputStart, windowBytes)
    this.positions = new Int32Array(buffer, outputStart, windowBytes + 1)
    this.#findSpecials = instance?.exports.findSpecials ?? plainFinder(buffer)
  }

  /** Looks at the window of the body that starts at `start`; returns its end. */
  find(bytes: Uint8Array, start: number): number {
    const end = Math.min(bytes.length, start + windowBytes)
    const input = this.#input
    input.set(bytes.subarray(start, end))
    // Whole vectors are read.
    if (end - start < windowBytes) input.fill(0x20, end - start, (end - start + 15) & ~15)
    const count = this.#findSpecials(inputStart, end - start, start, outputStart)
    this.positions[count] = noPosition
    return end
  }
}

/** The kernel where there is no WebAssembly, over the same memory. */
function plainFinder(buffer: ArrayBuffer): FindSpecials {
  const memory = new Uint8Array(buffer)
  const words = new Int32Array(buffer)
  return (input, length, base, output) => {
    const first = output >> 2
    let next = first
    for (let at = 0; at < length; at++) {
      const byte = memory[input + at]!
      if (byte < 0x20 || byte === 0x22 || byte === 0x5c) words[next++] = base + at
    }
    return next - first
  }
}
