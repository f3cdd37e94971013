import { BlockHasher, BlockHashes, hashAt, hashWords, hashesOf } from '@router/kv-index'
import type { BlockContent, IndexBlock } from '../shapes/rust-index.js'

/** Hashes of a path, block by block. */
export interface PathHashes {
  readonly local: readonly bigint[]
  /** Chained: those of engines, and of the tracking registry. */
  readonly engine: readonly bigint[]
}

/** Turns the paths of a line into hashes. */
export interface BlockNames {
  ofPath(path: readonly IndexBlock[]): PathHashes
}

const hasher = new BlockHasher()

/** What the paths of a line mean: numbers are local hashes, or with an alphabet indexes of block contents. */
export function blockNames(line: {
  readonly blockSize: number
  readonly alphabet?: readonly BlockContent[] | undefined
}): BlockNames {
  const alphabet = line.alphabet?.map((content) => localHash(content, line.blockSize))
  return {
    ofPath: (path) => {
      const local = path.map((block) => (alphabet === undefined ? BigInt(block) : alphabet[Number(block)]!))
      return { local, engine: chained(local) }
    },
  }
}

function localHash({ tokens, lora, salt }: BlockContent, blockSize: number): bigint {
  const hashes = new BlockHashes()
  hasher.hash(tokens, { blockSize, loraName: lora, cacheSalt: salt }, hashes)
  return hashAt(hashes.local, 0)
}

function chained(local: readonly bigint[]): bigint[] {
  const hashes = new BlockHashes()
  hashes.reserve(local.length)
  hashes.local.set(hashWords(local))
  hashes.count = local.length
  hasher.chain(hashes)
  return hashesOf(hashes.sequence, local.length)
}
