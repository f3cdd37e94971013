import { createHash } from 'node:crypto'
import {
  BlockHasher,
  BlockHashes,
  type HashSeed,
  type HashingOptions,
  defaultSecretHex,
  hashAt,
  hashOf,
  hashWords,
  hashedBlocks,
  hashesOf,
  highOf,
  lowOf,
  objectsByBlock,
  padToken,
  replaceImageTokens,
  sessionIdOfPrefix,
} from '@router/kv-index'
import { type HashingDocument, bytePattern, hashingDocument, tokenPattern } from '../shapes/hashing.js'
import type { Checks } from './checks.js'
import { defineFamily } from './family.js'

/** Block hashing, with each kernel. */
export const hashingFamily = defineFamily({
  name: 'hashing',
  recognises: (document) => ['xxh3_64', 'request_seed', 'cases'].every((key) => key in document),
  covers: '@router/kv-index',
  schema: hashingDocument,
  evaluate: (document, checks) => {
    checks.within('WebAssembly kernel', () => evaluateAll(document, checks, new BlockHasher()))
    checks.within('plain kernel', () =>
      evaluateAll(document, checks, new BlockHasher({ webAssembly: false })),
    )
  },
})

type Evaluators = {
  [K in keyof HashingDocument as HashingDocument[K] extends readonly unknown[] ? K : never]: (
    entry: HashingDocument[K] extends readonly (infer Entry)[] ? Entry : never,
    checks: Checks,
    hasher: BlockHasher,
  ) => void
}

function evaluateAll(document: HashingDocument, checks: Checks, hasher: BlockHasher): void {
  const { conventions, xxh3_default_secret_hex: secret } = document
  checks.equal('xxh3_default_secret_hex', secret, defaultSecretHex)
  checks.equal('conventions.block_seed', BigInt(conventions.block_seed), seedBits(hasher.seedOf()))
  checks.within('conventions.chain_seed', () => {
    const hashes = chained(hasher, [1n, 2n])
    const pair = new Uint8Array(hashWords([1n, 2n]).buffer)
    checks.equal('sequence hash', hashOfBytes(hasher, pair, BigInt(conventions.chain_seed)), hashes[1])
  })
  for (const key of Object.keys(evaluators) as (keyof Evaluators)[]) {
    for (const [index, entry] of document[key].entries()) {
      const { name } = entry as { readonly name?: string | undefined }
      checks.within(`${key}[${index}]${name === undefined ? '' : ` ${name}`}`, () => {
        evaluators[key](entry as never, checks, hasher)
      })
    }
  }
}

