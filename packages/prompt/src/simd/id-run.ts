import { moduleHex } from './id-run-module.js'
import { instantiate } from './instantiate.js'

/** Bytes looked at in one call. */
const windowBytes = 16_384
/** The shortest number and its comma take two. */
const windowIds = windowBytes / 2
const outputStart = windowBytes
const consumedStart = outputStart + 4 * windowIds
const pages = Math.ceil((consumedStart + 4) / 65_536)

type ReadRun = (input: number, length: number, output: number, room: number, consumed: number) => number

/**
 * Reads runs of token ids with a WebAssembly kernel, a window of 16 KiB at a time, in 64 KiB of memory that never grow; where that cannot
 * run it reads none. Whoever uses it goes on from where it stopped with a plain loop.
 */
export class IdRun {
  /** Where the last run ended. */
  end = 0
  readonly #input: Uint8Array
  /** Ids, and behind them how many bytes were read. */
  readonly #output: Uint32Array
  readonly #readRun: ReadRun | undefined

  /** `webAssembly` false = none are read even where the kernel could run. */
  constructor(webAssembly = true) {
    const instance = webAssembly ? instantiate<{ readRun: ReadRun }>(moduleHex, pages) : undefined
    const memory = instance?.buffer ?? new ArrayBuffer(65_536 * pages)
    this.#input = new Uint8Array(memory, 0, windowBytes)
    this.#output = new Uint32Array(memory, outputStart, windowIds + 1)
    this.#readRun = instance?.exports.readRun
  }

  /** Whether the WebAssembly kernel is in use. */
  get usesWebAssembly(): boolean {
    return this.#readRun !== undefined
  }

  /**
   * Reads numbers of one to seven digits, each with a comma and at most one space behind it, from `start` on to `ids[at]` and behind, as
   * many as there are and as have room. Returns their count; `end` then is behind the last.
   */
  read(bytes: Uint8Array, start: number, ids: Uint32Array, at: number): number {
    this.end = start
    const readRun = this.#readRun
    if (readRun === undefined) return 0
    const output = this.#output
    let count = 0
    for (;;) {
      const window = bytes.subarray(this.end, this.end + windowBytes)
      const room = Math.min(windowIds, ids.length - at - count)
      this.#input.set(window)
      const found = readRun(0, window.length, outputStart, room, consumedStart)
      if (found === 0) return count
      ids.set(output.subarray(0, found), at + count)
      count += found
      this.end += output[windowIds]!
    }
  }
}
