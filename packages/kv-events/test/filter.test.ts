import { describe, expect, test } from 'vitest'
import { MAX_GROUPS_PER_RANK, MAX_RANKS } from '../src/convert/source-memory.js'
import { BatchReader } from '../src/decode/batch-reader.js'
import type { Value } from './support/encode.js'
import { type Fields, batch, cleared, removed, stored, storedMap } from './support/events.js'
import { type Recorded, Source } from './support/recorded.js'

const reader = new BatchReader()
const newSource = (): Source => new Source(reader)

/** What becomes of each event: its type, or why it was dropped. */
function outcomes(source: Source, events: readonly Value[], rank = 0): string[] {
  return source.read(batch(events, rank))!.events.map(outcomeOf)
}

function outcomeOf(event: Recorded): string {
  return event.type === 'dropped' ? event.reason : event.type
}

describe('E7: a removal that carries only a group follows the kind learned from stores', () => {
  test('the main group need not be 0', () => {
    const source = newSource()
    expect(outcomes(source, [removed([1], { group: 0 }), removed([1], { group: 2 })])).toEqual([
      'removed',
      'unlearned_group_idx',
    ])
    expect(
      outcomes(source, [
        stored({ group: 0, kind: 'sliding_window' }),
        stored({ group: 2, kind: 'full_attention' }),
        removed([11], { group: 0 }),
        removed([11], { group: 2 }),
      ]),
    ).toEqual(['non_main_attention_kind', 'stored', 'non_main_attention_group', 'removed'])
  })

  test('the latest kind of a group wins', () => {
    const source = newSource()
    outcomes(source, [stored({ group: 0, kind: 'mamba' })])
    expect(outcomes(source, [removed([1], { group: 0 })])).toEqual(['non_main_attention_group'])
    outcomes(source, [stored({ group: 0, kind: 'brand_new' })])
    expect(outcomes(source, [removed([1], { group: 0 })])).toEqual(['unknown_kind'])
    outcomes(source, [stored({ group: 0, kind: 'mla_attention' })])
    expect(outcomes(source, [removed([1], { group: 0 })])).toEqual(['removed'])
  })

  test('kinds belong to one rank and outlive a clear, but not the engine', () => {
    const source = newSource()
    outcomes(source, [stored({ group: 5, kind: 'full_attention' }), cleared], 1)
    outcomes(source, [stored({ group: 5, kind: 'full_attention' })], 2)
    expect(outcomes(source, [removed([1], { group: 5 })], 1)).toEqual(['removed'])
    expect(outcomes(source, [removed([1], { group: 5 })], 3)).toEqual(['unlearned_group_idx'])
    source.memory.forgetRank(1)
    expect(outcomes(source, [removed([1], { group: 5 })], 1)).toEqual(['unlearned_group_idx'])
    expect(outcomes(source, [removed([1], { group: 5 })], 2)).toEqual(['removed'])
    source.memory.forgetAll()
    expect(outcomes(source, [removed([1], { group: 5 })], 2)).toEqual(['unlearned_group_idx'])
  })

  test('only stores of the device and host tiers teach, and only what passed the tests before', () => {
    const nothing: Fields[] = [
      { medium: 'DISK' },
      { medium: 'EXTERNAL' },
      { medium: 'moon' },
      { locality: 'REMOTE' },
      { ownership: 'kvcr' },
    ]
    for (const fields of nothing) {
      const source = newSource()
      outcomes(source, [stored({ ...fields, group: 5, kind: 'full_attention' })])
      outcomes(source, [removed([1], { group: 5, kind: 'full_attention' })])
      expect(outcomes(source, [removed([1], { group: 5 })])).toEqual(['unlearned_group_idx'])
    }
    const source = newSource()
    outcomes(source, [stored({ medium: 'CPU', group: 5, kind: 'full_attention' })])
    expect(outcomes(source, [removed([1], { group: 5 })])).toEqual(['removed'])
  })

  test('at most 64 groups a rank and 1,024 ranks are remembered, the first learned goes first', () => {
    const source = newSource()
    const groups = Array.from({ length: MAX_GROUPS_PER_RANK + 1 }, (_, group) => group + 1)
    outcomes(
      source,
      groups.map((group) => stored({ group, kind: 'full_attention' })),
    )
    expect(
      outcomes(
        source,
        [1, 2, 65].map((group) => removed([1], { group })),
      ),
    ).toEqual(['unlearned_group_idx', 'removed', 'removed'])
    for (let rank = 1; rank <= MAX_RANKS; rank++)
      outcomes(source, [stored({ group: 1, kind: 'full_attention' })], rank)
    expect(source.memory.rankCount).toBe(MAX_RANKS)
    expect(outcomes(source, [removed([1], { group: 2 })])).toEqual(['unlearned_group_idx'])
  })
})