const evaluators: Evaluators = {
  xxh3_64: ({ input, seed, hash }, checks, hasher) => {
    const bytes = 'utf8' in input ? new TextEncoder().encode(input.utf8) : patternBytes(input)
    checks.equal('hash', BigInt(hash), hashOfBytes(hasher, bytes, BigInt(seed)))
  },
  request_seed: ({ lora_name, cache_salt, seed }, checks, hasher) => {
    checks.equal('seed', BigInt(seed), seedBits(hasher.seedOf(lora_name, cache_salt)))
  },
  cases: (entry, checks, hasher) => {
    const { tokens, lora_name, cache_salt } = entry
    const objects = entry.mm_object_hashes_by_block?.map((hashes) => hashes.map(BigInt))
    const options: HashingOptions = {
      blockSize: entry.block_size,
      isEagle: entry.eagle,
      loraName: lora_name,
      cacheSalt: cache_salt,
      objectsByBlock: objects,
    }
    checks.equal('seed', BigInt(entry.seed), seedBits(hasher.seedOf(lora_name, cache_salt)))
    checks.equal('block_count', entry.block_count, hashedBlocks(tokens.length, options))
    const hashes = new BlockHashes()
    hasher.hash(tokens, options, hashes)
    const local = entry.local.map(BigInt)
    const sequence = entry.sequence.map(BigInt)
    checks.list('local', local, hashesOf(hashes.local, hashes.count))
    checks.list('sequence', sequence, hashesOf(hashes.sequence, hashes.count))
    checks.list(
      'sequence_signed',
      entry.sequence_signed.map(BigInt),
      hashesOf(hashes.sequence, hashes.count).map((hash) => BigInt.asIntN(64, hash)),
    )
    checks.within('block by block', () => {
      const blocks = local.map((_, block) => {
        const own = { ...options, objectsByBlock: objects?.slice(block, block + 1) }
        hasher.hashBlock(tokens, block * entry.block_size, own, one, 0)
        return hashAt(one, 0)
      })
      checks.list('local', local, blocks)
      checks.list('sequence', sequence, chained(hasher, blocks))
    })
  },
  long: (entry, checks, hasher) => {
    const factor = Number(tokenPattern.exec(entry.tokens)![1])
    const tokens = Uint32Array.from({ length: entry.count }, (_, index) => Math.imul(factor, index))
    const hashes = new BlockHashes()
    hasher.hash(tokens, { blockSize: entry.block_size }, hashes)
    const { sequence, count } = hashes
    const words = sequence.subarray(0, 2 * count)
    const digest = createHash('sha256').update(words).digest('hex')
    checks.equal('blocks', entry.blocks, count)
    checks.equal('first', bigintOrNull(entry.first), count === 0 ? null : hashAt(sequence, 0))
    checks.equal('last', bigintOrNull(entry.last), count === 0 ? null : hashAt(sequence, count - 1))
    checks.equal('sha256_of_sequence_le64', entry.sha256_of_sequence_le64, digest)
  },
  mm_identifier: ({ identifier, hash, pad_value }, checks, hasher) => {
    const actual = hasher.objectHash(identifier)
    checks.equal('hash', bigintOrNull(hash), actual ?? null)
    checks.equal('pad_value', pad_value, actual === undefined ? null : padToken(actual))
  },
  routing_tokens: ({ tokens, image_token, mm_hashes, result }, checks) => {
    checks.list('result', result, [...replaceImageTokens(tokens, image_token, mm_hashes.map(BigInt))])
  },
  mm_ranges: ({ block_size, tokens, objects, objects_by_block, local }, checks, hasher) => {
    const given = objects.map(({ hash, ranges }) => ({ hash: BigInt(hash), ranges }))
    const byBlock = objectsByBlock(given, tokens.length, block_size)
    checks.equal('objects_by_block.length', objects_by_block.length, byBlock.length)
    for (const [block, expected] of objects_by_block.entries()) {
      checks.list(`objects_by_block[${block}]`, expected.map(BigInt), byBlock[block] ?? [])
    }
    const hashes = new BlockHashes()
    hasher.hashLocal(tokens, { blockSize: block_size, objectsByBlock: byBlock }, hashes)
    checks.list('local', local.map(BigInt), hashesOf(hashes.local, hashes.count))
  },
  session_from_prefix: ({ tokens, prefix_tokens, lora_name, cache_salt, session_id }, checks, hasher) => {
    const namespace = { loraName: lora_name, cacheSalt: cache_salt }
    const actual = sessionIdOfPrefix(hasher, tokens, prefix_tokens, namespace)
    checks.equal('session_id', session_id, actual ?? null)
  },
  signed: ({ u64, i64 }, checks) => {
    checks.equal('u64', BigInt(u64), hashAt(hashWords([BigInt(i64)]), 0))
    checks.equal('i64', BigInt(i64), BigInt.asIntN(64, hashAt(hashWords([BigInt(u64)]), 0)))
  },
}

const one = new Uint32Array(2)

function seedBits({ low, high }: HashSeed): bigint {
  return hashOf(low, high)
}

function hashOfBytes(hasher: BlockHasher, bytes: Uint8Array, seed: bigint): bigint {
  hasher.hashBytes(bytes, { low: lowOf(seed), high: highOf(seed) }, one, 0)
  return hashAt(one, 0)
}

function chained(hasher: BlockHasher, local: readonly bigint[]): bigint[] {
  const hashes = new BlockHashes()
  hashes.reserve(local.length)
  hashes.local.set(hashWords(local))
  hashes.count = local.length
  hasher.chain(hashes)
  return hashesOf(hashes.sequence, hashes.count)
}

function patternBytes({
  pattern,
  length,
}: {
  readonly pattern: string
  readonly length: number
}): Uint8Array {
  const [, factor, offset] = bytePattern.exec(pattern)!.map(Number)
  // Of each product only the lowest byte counts.
  return Uint8Array.from({ length }, (_, index) => Math.imul(factor!, index) + offset!)
}

function bigintOrNull(text: string | null): bigint | null {
  return text === null ? null : BigInt(text)
}
