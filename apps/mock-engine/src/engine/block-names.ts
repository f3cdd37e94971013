import { createHash } from 'node:crypto'
import type { GenerationRequest } from './serving.js'

/** Bytes of a block's name. */
const digestBytes = 32

/** The blocks that a request fills, by name: a name stands for the tokens of a block, all before them, and who may share them. */
export interface BlockNames {
  readonly blocks: number
  /** Name of block `index`. A view. */
  readonly digest: (index: number) => Uint8Array
  /** 64 bits of each name, the words (low, high) a block. */
  readonly keys: Uint32Array
}

/**
 * Names every complete block of `tokens` by SHA-256 of the name before it, its tokens, and what else tells it apart: adapter, salt and
 * the media that overlap it with their place in it. Equal prefixes get equal names in any process. O(tokens).
 */
export function namesOfBlocks(
  tokens: Uint32Array,
  blockSize: number,
  apart: Pick<GenerationRequest, 'loraName' | 'cacheSalt' | 'media'>,
): BlockNames {
  const blocks = Math.floor(tokens.length / blockSize)
  const digests = new Uint8Array(blocks * digestBytes)
  const words = new DataView(digests.buffer)
  const keys = new Uint32Array(blocks * 2)
  const bytes = new Uint8Array(tokens.buffer, tokens.byteOffset, tokens.byteLength)
  let parent: Uint8Array = new Uint8Array(digestBytes)
  for (let index = 0; index < blocks; index++) {
    const start = index * blockSize
    const extra = JSON.stringify(extraKeysOfBlock(apart, start, start + blockSize))
    const digest = createHash('sha256')
      .update(parent)
      .update(bytes.subarray(start * 4, (start + blockSize) * 4))
      .update(extra)
      .digest()
    const at = index * digestBytes
    digests.set(digest, at)
    parent = digest
    keys[2 * index] = words.getUint32(at + 28)
    keys[2 * index + 1] = words.getUint32(at + 24)
  }
  return { blocks, keys, digest: (index) => digests.subarray(index * digestBytes, (index + 1) * digestBytes) }
}

/** A part of what tells a block apart: an adapter or salt, or the identifier of a medium and where it starts, counted from the block. */
export type ExtraKey = string | readonly [identifier: string, offset: number]

/** What tells the block of the tokens `start` to `end` apart besides its tokens: adapter, media, and in the first block the salt. */
export function extraKeysOfBlock(
  { loraName, cacheSalt, media }: Pick<GenerationRequest, 'loraName' | 'cacheSalt' | 'media'>,
  start: number,
  end: number,
): ExtraKey[] {
  const keys: ExtraKey[] = loraName === undefined || loraName === '' ? [] : [loraName]
  for (const medium of media ?? [])
    if (medium.start < end && medium.end > start) keys.push([medium.identifier, medium.start - start])
  if (start === 0 && cacheSalt !== undefined && cacheSalt !== '') keys.push(cacheSalt)
  return keys
}
