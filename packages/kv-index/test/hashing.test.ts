import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  BlockHashes,
  type HashingOptions,
  hashAt,
  hashWords,
  hashedBlocks,
  hashesOf,
  highOf,
  lowOf,
} from '../src/index.js'
import { both, codeOf, defaultSecret, hashed, hashers, kernels, someTokens } from './support/hashers.js'
import { littleEndian, naiveBlocks, naiveXxh3 } from './support/naive-hashing.js'

const to12 = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
const block4 = { blockSize: 4 }

describe.each(kernels)('H1: golden values of block hashes by %s', (_name, hasher) => {
  it.each<[string, number[], HashingOptions, bigint[], bigint | undefined]>([
    [
      'three blocks',
      to12,
      block4,
      [14643705804678351452n, 16777012769546811212n, 483935686894639516n],
      12583592247330656132n,
    ],
    ['large tokens', [4294967295, 0, 151643, 128009], block4, [14682041810207110220n], 14682041810207110220n],
    [
      'LoRA',
      to12.slice(0, 8),
      { ...block4, loraName: 'adapter-a' },
      [11381080598872079209n, 5698110331184095209n],
      17518568667535815909n,
    ],
    [
      'salt',
      to12.slice(0, 8),
      { ...block4, cacheSalt: 'tenant-1' },
      [12236259103925738072n, 16244233118725531467n],
      10698633946847767502n,
    ],
    [
      'LoRA and salt',
      to12.slice(0, 8),
      { ...block4, loraName: 'adapter-a', cacheSalt: 'tenant-1' },
      [5419529179100330851n, 8208374588024910845n],
      17491403834204085147n,
    ],
    [
      'objects',
      to12.slice(0, 4),
      { ...block4, objectsByBlock: [[7n, 3n]] },
      [3497545641356191295n],
      3497545641356191295n,
    ],
    [
      'eagle',
      [1, 2, 3, 4, 5],
      { blockSize: 2, isEagle: true },
      [15024015205894559313n, 12796124156123117667n],
      15760939721590685011n,
    ],
    ['an empty prompt', [], block4, [], undefined],
    ['a prompt shorter than a block', [1, 2, 3], block4, [], undefined],
    ['eagle, one token', [9], { blockSize: 1, isEagle: true }, [], undefined],
  ])('%s', (_case, tokens, options, local, last) => {
    for (const given of [tokens, Uint32Array.from(tokens)]) {
      const actual = hashed(hasher, given, options)
      expect(actual.local).toEqual(local)
      expect(actual.sequence.at(-1)).toBe(last)
      expect(actual.sequence).toHaveLength(local.length)
    }
  })
})

const layout = fc.record({
  blockSize: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constantFrom(16, 32, 59, 60, 61, 64, 128, 300)),
  isEagle: fc.boolean(),
})
const prompt = fc.array(fc.integer({ min: 0, max: 0xffff_ffff }), { maxLength: 700, size: 'max' })

describe.each(kernels)('H1: block hashes by %s', (_name, hasher) => {
  it('follow from the rules for any tokens, block size, layout and seed', () => {
    fc.assert(
      fc.property(prompt, layout, fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }), (tokens, options, seed) => {
        const given = { ...options, seed: { low: lowOf(seed), high: highOf(seed) } }
        expect(hashed(hasher, tokens, given)).toEqual(
          naiveBlocks(tokens, { ...options, seed }, defaultSecret),
        )
      }),
      { seed: 1, numRuns: 120 },
    )
  })

  it('are the same in one call, grown bit by bit, continued from a hash, chained from local hashes, block by block', () => {
    const cut = fc.nat({ max: 20 })
    fc.assert(
      fc.property(prompt, layout, cut, (tokens, options, first) => {
        const { blockSize } = options
        const whole = hashed(hasher, tokens, options)
        const grown = new BlockHashes()
        hasher.extend(tokens.slice(0, first * blockSize), options, grown)
        hasher.extend(tokens.slice(grown.count * blockSize), options, grown)
        expect(both(grown)).toEqual(whole)
        const kept = Math.min(first, whole.local.length)
        const previous = whole.sequence[kept - 1]
        if (previous !== undefined) {
          const rest = new BlockHashes()
          hasher.hash([1, 2, 3], { blockSize: 1 }, rest)
          hasher.hashAfter(lowOf(previous), highOf(previous), tokens.slice(kept * blockSize), options, rest)
          expect(both(rest).sequence).toEqual(whole.sequence.slice(kept))
        }
        const local = new BlockHashes()
        hasher.hashLocal([7, ...tokens, 7], options, local, 1, tokens.length + 1)
        hasher.chain(local)
        expect(both(local)).toEqual(whole)
        const words = new Uint32Array(2 * whole.local.length)
        for (let block = 0; block < whole.local.length; block++)
          expect(hasher.hashBlock(tokens, block * blockSize, options, words, block)).toBe(true)
        expect(hashesOf(words)).toEqual(whole.local)
        expect(hasher.hashBlock(tokens, whole.local.length * blockSize, options, words, 0)).toBe(false)
      }),
      { seed: 2, numRuns: 80 },
    )
  })

  it.each([
    ['of more than one pass', 16, 131_072 + 16_384 + 3],
    ['of more blocks than a pass', 1, 8192 * 2 + 1],
    ['of blocks as long as a pass', 131_072, 131_072 * 2 + 1],
    ['of blocks longer than a pass', 131_073, 131_073 * 2 + 5],
  ])('of a prompt %s are those of its parts', (_what, blockSize, count) => {
    const tokens = someTokens(count)
    for (const isEagle of [false, true]) {
      const whole = hashed(hasher, tokens, { blockSize, isEagle })
      const blocks = Math.floor((count - (isEagle ? 1 : 0)) / blockSize)
      expect(whole.local).toHaveLength(blocks)
      const words = new Uint32Array(2)
      const last = blocks - 1
      for (const block of [0, last >> 1, last]) {
        hasher.hashBlock(tokens, block * blockSize, { blockSize, isEagle }, words, 0)
        expect(hashAt(words, 0)).toBe(whole.local[block])
      }
      const chained = new BlockHashes()
      chained.reserve(blocks)
      chained.local.set(hashWords(whole.local))
      chained.count = blocks
      hasher.chain(chained)
      expect(both(chained).sequence).toEqual(whole.sequence)
      for (const block of [1, last].filter((index) => index > 0)) {
        const pair = littleEndian([whole.sequence[block - 1]!, whole.local[block]!], 8)
        expect(whole.sequence[block]).toBe(naiveXxh3(pair, 1337n, defaultSecret))
      }
    }
  })
})

