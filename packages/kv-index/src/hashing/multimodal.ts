import { KvIndexError } from '../errors.js'
import { lowOf } from '../hash-words.js'
import { checkBlockSize } from './block-layout.js'
import { type TokenIds, checkHashes, checkToken, checkTokens } from './checks.js'

/** An object of a prompt (an image, a clip) and the tokens that stand for it. */
export interface PromptObject {
  /** 64 bits, see `BlockHasher.objectHash`. Objects of one hash are one object. */
  readonly hash: bigint
  /** Half-open ranges `[start, end)` over the tokens of the prompt, in any order; they may overlap, be empty or reach past the end. */
  readonly ranges: readonly (readonly [start: number, end: number])[]
}

/**
 * The objects of each block, the incomplete last one included: `ceil(tokenCount / blockSize)` lists, each with the objects of which
 * it has at least one token, once each, in the order given. `O(ranges log ranges)` and the size of the result.
 * Throws `KV_INDEX_BLOCK_SIZE_INVALID`, `KV_INDEX_HASH_INVALID`, `KV_INDEX_RANGE_INVALID`.
 */
export function objectsByBlock(
  objects: readonly PromptObject[],
  tokenCount: number,
  blockSize: number,
): bigint[][] {
  checkBlockSize(blockSize)
  checkHashes(objects.map(({ hash }) => hash))
  const rangesOf = new Map<bigint, (readonly [number, number])[]>()
  for (const { hash, ranges } of objects) {
    checkRanges(ranges)
    const own = BigInt.asUintN(64, hash)
    const known = rangesOf.get(own) ?? []
    for (const range of ranges) known.push(range)
    rangesOf.set(own, known)
  }
  const blocks = Array.from({ length: Math.ceil(tokenCount / blockSize) }, (): bigint[] => [])
  for (const [hash, ranges] of rangesOf) {
    let next = 0
    for (const [start, end] of ranges.toSorted(([a], [b]) => a - b)) {
      // An empty intersection with the prompt adds nothing, nor does one with its last block beyond the end.
      if (start >= Math.min(end, tokenCount)) continue
      const last = Math.min(blocks.length, Math.ceil(end / blockSize))
      for (next = Math.max(next, Math.floor(start / blockSize)); next < last; next++) blocks[next]!.push(hash)
    }
  }
  return blocks
}

function checkRanges(ranges: PromptObject['ranges']): void {
  for (const [index, range] of ranges.entries()) {
    const isRange = Array.isArray(range) && range.length === 2
    if (isRange && range.every((position) => Number.isSafeInteger(position) && position >= 0)) continue
    throw new KvIndexError(
      'KV_INDEX_RANGE_INVALID',
      `range [${String(range)}] at ${index}: expected [start, end) as two whole numbers from 0 on`,
      { value: range, index },
    )
  }
}

const engineForm = /^[0-9a-f]{16}0{48}$/i

/** The form of an object's hash that an engine is given, and names in its events: 16 hexadecimal digits and 48 zeros. */
export function engineIdentifier(hash: bigint): string {
  return BigInt.asUintN(64, hash).toString(16).padStart(16, '0').padEnd(64, '0')
}

/** The hash that `engineIdentifier` wrote; `undefined` for every other text, an engine's own digests too. */
export function engineObjectHash(identifier: string): bigint | undefined {
  return identifier.length === 64 && engineForm.test(identifier)
    ? BigInt(`0x${identifier.slice(0, 16)}`)
    : undefined
}

/** The token that stands for an object when image tokens are replaced: 1,000,000 and the lower 30 bits of its hash. */
export function padToken(hash: bigint): number {
  return 1_000_000 + (lowOf(hash) & 0x3fff_ffff)
}

/**
 * A prompt as it is routed for engines that pad: each run of the image token becomes the pad token of the next object, the last
 * object serving all further runs. Such a prompt is hashed without objects. The given tokens stay as they are; without objects the
 * result is a copy. Throws `KV_INDEX_TOKEN_INVALID`, `KV_INDEX_HASH_INVALID`.
 */
export function replaceImageTokens(
  tokens: TokenIds,
  imageToken: number,
  objects: readonly bigint[],
): Uint32Array {
  checkTokens(tokens)
  checkToken(imageToken)
  checkHashes(objects)
  const replaced = Uint32Array.from(tokens)
  replaceRuns(replaced, replaced.length, imageToken, objects)
  return replaced
}

/** Replaces the runs within the first `length` tokens in place; whether there was one. Without objects there is nothing to replace by. */
export function replaceRuns(
  tokens: Uint32Array,
  length: number,
  imageToken: number,
  objects: readonly bigint[],
): boolean {
  let next = 0
  let pad = 0
  let isInRun = false
  if (objects.length === 0) return false
  for (let index = 0; index < length; index++) {
    const isImage = tokens[index] === imageToken
    if (isImage && !isInRun) pad = padToken(objects[Math.min(next++, objects.length - 1)]!)
    if (isImage) tokens[index] = pad
    isInRun = isImage
  }
  return next > 0
}
