import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  BlockHashes,
  type PromptObject,
  engineIdentifier,
  engineObjectHash,
  hashesOf,
  objectsByBlock,
  padToken,
  replaceImageTokens,
} from '../src/index.js'
import { both, codeOf, defaultSecret, hashed, kernels, someTokens } from './support/hashers.js'
import { littleEndian, naiveXxh3 } from './support/naive-hashing.js'

const u64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n })

describe('H1: ranges over a prompt', () => {
  it('are cut at block borders: half-open, clipped, once a block, empty ones nowhere', () => {
    const objects = [
      { hash: 929n, ranges: [[19, 19]] },
      {
        hash: 913n,
        ranges: [
          [6, 12],
          [6, 9],
        ],
      },
      {
        hash: 5n,
        ranges: [
          [9, 19],
          [0, 7],
        ],
      },
      {
        hash: 8n,
        ranges: [
          [24, 900],
          [31, 30],
        ],
      },
      { hash: 9n, ranges: [[900, 901]] },
    ] as const
    expect(objectsByBlock(objects, 30, 8)).toEqual([[913n, 5n], [913n, 5n], [5n], [8n]])
    expect(objectsByBlock([], 17, 8)).toEqual([[], [], []])
    // Beyond the end nothing overlaps, in the incomplete last block neither.
    expect(
      objectsByBlock(
        [
          {
            hash: 7n,
            ranges: [
              [10, 12],
              [11, 12],
            ],
          },
        ],
        10,
        4,
      ),
    ).toEqual([[], [], []])
    expect(objectsByBlock(objects, 0, 8)).toEqual([])
  })

  it('give a block each object of which it has a token', () => {
    const range = fc.tuple(fc.nat({ max: 40 }), fc.nat({ max: 40 }))
    const object = fc.record({
      hash: fc.bigInt({ min: 0n, max: 6n }),
      ranges: fc.array(range, { maxLength: 4 }),
    })
    const objects = fc.array(object, { maxLength: 5 })
    fc.assert(
      fc.property(objects, fc.nat({ max: 35 }), fc.integer({ min: 1, max: 9 }), (given, count, blockSize) => {
        const expected = Array.from({ length: Math.ceil(count / blockSize) }, () => new Set<bigint>())
        for (const { hash, ranges } of given as PromptObject[]) {
          for (const [start, end] of ranges) {
            for (let token = start; token < Math.min(end, count); token++)
              expected[Math.floor(token / blockSize)]!.add(hash)
          }
        }
        const actual = objectsByBlock(given, count, blockSize)
        for (const [block, hashes] of actual.entries()) {
          expect(new Set(hashes).size).toBe(hashes.length)
          if ((block + 1) * blockSize <= count) expect(new Set(hashes)).toEqual(expected[block])
        }
      }),
      { seed: 7, numRuns: 300 },
    )
  })

  it('of one object many times over take no longer than what they cover', () => {
    const ranges = Array.from({ length: 20_000 }, (_, index) => [index % 7, 400_000 - index] as const)
    const blocks = objectsByBlock(
      [
        { hash: 1n, ranges },
        { hash: 1n, ranges },
      ],
      400_000,
      16,
    )
    expect(blocks).toHaveLength(25_000)
    expect(blocks.every((hashes) => hashes.length === 1)).toBe(true)
  })

  it.each<[string, unknown, number, string]>([
    ['a negative position', [{ hash: 1n, ranges: [[-1, 2]] }], 4, 'KV_INDEX_RANGE_INVALID'],
    ['half a token', [{ hash: 1n, ranges: [[0, 1.5]] }], 4, 'KV_INDEX_RANGE_INVALID'],
    ['one position', [{ hash: 1n, ranges: [[0]] }], 4, 'KV_INDEX_RANGE_INVALID'],
    ['no pair', [{ hash: 1n, ranges: ['ab'] }], 4, 'KV_INDEX_RANGE_INVALID'],
    ['a hash that is a number', [{ hash: 1, ranges: [] }], 4, 'KV_INDEX_HASH_INVALID'],
    ['a hash of 65 bits', [{ hash: 1n << 64n, ranges: [] }], 4, 'KV_INDEX_HASH_INVALID'],
    ['block size 0', [], 0, 'KV_INDEX_BLOCK_SIZE_INVALID'],
  ])('%s is refused', (_what, objects, blockSize, code) => {
    expect(codeOf(() => objectsByBlock(objects as PromptObject[], 8, blockSize))).toBe(code)
  })
})

