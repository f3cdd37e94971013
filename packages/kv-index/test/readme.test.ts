import { beforeAll, describe, expect, it } from 'vitest'
import readme from '../README.md?raw'
import * as words from '../src/hash-words.js'
import * as hasher from '../src/hashing/block-hasher.js'
import * as hashes from '../src/hashing/block-hashes.js'
import * as session from '../src/hashing/session-prefix.js'
import * as tracking from '../src/hashing/tracking.js'
import { type BlockHashes, type OverlapTarget, type PromptBlocks, type StoreOutcome } from '../src/index.js'
import * as kvIndex from '../src/index.js'

const fixtures = import.meta.glob(['./fixtures/*.js'], { query: '?raw', import: 'default', eager: true })

it.each(Object.entries(fixtures))('the README shows the example %s as it runs here', (_file, text) => {
  expect(readme).toContain(`\`\`\`js\n${text}\`\`\`\n`)
})

describe('the example of hashing', () => {
  interface Example {
    readonly prefixOf: (tokens: readonly number[], namespace?: object) => bigint[]
    readonly conversationOf: (tokens: readonly number[], namespace?: object) => string | undefined
  }
  let example: Example
  beforeAll(async () => {
    // @ts-expect-error -- plain JavaScript, as an embedder would save it
    example = (await import('./fixtures/hash-prompt.js')) as Example
  })
  const turn = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)

  it('tells how far two prompts agree', () => {
    const first = example.prefixOf(turn(70))
    expect(first).toHaveLength(4)
    expect(example.prefixOf([...turn(40), ...turn(30)])).toEqual([
      ...first.slice(0, 2),
      expect.any(BigInt),
      expect.any(BigInt),
    ])
    expect(example.prefixOf([...turn(40), ...turn(30)])[2]).not.toBe(first[2])
    expect(example.prefixOf(turn(70), { cacheSalt: 'tenant-1' })[0]).not.toBe(first[0])
  })

  it('knows a conversation by its start', () => {
    expect(example.conversationOf(turn(31))).toBeUndefined()
    expect(example.conversationOf(turn(32))).toMatch(/^prefix:[0-9a-f]{16}$/u)
    expect(example.conversationOf(turn(500))).toBe(example.conversationOf(turn(32)))
  })
})

describe('the README on hashing', () => {
  const calls = Object.getOwnPropertyNames(hasher.BlockHasher.prototype).filter(
    (name) => name !== 'constructor',
  )
  const exported = Object.keys({ ...hasher, ...hashes, ...session, ...tracking, ...words })
  const others =
    'defaultSecretHex engineIdentifier engineObjectHash hashedBlocks objectsByBlock padToken replaceImageTokens HashWords isEagle ' +
    'imageToken setPublic setUnshared setGiven'

  it.each([...calls, ...exported, ...others.split(' ')])('names %s', (name) => {
    expect(readme).toMatch(new RegExp(`\\b${name}\\b`, 'u'))
  })
})

const tokensOf = (blocks: number, first = 0): number[] =>
  Array.from({ length: 16 * blocks }, (_, index) => first + index)

describe('the example of the index', () => {
  interface Example {
    readonly index: kvIndex.PrefixIndex
    readonly stored: (
      rank: number,
      engineHashes: readonly bigint[],
      tokens: readonly number[],
      parent?: bigint,
    ) => StoreOutcome
    readonly removed: (rank: number, engineHashes: readonly bigint[]) => string
    readonly overlapsOf: (tokens: readonly number[]) => number[]
  }
  let example: Example
  beforeAll(async () => {
    // @ts-expect-error -- plain JavaScript, as an embedder would save it
    example = (await import('./fixtures/follow-engines.js')) as Example
  })

  it('answers by content, whatever engines call it, and stops at a hole', () => {
    const { stored, removed, overlapsOf, index } = example
    expect(stored(0, [1n, 2n], tokensOf(2))).toBe('ok')
    expect(stored(0, [3n], tokensOf(1, 32), 2n)).toBe('ok')
    expect(stored(2, [2n ** 63n, 11n], tokensOf(2))).toBe('ok')
    expect(overlapsOf(tokensOf(3))).toEqual([3, 0, 2, 0])
    expect([removed(0, [2n]), overlapsOf(tokensOf(3))]).toEqual(['ok', [1, 0, 2, 0]])
    expect([stored(0, [2n], tokensOf(1, 16), 1n), overlapsOf(tokensOf(3))]).toEqual(['ok', [3, 0, 2, 0]])
    index.removeRank(0)
    expect([overlapsOf(tokensOf(3)), index.currentSize]).toEqual([[0, 0, 2, 0], 2])
  })

  it('refuses as the table says', () => {
    const { stored, removed } = example
    expect(stored(1, [5n], tokensOf(1), 11n)).toBe('parent_not_found')
    expect(stored(1, [5n, 6n], tokensOf(2), 6n)).toBe('invalid_sequence')
    expect(stored(2, [11n], tokensOf(1, 16), 2n ** 63n)).toBe('duplicate_store')
    expect(removed(1, [5n])).toBe('block_not_found')
  })
})