it('H1: both kernels agree on long prompts', () => {
  const tokens = someTokens(40_000)
  for (const blockSize of [1, 3, 16, 64, 500]) {
    const [first, second] = Object.values(hashers).map((hasher) => hashed(hasher, tokens, { blockSize }))
    expect(first).toEqual(second)
  }
})

describe('H2: B x k + r tokens give k hashes for every r in [0, B)', () => {
  it.each([1, 2, 4, 16])('B = %i', (blockSize) => {
    const { 'the WebAssembly kernel': hasher } = hashers
    for (let count = 0; count <= 3 * blockSize + 1; count++) {
      const blocks = Math.floor(count / blockSize)
      expect(hashed(hasher, someTokens(count), { blockSize }).local).toHaveLength(blocks)
      expect(hashedBlocks(count, { blockSize })).toBe(blocks)
      const eagle = { blockSize, isEagle: true }
      const eagleBlocks = count === 0 ? 0 : Math.floor((count - 1) / blockSize)
      expect(hashed(hasher, someTokens(count), eagle).local).toHaveLength(eagleBlocks)
      expect(hashedBlocks(count, eagle)).toBe(eagleBlocks)
    }
  })

  it('and the hashes of the k blocks do not depend on the rest', () => {
    const { 'the WebAssembly kernel': hasher } = hashers
    const whole = hashed(hasher, someTokens(48), { blockSize: 16 })
    for (let count = 32; count < 48; count++) {
      const { local, sequence } = hashed(hasher, someTokens(count), { blockSize: 16 })
      expect(local).toEqual(whole.local.slice(0, 2))
      expect(sequence).toEqual(whole.sequence.slice(0, 2))
    }
  })
})

describe.each(kernels)('what cannot be hashed, by %s', (_name, hasher) => {
  const target = new BlockHashes()
  hasher.hash(to12, block4, target)
  const before = both(target)

  it.each<[string, unknown, object, string]>([
    ...[0, -1, 1.5, NaN, Infinity, '16', undefined].map((blockSize): [string, unknown, object, string] => {
      return [`block size ${String(blockSize)}`, to12, { blockSize }, 'KV_INDEX_BLOCK_SIZE_INVALID']
    }),
    ...[-1, 1.5, NaN, 2 ** 32, '1', 1n, null, undefined].map((token): [string, unknown, object, string] => {
      return [`token ${String(token)}`, [1, 2, 3, 4, 5, token], block4, 'KV_INDEX_TOKEN_INVALID']
    }),
    ['an image token', to12, { ...block4, imageToken: -1 }, 'KV_INDEX_TOKEN_INVALID'],
    ...[1n << 64n, -(1n << 63n) - 1n, 7, null].map((hash): [string, unknown, object, string] => {
      return [
        `object ${String(hash)}`,
        to12,
        { ...block4, objectsByBlock: [[], [1n, hash]] },
        'KV_INDEX_HASH_INVALID',
      ]
    }),
  ])('%s is refused, and what the target had stays', (_what, tokens, options, code) => {
    const given = [tokens as number[], options as HashingOptions] as const
    expect(codeOf(() => hasher.hash(...given, target))).toBe(code)
    expect(codeOf(() => hasher.extend(...given, target))).toBe(code)
    expect(codeOf(() => hasher.hashAfter(1, 2, ...given, target))).toBe(code)
    expect(codeOf(() => hasher.hashLocal(...given, target))).toBe(code)
    expect(both(target)).toEqual(before)
  })

  it('one block: only its own tokens count', () => {
    const words = new Uint32Array(2)
    expect(hasher.hashBlock([1, 2, 3, 4, -5], 0, block4, words, 0)).toBe(true)
    expect(hashAt(words, 0)).toBe(before.local[0])
    expect(codeOf(() => hasher.hashBlock([1, 2, -3, 4], 0, block4, words, 0))).toBe('KV_INDEX_TOKEN_INVALID')
    expect(codeOf(() => hasher.hashBlock(to12, 0, { blockSize: 0 }, words, 0))).toBe(
      'KV_INDEX_BLOCK_SIZE_INVALID',
    )
  })

  it('names the value and its place', () => {
    expect(() => hasher.hash([1, -2], block4, target)).toThrow(
      expect.objectContaining({
        details: { value: -2, index: 1 },
        message: expect.stringMatching(/-2 at 1: .*2\^32 - 1/u),
      }),
    )
    expect(() => hashedBlocks(5, { blockSize: 0.5 })).toThrow(
      expect.objectContaining({ code: 'KV_INDEX_BLOCK_SIZE_INVALID', details: { value: 0.5 } }),
    )
  })
})