describe.each(kernels)('H1: objects of blocks, by %s', (_name, hasher) => {
  it('are appended to the tokens, sorted as unsigned, as often as they are listed', () => {
    const lists = fc.array(fc.array(u64, { maxLength: 5 }), { maxLength: 6 })
    const layout = fc.record({ blockSize: fc.integer({ min: 1, max: 70 }), isEagle: fc.boolean() })
    fc.assert(
      fc.property(lists, layout, fc.nat({ max: 200 }), (objects, options, count) => {
        const tokens = [...someTokens(count)]
        const window = options.blockSize + (options.isEagle ? 1 : 0)
        const { local } = hashed(hasher, tokens, { ...options, objectsByBlock: objects })
        for (const [block, hash] of local.entries()) {
          const start = block * options.blockSize
          const sorted = (objects[block] ?? []).toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
          const own = littleEndian(tokens.slice(start, start + window), 4)
          const bytes = Uint8Array.of(...own, ...littleEndian(sorted, 8))
          expect(hash).toBe(naiveXxh3(bytes, 1337n, defaultSecret))
        }
        const rest = new BlockHashes()
        hasher.hashLocal(tokens, { ...options, objectsByBlock: objects }, rest)
        hasher.chain(rest)
        expect(both(rest)).toEqual(hashed(hasher, tokens, { ...options, objectsByBlock: objects }))
      }),
      { seed: 8, numRuns: 120 },
    )
  })

  it('may be signed, and more than the memory takes', () => {
    const options = { blockSize: 4 }
    const signed = hashed(hasher, [1, 2, 3, 4], { ...options, objectsByBlock: [[-1n, 3n]] })
    expect(signed).toEqual(
      hashed(hasher, [1, 2, 3, 4], { ...options, objectsByBlock: [[3n, (1n << 64n) - 1n]] }),
    )
    const many = Array.from({ length: 20_000 }, (_, index) => BigInt(index) * 0x9e37_79b9_7f4a_7c15n)
    const wrapped = many.map((hash) => BigInt.asUintN(64, hash))
    const sorted = wrapped.toSorted((a, b) => (a < b ? -1 : 1))
    const bytes = new Uint8Array(16 + 8 * many.length)
    bytes.set(littleEndian([1, 2, 3, 4], 4))
    bytes.set(littleEndian(sorted, 8), 16)
    const { local } = hashed(hasher, [1, 2, 3, 4, 5, 6, 7, 8], { ...options, objectsByBlock: [wrapped] })
    expect(local[0]).toBe(naiveXxh3(bytes, 1337n, defaultSecret))
    expect(local[1]).toBe(16777012769546811212n)
  })

  it.each<[string, bigint | undefined]>([
    ['img-1', 14770383865288705413n],
    ['ab'.repeat(32), 12370169555311111083n],
    ['AB'.repeat(32), 12370169555311111083n],
    ['ab'.repeat(31) + 'a', 12728105272109975462n],
    ['g'.repeat(64), 11503447143464743692n],
    ['', undefined],
  ])('the identifier %s', (identifier, hash) => {
    expect(hasher.objectHash(identifier)).toBe(hash)
  })

  it('an identifier longer than the memory takes', () => {
    const long = 'é'.repeat(40_000)
    const bytes = Uint8Array.from({ length: 80_000 }, (_, index) => (index % 2 === 0 ? 0xc3 : 0xa9))
    expect(hasher.objectHash(long)).toBe(naiveXxh3(bytes, 0n, defaultSecret))
  })

  it('an identifier as engines are given it comes back as it was', () => {
    fc.assert(
      fc.property(u64, (hash) => {
        const identifier = engineIdentifier(hash)
        expect(identifier).toMatch(/^[0-9a-f]{16}0{48}$/u)
        expect(engineObjectHash(identifier)).toBe(hash)
        expect(engineObjectHash(identifier.toUpperCase())).toBe(hash)
        expect(hasher.objectHash(identifier)).toBe(hash)
      }),
    )
    const others = ['', 'img-1', 'ab'.repeat(32), '0'.repeat(63), '0'.repeat(65), `${'0'.repeat(63)}\n`]
    expect(others.map(engineObjectHash)).toEqual(others.map(() => undefined))
  })
})