describe('E8: unknown medium, ownership and locality drop the event without an id', () => {
  test.each<[Fields, string]>([
    [{ medium: 'gpu' }, 'unknown_medium'],
    [{ medium: 'FS' }, 'unknown_medium'],
    [{ medium: 'GPU ' }, 'unknown_medium'],
    [{ medium: 'constructor' }, 'unknown_medium'],
    [{ locality: 'REMOTE' }, 'non_local_locality'],
    [{ locality: 'local' }, 'non_local_locality'],
    [{ ownership: 'kvcr' }, 'unsupported_ownership'],
    [{ ownership: 'cache_owner' }, 'unknown_ownership'],
  ])('%j', (fields, reason) => {
    const source = newSource()
    const expected = { type: 'dropped', dpRank: 3, outcome: 'filtered', reason, takesId: false }
    for (const event of [stored(fields), storedMap(fields), removed([1], fields)])
      expect(source.read(batch([event], 3))!.events).toEqual([expected])
    expect(source.held.size).toBe(0)
    expect(source.memory.rankCount).toBe(0)
  })

  test('empty strings are absent', () => {
    const empty = { medium: '', kind: '', locality: '', ownership: '' }
    expect(outcomes(newSource(), [stored(empty), storedMap(empty), removed([1], empty)])).toEqual([
      'stored',
      'stored',
      'removed',
    ])
  })
})

describe('which reason counts when several apply', () => {
  const all = { ownership: 'kvcr', locality: 'REMOTE', medium: 'moon', kind: 'mamba', group: 1 }

  test('the first in order', () => {
    const { ownership: _, ...local } = all
    const { locality: __, ...known } = local
    const { medium: ___, ...kind } = known
    const { kind: ____, ...group } = kind
    expect(
      outcomes(
        newSource(),
        [all, local, known, kind, group].map((fields) => stored(fields)),
      ),
    ).toEqual([
      'unsupported_ownership',
      'non_local_locality',
      'unknown_medium',
      'non_main_attention_kind',
      'non_main_attention_group',
    ])
  })

  test('ownership alone is asked of a clear, and nothing of an ignored event', () => {
    const events = [
      ['AllBlocksCleared', 'kvcr'],
      ['AllBlocksCleared', ''],
      ['Ignored', 'kvcr'],
    ]
    expect(outcomes(newSource(), events)).toEqual(['unsupported_ownership', 'cleared', 'ignored_event'])
  })

  test('filters come before conversion', () => {
    const event = stored({ hashes: [1, 1], blockSize: 9, kind: 'mamba' })
    expect(outcomes(newSource(), [event])).toEqual(['non_main_attention_kind'])
  })
})

describe('attention kinds', () => {
  test.each<[string, string]>([
    ['full_attention', 'stored'],
    ['mla_attention', 'stored'],
    ['sink_full_attention', 'stored'],
    ['sliding_window', 'non_main_attention_kind'],
    ['sliding_window_mla', 'non_main_attention_kind'],
    ['chunked_local_attention', 'non_main_attention_kind'],
    ['mamba', 'non_main_attention_kind'],
    ['cross_attention', 'non_main_attention_kind'],
    ['encoder_only_attention', 'non_main_attention_kind'],
    ['Full_Attention', 'unknown_kind'],
    ['__proto__', 'unknown_kind'],
  ])('%s', (kind, outcome) => {
    expect(outcomes(newSource(), [stored({ kind }), stored({ kind, group: 3 })])).toEqual([outcome, outcome])
    const deeper = [stored({ kind, medium: 'NVME' }), removed([1], { kind, medium: 'SHARED' })]
    expect(outcomes(newSource(), deeper)).toEqual(['stored', 'removed'])
  })
})
