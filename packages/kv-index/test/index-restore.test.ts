import { describe, expect, test } from 'vitest'
import {
  DEVICE,
  DISK,
  type DumpEvent,
  type IndexDump,
  KvIndexError,
  PrefixIndex,
  hashWords,
} from '../src/index.js'
import { matchesOf } from './support/match-table.js'
import { namesOf, pathRun } from './support/runs.js'

const path = [1n, 2n, 3n, 4n]
const branch = [1n, 2n, 8n, 9n]

function filled(): PrefixIndex {
  const index = new PrefixIndex({ blockSize: 16 })
  for (const rank of [1, 2]) index.store(rank, DEVICE, pathRun(path))
  index.store(1, DEVICE, pathRun(branch, 2))
  index.store(2, DISK, pathRun([...path, 5n], 4))
  return index
}

function matches(index: PrefixIndex): unknown {
  return [path, branch, [...path, 5n]].map((one) => matchesOf(index, one, 10))
}

function codeOf(action: () => void): string {
  try {
    action()
  } catch (error) {
    return KvIndexError.isInstance(error) ? error.code : `no KvIndexError: ${String(error)}`
  }
  return 'nothing thrown'
}

/** Restores into an index that has something already. */
function refused(dump: IndexDump): { code: string; changed: boolean } {
  const index = new PrefixIndex({ blockSize: 16 })
  index.store(3, DEVICE, pathRun(path))
  const state = (): string => JSON.stringify([matches(index), index.currentSize, index.stats().entries])
  const before = state()
  const code = codeOf(() => index.restore(dump))
  return { code, changed: state() !== before }
}

const invalid = { code: 'KV_INDEX_DUMP_INVALID', changed: false }

describe('I2: restore', () => {
  test('into an empty index, twice, through a structured clone', () => {
    const copy = new PrefixIndex({ blockSize: 16 })
    const dump = filled().dump()
    copy.restore(dump)
    expect(matches(copy)).toEqual(matches(filled()))
    const { entries } = copy.stats()
    copy.restore(dump)
    expect([matches(copy), copy.stats().entries]).toEqual([matches(filled()), entries])
    expect(copy.dump()).toEqual(dump)
  })

  test('beside what is there, under other ranks, some left out', () => {
    const index = new PrefixIndex({ blockSize: 16 })
    index.store(5, DEVICE, pathRun(path, 0, 7n))
    index.restore(filled().dump(), (rank) => (rank === 2 ? undefined : rank + 6))
    expect(matchesOf(index, branch, 10)).toEqual({ 5: [2, 0, 0, 0], 7: [4, 0, 0, 0] })
    expect([index.sizeOf(2), index.sizeOf(8), index.sizeOf(7)]).toEqual([0, 0, 6])
  })

  test('a dump of another block size', () => {
    expect(refused({ ...filled().dump(), blockSize: 32 })).toEqual(invalid)
  })

  test('a dump that was cut at any event, or inside of one', () => {
    const dump = filled().dump()
    for (let kept = 0; kept < dump.events.length; kept++) {
      expect(refused({ ...dump, events: dump.events.slice(0, kept) }), `${kept} events`).toEqual(invalid)
      const { engine, local } = dump.events[kept]!
      const halves = { engine: engine.slice(2), local: local.slice(2) }
      const events = dump.events.with(kept, { ...dump.events[kept]!, ...halves })
      expect(refused({ ...dump, events }), `event ${kept} shorter`).toEqual(invalid)
    }
  })

  const names = namesOf(path)
  const last: DumpEvent = {
    rank: 4,
    tier: DEVICE,
    hasParent: false,
    parent: 0n,
    engine: hashWords(names),
    local: hashWords(path),
  }

  test.each<[string, Partial<DumpEvent>]>([
    ['a rank that no index has', { rank: 40_000 }],
    ['a negative rank', { rank: -1 }],
    ['half a rank', { rank: 0.5 }],
    ['a rank that is no number', { rank: '1' as never }],
    ['a tier that nobody knows', { tier: 4 }],
    ['a tier that is no index', { tier: 'device' as never }],
    ['columns of different lengths', { local: hashWords(path.slice(1)) }],
    ['half a hash', { engine: new Uint32Array(7), local: new Uint32Array(7) }],
    ['hashes that are no words', { engine: names as never, local: path as never }],
    ['a parent that is no hash', { hasParent: true, parent: 12 as never }],
    ['no parent at all', { hasParent: true, parent: undefined as never }],
    ['a parent of more than 64 bits', { hasParent: true, parent: 1n << 64n }],
    ['a parent below 0', { hasParent: true, parent: -1n }],
  ])('the last event has %s', (_, wrong) => {
    const dump = filled().dump()
    const events = [...dump.events, { ...last, ...wrong }]
    const blocks = events.reduce((sum, { engine }) => sum + (engine.length >> 1), 0)
    expect(refused({ ...dump, blocks, events })).toEqual(invalid)
  })

  test('the same event as it should be', () => {
    const dump = filled().dump()
    expect(refused({ ...dump, blocks: dump.blocks + 4, events: [...dump.events, last] })).toEqual({
      code: 'nothing thrown',
      changed: true,
    })
  })

  test('a dump that is none', () => {
    for (const dump of [
      {},
      { blockSize: 16 },
      { blockSize: 16, blocks: 0 },
      { blockSize: 16, blocks: 0, events: [null] },
      null,
    ]) {
      expect(refused(dump as never), JSON.stringify(dump)).toEqual(invalid)
    }
  })
})