describe('H1: image tokens', () => {
  const first = 14770383865288705413n
  const second = 12370169555311111083n

  it('of a prompt become pad tokens run by run, the last object serving the rest', () => {
    expect([padToken(first), padToken(second)]).toEqual([515966917, 733670891])
    const tokens = [1, 5, 5, 2, 5, 3, 5]
    const replaced = replaceImageTokens(tokens, 5, [first, second])
    expect([...replaced]).toEqual([1, 515966917, 515966917, 2, 733670891, 3, 733670891])
    expect(tokens).toEqual([1, 5, 5, 2, 5, 3, 5])
    expect([...replaceImageTokens(tokens, 5, [])]).toEqual(tokens)
    expect([...replaceImageTokens(tokens, 9, [first])]).toEqual(tokens)
    // A pad token that equals the image token does not join runs.
    expect([...replaceImageTokens([1_000_000, 7, 1_000_000], 1_000_000, [1n << 30n, 2n])]).toEqual([
      1_000_000, 7, 1_000_002,
    ])
  })

  it.each<[string, () => unknown, string]>([
    ['a token', () => replaceImageTokens([-1], 5, []), 'KV_INDEX_TOKEN_INVALID'],
    ['an image token', () => replaceImageTokens([1], 0.5, []), 'KV_INDEX_TOKEN_INVALID'],
    ['a hash', () => replaceImageTokens([1], 5, [1n << 64n]), 'KV_INDEX_HASH_INVALID'],
  ])('%s that cannot be is refused', (_what, body, code) => {
    expect(codeOf(body)).toBe(code)
  })

  // As recorded from the router for events of block size 4.
  it.each(kernels)(
    'of events are replaced block by block with the objects of the block, by %s',
    (_name, hasher) => {
      const options = { blockSize: 4, imageToken: 5 }
      const local = (tokens: number[], objects: bigint[][]): bigint[] => {
        const hashes = new BlockHashes()
        hasher.hashLocal(tokens, { ...options, objectsByBlock: objects }, hashes)
        return hashesOf(hashes.local, hashes.count)
      }
      const image = 0xcd0c31f2a4b15d85n
      const withoutImage = local([9, 8, 7, 6], [[image]])
      expect(local([9, 5, 5, 9], [[]])).toEqual(local([9, 5, 5, 9], []))
      expect(withoutImage).not.toEqual(local([9, 8, 7, 6], []))
      const pads = [padToken(image), padToken(7n)]
      expect(local([9, 5, 5, 9, 5, 9, 5, 5], [[image], [7n, image]])).toEqual(
        local([9, pads[0]!, pads[0]!, 9, pads[1]!, 9, pads[0]!, pads[0]!], []),
      )
      // More runs than objects: the last is reused. More objects than runs: ignored.
      expect(local([5, 9, 5, 9], [[7n]])).toEqual(local([pads[1]!, 9, pads[1]!, 9], []))
      expect(local([9, 5, 9, 9], [[7n, image, 3n]])).toEqual(local([9, pads[1]!, 9, 9], []))
    },
  )
})
