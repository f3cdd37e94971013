import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RequestSeeds } from '../src/hashing/request-seed.js'
import { writeUtf8 } from '../src/hashing/utf8.js'
import { hashOf } from '../src/index.js'
import { defaultSecret, hashed, hashers, kernels, someTokens } from './support/hashers.js'
import { naiveXxh3 } from './support/naive-hashing.js'

declare const TextEncoder: new () => { readonly encode: (text: string) => Uint8Array }

const { 'the WebAssembly kernel': hasher } = hashers
const tokens = someTokens(64)
const localOf = (loraName?: string | null, cacheSalt?: string | null): bigint[] =>
  hashed(hasher, tokens, { blockSize: 16, loraName, cacheSalt }).local

// Few texts, so that equal ones and swaps are common.
const text = fc.constantFrom('', 'a', 'b', 'tenant-1', 'адаптер-1', '😀', 'x'.repeat(2000))
const pair = fc.tuple(text, text)

describe.each(kernels)('H3: the seed of a request, by %s', (_name, own) => {
  it.each([
    [null, null, 1337n],
    ['', '', 1337n],
    [undefined, undefined, 1337n],
    ['adapter-a', null, 8842669519798868182n],
    [null, 'tenant-1', 13131544620552358486n],
    ['adapter-a', 'tenant-1', 3527470066641673715n],
    ['tenant-1', 'adapter-a', 18215020489689503861n],
    ['адаптер-1', null, 16971901354483753332n],
  ])('of LoRA %j and salt %j', (loraName, cacheSalt, seed) => {
    const { low, high } = own.seedOf(loraName, cacheSalt)
    expect(hashOf(low, high)).toBe(seed)
  })

  it('is the base seed and a hash of each text with a seed of its own', () => {
    const utf8 = (value: string): Uint8Array => new TextEncoder().encode(value)
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (lora, salt) => {
        const { low, high } = own.seedOf(lora, salt)
        const name = lora === '' ? 0n : naiveXxh3(utf8(lora), 0n, defaultSecret)
        const salted = salt === '' ? 0n : naiveXxh3(utf8(salt), 1n, defaultSecret)
        expect(hashOf(low, high)).toBe(BigInt.asUintN(64, 1337n + name + salted))
      }),
      { seed: 3, numRuns: 200 },
    )
  })
})

describe('H3: isolation and equality', () => {
  it('equal pairs share every block, different ones none; empty equals absent', () => {
    fc.assert(
      fc.property(pair, pair, ([lora, salt], [otherLora, otherSalt]) => {
        const own = localOf(lora, salt)
        const other = localOf(otherLora, otherSalt)
        const areEqual = lora === otherLora && salt === otherSalt
        for (const [block, hash] of own.entries()) expect(hash === other[block]).toBe(areEqual)
        expect(localOf(lora === '' ? null : lora, salt === '' ? undefined : salt)).toEqual(own)
      }),
      { seed: 5, numRuns: 200 },
    )
  })

  it('a seed given takes the place of both names, and a kept one stays as it was', () => {
    const seed = hasher.seedOf('adapter-a', 'tenant-1')
    const copy = { ...seed }
    localOf('other', 'texts')
    expect(seed).toEqual(copy)
    const given = hashed(hasher, tokens, { blockSize: 16, seed, loraName: 'ignored', cacheSalt: 'ignored' })
    expect(given.local).toEqual(localOf('adapter-a', 'tenant-1'))
  })

  it('a text that is hashed each time does not disturb the blocks', () => {
    const long = 'x'.repeat(30_000)
    for (const options of [{}, { objectsByBlock: [[1n], [], [2n]] }]) {
      const seed = hasher.seedOf(long, long)
      const named = { blockSize: 16, loraName: long, cacheSalt: long, ...options }
      expect(hashed(hasher, tokens, named)).toEqual(
        hashed(hasher, tokens, { blockSize: 16, seed, ...options }),
      )
    }
  })
})

describe('texts of recent requests', () => {
  const counting = (): { seeds: RequestSeeds; hashed: string[] } => {
    const texts: string[] = []
    const seeds = new RequestSeeds((value, seed) => {
      texts.push(`${seed} ${value.slice(0, 12)}`)
      return { low: value.length, high: seed }
    })
    return { seeds, hashed: texts }
  }

  it('are hashed once, names and salts apart', () => {
    const { seeds, hashed: texts } = counting()
    for (let round = 0; round < 3; round++) seeds.seedOf('a', 'a')
    expect(texts).toEqual(['0 a', '1 a'])
  })

  it('are forgotten: at most 1,024 names are remembered, and those in use stay', () => {
    const { seeds, hashed: texts } = counting()
    for (let round = 0; round < 3000; round++) {
      seeds.seedOf(`name-${round}`, undefined)
      seeds.seedOf('in use', undefined)
    }
    expect(texts.filter((value) => value === '0 in use')).toHaveLength(1)
    texts.length = 0
    // From the last to the first: each one that is hashed again is one that was forgotten.
    for (let round = 2999; round >= 0; round--) seeds.seedOf(`name-${round}`, undefined)
    expect(texts.length).toBeGreaterThanOrEqual(3000 - 1024)
    expect(texts.length).toBeLessThan(3000 - 400)
  })

  it('over 1,024 characters are not remembered', () => {
    const { seeds, hashed: texts } = counting()
    for (let round = 0; round < 2; round++) {
      seeds.seedOf('x'.repeat(1024), undefined)
      seeds.seedOf(undefined, 'y'.repeat(1025))
    }
    expect(texts).toEqual([`0 ${'x'.repeat(12)}`, `1 ${'y'.repeat(12)}`, `1 ${'y'.repeat(12)}`])
  })
})

describe('UTF-8', () => {
  const written = (value: string): number[] => {
    const bytes = new Uint8Array(3 * value.length)
    return [...bytes.subarray(0, writeUtf8(value, bytes))]
  }

  it('is that of the platform for every well-formed text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        expect(written(value)).toEqual([...new TextEncoder().encode(value)])
      }),
      { seed: 6, numRuns: 500 },
    )
  })

  it('keeps surrogates that stand alone apart', () => {
    const texts = ['\uD800', '\uD801', '\uDC00', '\uFFFD', '\uDC00\uD800', 'a\uD800', '\uD800a']
    expect(new Set(texts.map((value) => written(value).join())).size).toBe(texts.length)
  })
})