describe('the example of ranks without events', () => {
  interface Example {
    readonly dispatched: (rank: number, attempt: number, blocks: PromptBlocks, nowMs: number) => void
    readonly lookUp: (blocks: PromptBlocks, nowMs: number, target: OverlapTarget) => void
  }

  it('believes and predicts, each for its time', async () => {
    // @ts-expect-error -- plain JavaScript, as an embedder would save it
    const { dispatched, lookUp } = (await import('./fixtures/believe-decisions.js')) as Example
    const blocks: BlockHashes = new hashes.BlockHashes()
    new hasher.BlockHasher().hash(tokensOf(3), { blockSize: 16 }, blocks)
    const target = new kvIndex.OverlapRows(2)
    const overlapsAt = (nowMs: number): number[] => {
      lookUp(blocks, nowMs, target)
      return [...target.deviceBlocks]
    }
    dispatched(0, 1, blocks, 0)
    dispatched(1, 2, blocks, 0)
    expect([overlapsAt(1999), overlapsAt(2000), overlapsAt(119_999), overlapsAt(120_000)]).toEqual([
      [3, 3],
      [0, 3],
      [0, 3],
      [0, 0],
    ])
  })
})

describe('the limits of the README', () => {
  const run = (count: number): kvIndex.BlockRun => {
    const local = words.hashWords(Array.from({ length: count }, (_, block) => BigInt(block + 1)))
    return { hasParent: false, parentLow: 0, parentHigh: 0, engine: local, local, start: 0, count }
  }

  it('entries of all ranks and tiers: a store beyond them changes nothing, and room can be made', () => {
    const index = new kvIndex.PrefixIndex({ blockSize: 16, maxBlocks: 8 })
    expect(index.store(0, kvIndex.DEVICE, run(3))).toBe('ok')
    expect(index.store(1, kvIndex.HOST_PINNED, run(4))).toBe('ok')
    expect(index.store(2, kvIndex.DEVICE, run(2))).toBe('capacity')
    expect([index.sizeOf(2), index.currentSize, index.heaviestRank()]).toEqual([0, 3, 1])
    index.removeRank(index.heaviestRank())
    expect(index.store(2, kvIndex.DEVICE, run(2))).toBe('ok')
  })

  it('blocks that the rank holds already need no room', () => {
    const index = new kvIndex.PrefixIndex({ blockSize: 16, maxBlocks: 4 })
    for (const tier of [kvIndex.DEVICE, kvIndex.DISK]) {
      expect(index.store(0, tier, run(2))).toBe('ok')
      expect(index.store(0, tier, run(2))).toBe(tier === kvIndex.DEVICE ? 'duplicate_store' : 'ok')
      expect(index.store(1, tier, run(tier === kvIndex.DEVICE ? 3 : 1))).toBe('capacity')
    }
    expect(index.stats().entries).toMatchObject({ device: 2, disk: 2 })
  })

  it('the heaviest rank counts what it has on all tiers, and stops counting when it is removed', () => {
    const index = new kvIndex.PrefixIndex({ blockSize: 16, maxBlocks: 12 })
    index.store(0, kvIndex.DEVICE, run(4))
    index.store(1, kvIndex.DEVICE, run(2))
    for (const tier of [kvIndex.HOST_PINNED, kvIndex.EXTERNAL]) index.store(1, tier, run(3))
    expect(index.heaviestRank()).toBe(1)
    expect(index.store(2, kvIndex.DEVICE, run(1))).toBe('capacity')
    index.removeRank(1)
    expect([index.heaviestRank(), index.store(2, kvIndex.DEVICE, run(8))]).toEqual([0, 'ok'])
  })

  it('one call without a share sweeps every tier', () => {
    const index = new kvIndex.PrefixIndex({ blockSize: 16 })
    for (const tier of kvIndex.TIERS.keys()) index.store(0, tier, run(5))
    index.removeRank(0)
    expect(index.stats()).toMatchObject({ dyingRanks: 1, edges: 4 })
    expect(index.sweep()).toBe(false)
    expect(index.stats()).toMatchObject({ dyingRanks: 0, edges: 0, liveBlocks: 0 })
  })

  it('the heaviest rank is the one furthest beyond its capacity', () => {
    const index = new kvIndex.PrefixIndex({ blockSize: 16 })
    expect(index.heaviestRank()).toBe(-1)
    for (const [rank, blocks] of [5, 9, 4].entries()) index.store(rank, kvIndex.DEVICE, run(blocks))
    expect([
      index.heaviestRank(),
      index.heaviestRank([0, 8, 0]),
      index.heaviestRank([5, 8, Number.NaN]),
    ]).toEqual([1, 0, 2])
  })

  it.each([-1, 32_768, 1.5, Number.NaN])('rank %s is refused', (rank) => {
    const index = new kvIndex.PrefixIndex({ blockSize: 16 })
    const invalid = expect.objectContaining({ code: 'KV_INDEX_RANK_INVALID' })
    expect(() => index.store(rank, kvIndex.DEVICE, run(1))).toThrow(invalid)
    expect(index.currentSize).toBe(0)
    expect(index.store(32_767, kvIndex.DEVICE, run(1))).toBe('ok')
  })

  it.each([-1, 4, 0.5, Number.NaN])('tier %s is refused', (tier) => {
    const index = new kvIndex.PrefixIndex({ blockSize: 16 })
    const invalid = expect.objectContaining({ code: 'KV_INDEX_TIER_INVALID' })
    expect(() => index.store(0, tier, run(1))).toThrow(invalid)
    expect([index.currentSize, index.dump().events]).toEqual([0, []])
  })

  it.each([
    [0, 5],
    [1, 4],
    [-1, 2],
    [0, Number.NaN],
  ])('a run from %s on of %s blocks is refused where four are given', (start, count) => {
    const index = new kvIndex.PrefixIndex({ blockSize: 16 })
    const invalid = expect.objectContaining({ code: 'KV_INDEX_RUN_INVALID' })
    expect(() => index.store(0, kvIndex.DEVICE, { ...run(4), start, count })).toThrow(invalid)
    expect(index.currentSize).toBe(0)
  })

  it('the bound can be changed: what is held stays', () => {
    const index = new kvIndex.PrefixIndex({ blockSize: 16 })
    index.store(0, kvIndex.DEVICE, run(6))
    index.maxBlocks = 4
    expect([index.currentSize, index.store(1, kvIndex.DEVICE, run(1))]).toEqual([6, 'capacity'])
    expect(() => (index.maxBlocks = 0)).toThrow(expect.objectContaining({ code: 'KV_INDEX_OPTION_INVALID' }))
    expect(index.maxBlocks).toBe(4)
  })

  it('ranks that come and go without end take no more than a few', () => {
    const index = new kvIndex.PrefixIndex({ blockSize: 16 })
    let most = 0
    for (let life = 0; life < 2000; life++) {
      index.store(life % 100, kvIndex.DEVICE, run(1))
      index.removeRank(life % 100)
      most = Math.max(most, index.stats().dyingRanks)
    }
    expect(most).toBeLessThan(10)
    expect(index.currentSize).toBe(0)
  })
})

describe('the README on index and approximate mode', () => {
  it.each(Object.keys(kvIndex))('names the export %s', (name) => {
    expect(readme).toMatch(new RegExp(`\\b${name}\\b`, 'u'))
  })

  const calls = Object.getOwnPropertyNames(kvIndex.PrefixIndex.prototype).filter(
    (name) => name !== 'constructor',
  )
  it.each(calls)('names the call %s of the index', (name) => {
    expect(readme).toMatch(new RegExp(`\`${name}\\b`, 'u'))
  })

  it('names every error code, and none that does not exist', () => {
    const named = new Set(readme.match(/KV_INDEX_[A-Z_]*[A-Z]/gu))
    const ofEvents = ['KV_INDEX_ENDPOINT_INVALID', 'KV_INDEX_SOCKET_DUPLICATE']
    expect([...named, ...ofEvents].toSorted()).toEqual([...kvIndex.kvIndexErrorCodes].toSorted())
  })
})
