import { describe, expect, it } from 'vitest'
import { BlockHashes, TrackingHashes, hashesOf, sessionIdOfPrefix } from '../src/index.js'
import { codeOf, hashers, kernels, someTokens } from './support/hashers.js'

const { 'the WebAssembly kernel': hasher } = hashers

/** Counts up in both halves. */
function counter() {
  let state = 0
  return {
    draws: () => state,
    step: () => void state++,
    get low() {
      return state
    },
    get high() {
      return 0xffff_ffff - state
    },
  }
}

describe('tracking hashes', () => {
  const own = new BlockHashes()
  hasher.hash(someTokens(80), { blockSize: 16 }, own)

  it('are the sequence hashes unless said otherwise, and a copy of them', () => {
    const tracking = new TrackingHashes()
    tracking.setPublic(own)
    expect(tracking.isChained).toBe(true)
    expect(hashesOf(tracking.words, tracking.count)).toEqual(hashesOf(own.sequence, own.count))
    const kept = tracking.words[0]
    own.sequence[0]! ^= 1
    expect(tracking.words[0]).toBe(kept)
    own.sequence[0]! ^= 1
  })

  it('are one draw a block where reuse is not assumed: equal prompts share nothing', () => {
    const tracking = new TrackingHashes()
    const random = counter()
    tracking.setUnshared(3, random)
    const first = hashesOf(tracking.words, tracking.count)
    tracking.setUnshared(3, random)
    const second = hashesOf(tracking.words, tracking.count)
    expect(random.draws()).toBe(6)
    expect(first).toEqual([0xffff_fffe_0000_0001n, 0xffff_fffd_0000_0002n, 0xffff_fffc_0000_0003n])
    expect(new Set([...first, ...second]).size).toBe(6)
    expect(tracking.isChained).toBe(false)
  })

  it('are what a client sent, signed or unsigned, and never taken for a chain', () => {
    const tracking = new TrackingHashes()
    tracking.setGiven([-1n, 1n << 63n, 7n, 7n])
    expect(hashesOf(tracking.words, tracking.count)).toEqual([(1n << 64n) - 1n, 1n << 63n, 7n, 7n])
    expect(tracking.isChained).toBe(false)
  })

  it('of a client that cannot be leave those of before', () => {
    const tracking = new TrackingHashes()
    tracking.setGiven([5n])
    for (const bad of [1n << 64n, -(1n << 63n) - 1n, 3, '3', undefined])
      expect(codeOf(() => tracking.setGiven([1n, bad as bigint]))).toBe('KV_INDEX_HASH_INVALID')
    expect(hashesOf(tracking.words, tracking.count)).toEqual([5n])
  })

  it('of a shorter request hide those of a longer one', () => {
    const tracking = new TrackingHashes()
    tracking.setPublic(own)
    tracking.setGiven([5n])
    expect(tracking.count).toBe(1)
    tracking.setGiven([])
    expect(tracking.count).toBe(0)
  })
})

describe.each(kernels)('H1: the session id of a prefix, by %s', (_name, own) => {
  const turn = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)

  it.each<[number[], object, string | undefined]>([
    [turn(8), {}, 'prefix:3fc6d96b481ac357'],
    [turn(29), {}, 'prefix:3fc6d96b481ac357'],
    [turn(7), {}, undefined],
    [[], {}, undefined],
    [[2, ...turn(8).slice(1)], {}, 'prefix:bba54ae006988f32'],
    [turn(8), { cacheSalt: 'tenant-1' }, 'prefix:53b31c6d3da26eb8'],
    [turn(8), { loraName: '', cacheSalt: null }, 'prefix:3fc6d96b481ac357'],
  ])('of %j with %j', (tokens, namespace, id) => {
    expect(sessionIdOfPrefix(own, tokens, 8, namespace)).toBe(id)
    expect(sessionIdOfPrefix(own, Uint32Array.from(tokens), 8, namespace)).toBe(id)
    const seed = own.seedOf(undefined, (namespace as { cacheSalt?: string }).cacheSalt)
    expect(sessionIdOfPrefix(own, tokens, 8, { seed })).toBe(id)
  })

  it('has 16 digits always, whatever the prefix, up to prefixes of many tokens', () => {
    for (let first = 0; first < 200; first++)
      expect(sessionIdOfPrefix(own, [first], 1)).toMatch(/^prefix:[0-9a-f]{16}$/u)
    const tokens = someTokens(300_000)
    const id = sessionIdOfPrefix(own, tokens, 200_000)
    expect(sessionIdOfPrefix(own, tokens.subarray(0, 250_000), 200_000)).toBe(id)
    expect(sessionIdOfPrefix(own, tokens.subarray(1), 200_000)).not.toBe(id)
  })

  it('looks at the tokens of the prefix alone', () => {
    expect(sessionIdOfPrefix(own, [...turn(8), -1], 8)).toBe('prefix:3fc6d96b481ac357')
    expect(codeOf(() => sessionIdOfPrefix(own, [-1, ...turn(8)], 8))).toBe('KV_INDEX_TOKEN_INVALID')
  })

  it.each([0, -1, 1.5, NaN, '8', undefined])('of %j tokens is refused', (count) => {
    expect(codeOf(() => sessionIdOfPrefix(own, turn(8), count as number))).toBe(
      'KV_INDEX_PREFIX_TOKENS_INVALID',
    )
  })
})
