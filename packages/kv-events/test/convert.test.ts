import { BlockHasher, BlockHashes, TIERS, engineIdentifier, hashesOf } from '@router/kv-index'
import { describe, expect, test } from 'vitest'
import { BatchReader } from '../src/decode/batch-reader.js'
import type { BatchContext } from '../src/normalised.js'
import type { Value } from './support/encode.js'
import { type Fields, batch, cleared, removed, stored, storedMap } from './support/events.js'
import { type Recorded, Source } from './support/recorded.js'

const hasher = new BlockHasher()
const reader = new BatchReader({ hasher })

function read(fields: Fields, context: Partial<BatchContext> = {}): Recorded {
  const [direct, viaMap] = [stored(fields), storedMap(fields)].map(
    (event) => new Source(reader, context).read(batch([event]))!.events,
  )
  expect(viaMap).toEqual(direct)
  return direct![0]!
}

/** Local hashes of tokens as a whole, by the hasher that requests use. */
function hashed(tokens: readonly number[], blockSize: number, more = {}): bigint[] {
  const target = new BlockHashes()
  hasher.hashLocal(Uint32Array.from(tokens), { blockSize, ...more }, target)
  return hashesOf(target.local, target.count)
}

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)
const dropped = (outcome: string, reason: string, takesId: boolean): object => ({
  type: 'dropped',
  dpRank: 0,
  outcome,
  reason,
  takesId,
})

describe('E4: wrong block sizes and short tokens', () => {
  test.each([0, 1, 3, 5, 8, 2 ** 32 - 1])('block size %i where the partition has 4', (blockSize) => {
    const expected = dropped('noop', 'block_size_mismatch', true)
    expect(read({ hashes: [1, 2], tokens: range(16), blockSize })).toEqual(expected)
  })

  test('short tokens store the leading blocks', () => {
    for (let count = 0; count < 12; count++) {
      const engine = [1n, 2n, 3n].slice(0, Math.floor(count / 4))
      expect(read({ hashes: [1, 2, 3], tokens: range(count), parent: 9 })).toMatchObject({
        engine,
        local: hashed(range(count), 4),
        parent: 9n,
        flags: ['tokens_short'],
      })
    }
    expect(read({ hashes: [1, 2, 3], tokens: range(12) })).toMatchObject({ flags: [] })
  })

  test('token pairs that run short', () => {
    const pairs = (count: number): Value => range(count).map((token) => [token, token + 1])
    expect(read({ hashes: [1, 2], tokens: pairs(7) })).toMatchObject({
      engine: [1n],
      local: hashed(range(5), 4, { isEagle: true }),
      isEagle: true,
      flags: ['tokens_short'],
    })
    expect(read({ hashes: [1, 2], tokens: pairs(8) })).toMatchObject({ engine: [1n, 2n], flags: [] })
  })

  test('tokens beyond the last hash are not looked at', () => {
    expect(read({ hashes: [1], tokens: range(11) })).toMatchObject({ local: hashed(range(4), 4), flags: [] })
  })

  test('an event without blocks is handed on', () => {
    expect(read({ hashes: [], tokens: [], parent: 3 })).toMatchObject({ engine: [], parent: 3n, flags: [] })
  })
})

