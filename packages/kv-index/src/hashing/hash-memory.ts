import { type HashKernel, instantiateHashKernel } from '../simd/hash-kernel.js'
import { hash9to16, hashBytes, highHash, lowHash } from './kernel-xxh3.js'
import type { HashSeed } from './request-seed.js'
import { Secrets } from './secrets.js'

const chainSeed = 1337

// Where everything lies, in bytes. Views that `set` takes start at multiples of eight.
const inputStart = 2048
const inputBytes = 524_288
const scratchStart = inputStart + inputBytes
const scratchBytes = 65_536
const localStart = scratchStart + scratchBytes
const localBytes = 65_536
// The hash before the first of a chain lies just below the sequence hashes.
const sequenceStart = localStart + localBytes + 8
const memoryBytes = sequenceStart + localBytes

/** Tokens that one pass takes. */
export const passTokens = inputBytes / 4
/** Blocks that one pass takes. */
export const passBlocks = localBytes / 8
/** Words of the scratch beside the input. */
export const scratchWords = scratchBytes / 4

/**
 * Tokens in, hashes out: a memory of fixed size (706 KiB) that a kernel works in, either the WebAssembly one or the plain one. Each
 * method works on what the views hold and allocates nothing warm: halves are passed as signed integers, since a number beyond 31 bits
 * would be an object.
 */
export class HashMemory {
  /** Whether the kernel is the WebAssembly one. */
  readonly usesWebAssembly: boolean
  /** Input as 32-bit words, `passTokens` of them. */
  readonly input: Uint32Array
  /** Room for one input beside the others, as words. */
  readonly scratch: Uint32Array
  /** The same room as bytes. */
  readonly scratchBytes: Uint8Array
  /** Local hashes as words, of `passBlocks` blocks. */
  readonly local: Uint32Array
  /** Sequence hashes as words, of `passBlocks` blocks. */
  readonly sequence: Uint32Array
  readonly #previous: Uint32Array
  readonly #kernel: HashKernel
  readonly #secrets: Secrets

  /** `webAssembly` false = the plain kernel even where the other could run. */
  constructor(webAssembly: boolean) {
    const instance = webAssembly ? instantiateHashKernel(memoryBytes) : undefined
    const buffer = instance?.buffer ?? new ArrayBuffer(memoryBytes)
    this.usesWebAssembly = instance !== undefined
    this.input = new Uint32Array(buffer, inputStart, inputBytes / 4)
    this.scratch = new Uint32Array(buffer, scratchStart, scratchWords)
    this.scratchBytes = new Uint8Array(buffer, scratchStart, scratchBytes)
    this.local = new Uint32Array(buffer, localStart, localBytes / 4)
    this.sequence = new Uint32Array(buffer, sequenceStart, localBytes / 4)
    this.#previous = new Uint32Array(buffer, sequenceStart - 8, 2)
    this.#secrets = new Secrets(buffer)
    this.#kernel = instance?.kernel ?? plainKernel(buffer, this.#secrets)
  }

  /** The hash that the next chain continues; signed halves cost no object. */
  setPrevious(low: number, high: number): void {
    this.#previous[0] = low
    this.#previous[1] = high
  }

  /** `setPrevious` of a hash in a list. */
  continueAfter(words: Uint32Array, index: number): void {
    this.#previous[0] = words[2 * index]!
    this.#previous[1] = words[2 * index + 1]!
  }

  /** Local hashes of `count` inputs of `length` words, `stride` words apart. */
  hashBlocks(length: number, stride: number, count: number, seed: HashSeed): void {
    const low = seed.low | 0
    const high = seed.high | 0
    const derived = this.#secrets.derivedFor(low, high)
    this.#kernel.hashBlocks(inputStart, 4 * length, 4 * stride, count, low, high, 0, derived, localStart)
  }

  /** `hashBlocks` and `chain`. */
  hashChained(length: number, stride: number, count: number, seed: HashSeed, isFirst: boolean): void {
    if (length === 16) {
      const derived = this.#secrets.derivedFor(seed.low | 0, seed.high | 0)
      this.#kernel.hashChained64(
        inputStart,
        4 * stride,
        count,
        0,
        derived,
        localStart,
        isFirst,
        sequenceStart,
      )
    } else {
      this.hashBlocks(length, stride, count, seed)
      this.chain(count, isFirst)
    }
  }

  /** Sequence hashes of the first `count` local hashes; they continue `setPrevious` unless `isFirst`. */
  chain(count: number, isFirst: boolean): void {
    this.#kernel.chain(localStart, count, 0, isFirst, sequenceStart)
  }

  /** Hash of the first so many bytes of the scratch; it becomes `local` hash `index`. */
  hashScratch(length: number, seed: HashSeed, index: number): void {
    const low = seed.low | 0
    const high = seed.high | 0
    const derived = this.#secrets.derivedFor(low, high)
    this.#kernel.hashBlocks(scratchStart, length, 0, 1, low, high, 0, derived, localStart + 8 * index)
  }

  /** `hashScratch` of bytes that lie elsewhere, for inputs too long for this memory. */
  hashOutside(bytes: Uint8Array, seed: HashSeed, index: number): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const low = seed.low | 0
    const high = seed.high | 0
    const derived = this.#secrets.derivedFor(low, high)
    hashBytes(view, 0, bytes.length, low, high, this.#secrets.view, derived)
    this.local[2 * index] = lowHash()
    this.local[2 * index + 1] = highHash()
  }
}

/** The kernel where there is no WebAssembly, over the same memory. */
function plainKernel(buffer: ArrayBuffer, { view: secrets }: Secrets): HashKernel {
  const memory = new DataView(buffer)
  const hashBlocks: HashKernel['hashBlocks'] = (
    input,
    length,
    stride,
    count,
    seedLow,
    seedHigh,
    _secrets,
    derived,
    local,
  ) => {
    for (let block = 0; block < count; block++) {
      hashBytes(memory, input + block * stride, length, seedLow, seedHigh, secrets, derived)
      memory.setInt32(local + 8 * block, lowHash(), true)
      memory.setInt32(local + 8 * block + 4, highHash(), true)
    }
  }
  const chain: HashKernel['chain'] = (local, count, _secrets, isFirst, sequence) => {
    for (let at = 0; at < 8 * count; at += 8) {
      let low = memory.getInt32(local + at, true)
      let high = memory.getInt32(local + at + 4, true)
      if (!isFirst || at > 0) {
        const before = sequence + at - 8
        const beforeLow = memory.getInt32(before, true)
        hash9to16(beforeLow, memory.getInt32(before + 4, true), low, high, 16, chainSeed, 0, secrets)
        low = lowHash()
        high = highHash()
      }
      memory.setInt32(sequence + at, low, true)
      memory.setInt32(sequence + at + 4, high, true)
    }
  }
  return {
    hashBlocks,
    chain,
    hashChained64: (input, stride, count, _secrets, derived, local, isFirst, sequence) => {
      // Sixty-four bytes are hashed with the derived secret alone.
      hashBlocks(input, 64, stride, count, 0, 0, 0, derived, local)
      chain(local, count, 0, isFirst, sequence)
    },
  }
}
