import { type BlockHasher, BlockHashes, type HashSeed, hashAt } from '@router/kv-index'
import { BytePieces } from './byte-pieces.js'
import type { TextSink } from './prompt-text.js'

/** How a text is cut and hashed. */
export interface ChunkLayout {
  /** Tokens per block; a chunk is four times as many bytes. A whole number from 1 on. */
  readonly blockSize: number
  /** Of adapter and salt, see `BlockHasher.seedOf`. */
  readonly seed: HashSeed
}

/** Bytes of a chunk for each token of a block. */
export const chunkBytesPerToken = 4

// What the hasher takes without a detour.
const pieceBytes = 65_536
const mediaSeed: HashSeed = { low: 0, high: 0 }

/**
 * Cuts the canonical text of a prompt into chunks of 4 x blockSize bytes and hashes them as blocks of tokens are hashed, chained; an
 * incomplete last chunk has no hash. A media part enters the text as `<digest>`: the XXH3-64 of its own text as 16 hexadecimal digits;
 * of one over 64 KiB, the hash of the hashes of its pieces of 64 KiB.
 *
 * Serves text after text: `begin`, what a `TextSink` takes, `end`. Works in 128 KiB, or in 64 KiB and a chunk where that is more.
 */
export class ChunkHasher implements TextSink {
  readonly #hasher: BlockHasher
  readonly #media = new BytePieces(pieceBytes, (used) => this.#hashMedia(used))
  #text = this.#textOf(pieceBytes)
  // The one of both that bytes go to.
  #pieces = this.#text
  #options: ChunkLayout = { blockSize: 1, seed: mediaSeed }
  #target = new BlockHashes()
  // Words of the hashes of a media part's pieces.
  #pieceHashes: number[] = []
  readonly #words = new Uint32Array(2)

  constructor(hasher: BlockHasher) {
    this.#hasher = hasher
  }

  /** The chunks go to `target` in place of what it had. The block size is one. */
  begin({ blockSize, seed }: ChunkLayout, target: BlockHashes): void {
    const chunkBytes = chunkBytesPerToken * blockSize
    if (chunkBytes > this.#text.buffer.length) this.#text = this.#textOf(chunkBytes)
    target.count = 0
    this.#options = { blockSize, seed }
    this.#target = target
    this.#text.used = 0
    this.#pieces = this.#text
  }

  end(): void {
    this.#hashText(this.#text.used)
  }

  byte(value: number): void {
    this.#pieces.byte(value)
  }

  copy(bytes: Uint8Array, start: number, end: number): void {
    this.#pieces.copy(bytes, start, end)
  }

  rewrite(bytes: Uint8Array, start: number, end: number): void {
    this.#pieces.rewrite(bytes, start, end)
  }

  beginMedia(): boolean {
    this.#media.used = 0
    this.#pieceHashes = []
    this.#pieces = this.#media
    return true
  }

  endMedia(): void {
    this.#hashMedia(this.#media.used)
    if (this.#pieceHashes.length > 2) {
      const hashes = Uint32Array.from(this.#pieceHashes)
      this.#hasher.hashBytes(new Uint8Array(hashes.buffer), mediaSeed, this.#words, 0)
    }
    this.#pieces = this.#text
    const digest = `<${hashAt(this.#words, 0).toString(16).padStart(16, '0')}>`
    for (let index = 0; index < digest.length; index++) this.byte(digest.charCodeAt(index))
  }

  #textOf(capacity: number): BytePieces {
    return new BytePieces(capacity, (used) => this.#hashText(used))
  }

  /** Hashes the complete chunks; the bytes of the one that is not complete are left. */
  #hashText(used: number): number {
    const { blockSize } = this.#options
    const chunks = Math.floor(used / (chunkBytesPerToken * blockSize))
    const words = new Uint32Array(this.#text.buffer.buffer, 0, chunks * blockSize)
    this.#hasher.extend(words, this.#options, this.#target)
    return used - 4 * words.length
  }

  #hashMedia(used: number): number {
    this.#hasher.hashBytes(this.#media.buffer.subarray(0, used), mediaSeed, this.#words, 0)
    this.#pieceHashes.push(this.#words[0]!, this.#words[1]!)
    return 0
  }
}