describe('events that turn into nothing', () => {
  test.each<[string, Fields, string]>([
    ['a hash twice', { hashes: [1, 2, 1] }, 'repeated_hash'],
    ['a hash twice, written in two ways', { hashes: [-1, 2n ** 64n - 1n] }, 'repeated_hash'],
    ['the parent among the blocks', { hashes: [1, 2, 3], parent: 3 }, 'parent_is_own_block'],
    ['twice, and of another block size', { hashes: [1, 1], blockSize: 8 }, 'repeated_hash'],
  ])('%s', (_, fields, reason) => {
    expect(read({ tokens: range(12), ...fields })).toEqual(dropped('noop', reason, true))
  })

  test.each([7, 100, 5000])('the last of %i hashes is the first again', (count) => {
    const hashes = range(count - 1).map((index) => index * 2 ** 31)
    const tokens = range(count)
    expect(read({ hashes, tokens, blockSize: 1 }, { blockSize: 1 })).toMatchObject({ type: 'stored' })
    const event = { hashes: [...hashes, hashes[0]!], tokens, blockSize: 1 }
    expect(read(event, { blockSize: 1 })).toEqual(dropped('noop', 'repeated_hash', true))
  })

  test('hashes that crowd into one slot do not hide a repetition', () => {
    const crowd = crowded(3000)
    const tokens = range(3001)
    expect(read({ hashes: crowd, tokens, blockSize: 1 }, { blockSize: 1 })).toMatchObject({ type: 'stored' })
    const event = { hashes: [...crowd, crowd[1]!], tokens, blockSize: 1 }
    expect(read(event, { blockSize: 1 })).toEqual(dropped('noop', 'repeated_hash', true))
  })
})

/** Hashes that start at one slot of a table, whatever its size: low halves that mix to 0. */
function crowded(count: number): bigint[] {
  return range(count).map((high) => {
    const low = Math.imul(high, 0x85eb_ca6b) >>> 0
    return (BigInt(high) << 32n) | BigInt(low)
  })
}

describe('blocks', () => {
  test.each([1, 2, 3, 16])('%i of them, hashed as requests are', (blocks) => {
    for (const namespace of [{}, { lora: 'a' }, { salt: 't' }]) {
      const tokens = range(blocks * 4)
      const options = {
        loraName: 'lora' in namespace ? namespace.lora : undefined,
        cacheSalt: 'salt' in namespace ? namespace.salt : undefined,
      }
      const event = { hashes: range(blocks), tokens, ...namespace }
      expect(read(event)).toMatchObject({
        local: hashed(tokens, 4, options),
        engine: range(blocks).map(BigInt),
      })
    }
  })

  test('objects go to their blocks, surplus lists to none', () => {
    const extraKeys = [null, [engineIdentifier(7n), engineIdentifier(3n)], null, [engineIdentifier(9n)]]
    const event = read({ hashes: [1, 2, 3], tokens: range(12), extraKeys })
    expect(event).toMatchObject({ local: hashed(range(12), 4, { objectsByBlock: [[], [3n, 7n], []] }) })
    expect(hashed(range(12), 4)).not.toEqual(hashed(range(12), 4, { objectsByBlock: [[], [3n, 7n]] }))
  })

  test('image tokens become pad values where the block has objects', () => {
    const extraKeys = [[engineIdentifier(7n)], null]
    const tokens = [5, 5, 1, 5, 5, 2, 3, 4]
    const event = read({ hashes: [1, 2], tokens, extraKeys }, { imageToken: 5 })
    const pad = 1_000_007
    expect(event).toMatchObject({ local: hashed([pad, pad, 1, pad, 5, 2, 3, 4], 4) })
  })

  test('a layout that contradicts the registration is reported', () => {
    const pairs = range(8).map((token) => [token, token + 1])
    expect(read({ tokens: pairs }, { isEagle: false })).toMatchObject({ flags: ['contradicts_layout'] })
    expect(read({ tokens: pairs }, { isEagle: true })).toMatchObject({ flags: [] })
    expect(read({}, { isEagle: true })).toMatchObject({ flags: ['contradicts_layout'] })
    expect(read({ tokens: [] }, { isEagle: true })).toMatchObject({ flags: ['tokens_short'] })
    expect(read({})).toMatchObject({ flags: [] })
  })

  test.each([
    ['DEVICE', 0],
    ['CPU_TIER1', 1],
    ['STORAGE', 2],
    ['NETWORK', 3],
  ])('medium %s', (medium, tier) => {
    expect(read({ medium })).toMatchObject({ tier: TIERS[tier] })
    const events = new Source(reader).read(batch([removed([1, 2], { medium }), cleared]))!.events
    expect(events).toMatchObject([{ tier: TIERS[tier], engine: [1n, 2n] }, { type: 'cleared' }])
  })
})
