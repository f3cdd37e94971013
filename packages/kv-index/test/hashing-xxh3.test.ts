import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BlockHasher, hashAt, highOf, lowOf } from '../src/index.js'
import { defaultSecret, hashers, kernels } from './support/hashers.js'
import { naiveXxh3 } from './support/naive-hashing.js'

const out = new Uint32Array(4)

function xxh3(hasher: BlockHasher, bytes: Uint8Array, seed: bigint): bigint {
  hasher.hashBytes(bytes, { low: lowOf(seed), high: highOf(seed) }, out, 1)
  return hashAt(out, 1)
}

const pattern = (length: number): Uint8Array => Uint8Array.from({ length }, (_, index) => 31 * index + 7)

// Both sides of every border inside the algorithm.
const borders = [1, 4, 9, 16, 32, 64, 96, 128, 144, 192, 240, 256, 320, 512, 1024, 1088, 2048, 4096]
const lengths = [0, 2, 7, 8193, ...borders.flatMap((border) => [border - 1, border, border + 1])]
const seeds = [
  0n,
  1n,
  1337n,
  0xffff_ffffn,
  1n << 32n,
  1n << 63n,
  0x8000_0000n,
  (1n << 64n) - 1n,
  8842669519798868182n,
]

it('H4: the two hashers of these tests have different kernels', () => {
  expect(Object.values(hashers).map(({ usesWebAssembly }) => usesWebAssembly)).toEqual([true, false])
})

describe.each(kernels)('H4: XXH3-64 by %s', (_name, hasher) => {
  it.each([
    [0, 0n, 3244421341483603138n],
    [0, 1n, 5604079703740606211n],
    [0, 1337n, 15128690059815094969n],
    [1, 0n, 5502495245947142431n],
  ])('of %i patterned bytes with seed %i is the published value', (length, seed, hash) => {
    expect(xxh3(hasher, pattern(length), seed)).toBe(hash)
  })

  it.each([...new Set(lengths)])('of %i bytes follows from the rules, with every seed', (length) => {
    const actual = seeds.map((seed) => xxh3(hasher, pattern(length), seed))
    expect(actual).toEqual(seeds.map((seed) => naiveXxh3(pattern(length), seed, defaultSecret)))
  })

  it('of random bytes with random seeds follows from the rules', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 20 }),
      fc.uint8Array({ maxLength: 300 }),
      fc.uint8Array({ maxLength: 2500, size: 'max' }),
    )
    fc.assert(
      fc.property(bytes, fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }), (input, seed) => {
        expect(xxh3(hasher, input, seed)).toBe(naiveXxh3(input, seed, defaultSecret))
      }),
      { seed: 4, numRuns: 400 },
    )
  })

  it('reads the bytes that it is given, not those around them, at any alignment', () => {
    const around = pattern(600)
    for (let start = 0; start < 9; start++) {
      for (const length of [3, 8, 15, 100, 200, 300, 500]) {
        const part = around.subarray(start, start + length)
        expect(xxh3(hasher, part, 1337n)).toBe(naiveXxh3(part.slice(), 1337n, defaultSecret))
      }
    }
  })

  it('also of more bytes than the memory takes at once', () => {
    const long = pattern(65_536 + 17)
    for (const input of [long.subarray(0, 65_536), long]) {
      expect(xxh3(hasher, input, 1337n)).toBe(naiveXxh3(input, 1337n, defaultSecret))
    }
  })

  it('keeps the secrets of the last seeds apart, also of more seeds than it remembers', () => {
    const input = pattern(400)
    const many = Array.from({ length: 24 }, (_, index) => BigInt(index) * 0x1_0000_0007n)
    const expected = many.map((seed) => naiveXxh3(input, seed, defaultSecret))
    for (let round = 0; round < 2; round++) {
      expect(many.map((seed) => xxh3(hasher, input, seed))).toEqual(expected)
      expect(many.toReversed().map((seed) => xxh3(hasher, input, seed))).toEqual(expected.toReversed())
    }
  })
})

describe('H4: where it runs', () => {
  const sources = import.meta.glob(['../src/**/*.ts', '!**/*.test.ts', '!**/*.assembly.ts'], {
    query: '?raw',
    import: 'default',
    eager: true,
  })

  it('no source of the package imports a Node built-in or any other package, or names a global of Node', () => {
    const specifiers = Object.values(sources).flatMap((source) =>
      [...source.matchAll(/(?:from|import)\s*\(?\s*(['"])(.+?)\1/gu)].map(([, , specifier]) => specifier!),
    )
    expect(specifiers.length).toBeGreaterThan(20)
    expect(specifiers.filter((specifier) => !/^\.\.?\//u.test(specifier))).toEqual([])
    const code = Object.values(sources).map((source) => source.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gmu, ''))
    expect(code.filter((text) => /\b(?:require|process|Buffer|__dirname)\b\s*[.(]/u.test(text))).toEqual([])
  })

  it.each([
    ['missing', undefined],
    ['forbidden', { Memory: WebAssemblyStub, Module: WebAssemblyStub, Instance: WebAssemblyStub }],
  ])('without WebAssembly (%s) the plain kernel takes over, with equal hashes', (_what, namespace) => {
    const scope = globalThis as { WebAssembly?: unknown }
    const original = scope.WebAssembly
    let hasher: BlockHasher
    try {
      scope.WebAssembly = namespace
      hasher = new BlockHasher()
    } finally {
      scope.WebAssembly = original
    }
    expect(hasher.usesWebAssembly).toBe(false)
    expect(xxh3(hasher, pattern(300), 1337n)).toBe(xxh3(new BlockHasher(), pattern(300), 1337n))
  })
})

/** As where a page forbids to compile: everything throws. */
function WebAssemblyStub(): never {
  throw new Error('refused')
}
