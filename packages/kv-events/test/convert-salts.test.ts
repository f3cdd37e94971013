import { describe, expect, test } from 'vitest'
import { SaltTable } from '../src/convert/salt-table.js'
import { MAX_AMBIGUOUS_PER_RANK, SourceMemory } from '../src/convert/source-memory.js'
import { BatchReader } from '../src/decode/batch-reader.js'
import type { Value } from './support/encode.js'
import { type Fields, batch, cleared, removed, saltKeys, stored, storedMap } from './support/events.js'
import { Source } from './support/recorded.js'

const reader = new BatchReader()
const AMBIGUOUS = 'ambiguous_cache_namespace'

/** Salt of each store (`-` = none), or why it was dropped; other events are left out. */
function salts(source: Source, events: readonly Value[], rank = 0): (string | undefined)[] {
  return source.read(batch(events, rank))!.events.flatMap((event) => {
    if (event.type === 'stored') return [event.salt ?? '-']
    return event.type === 'dropped' ? [event.reason] : []
  })
}

const store = (hash: number, parent?: number, fields: Fields = {}): Value =>
  stored({ hashes: [hash], ...(parent === undefined ? {} : { parent }), ...fields })
const salted = (hash: number, salt: string, parent?: number): Value =>
  store(hash, parent, { extraKeys: saltKeys(salt) })

describe('E8: salt follows the chain', () => {
  test('children inherit, in the same batch and in later ones, on device and host tiers', () => {
    const source = new Source(reader)
    const events = [salted(1, 't'), store(2, 1), store(3, 2, { medium: 'CPU' })]
    expect(salts(source, events)).toEqual(['t', 't', 't'])
    expect(salts(source, [store(4, 3), store(9), store(5, 77)])).toEqual(['t', '-', '-'])
    expect(salts(source, [storedMap({ hashes: [6], parent: 4 })])).toEqual(['t'])
  })

  test('an own salt wins, and goes on from there', () => {
    const source = new Source(reader)
    expect(salts(source, [salted(1, 't'), salted(2, 'u', 1), store(3, 2)])).toEqual(['t', 'u', 'u'])
  })

  test('disk and external stores neither inherit nor pass on', () => {
    const source = new Source(reader)
    for (const medium of ['DISK', 'EXTERNAL']) {
      const own = store(20, undefined, { medium, extraKeys: saltKeys('d') })
      const events = [salted(1, 't'), store(2, 1, { medium }), own, store(21, 20)]
      expect(salts(source, events)).toEqual(['t', '-', 'd', '-'])
    }
  })

  test('every block of a store passes its salt on', () => {
    const tokens = [1, 2, 3, 4, 5, 6, 7, 8]
    const source = new Source(reader)
    const first = stored({ hashes: [1, 2], tokens, extraKeys: saltKeys('t') })
    expect(salts(source, [first, store(3, 1), store(4, 2)])).toEqual(['t', 't', 't'])
  })

  test('blocks for which the tokens ran short pass nothing on', () => {
    const source = new Source(reader)
    const first = stored({ hashes: [1, 2], extraKeys: saltKeys('t') })
    expect(salts(source, [first, store(3, 1), store(4, 2)])).toEqual(['t', 't', '-'])
  })

  test('salts belong to one rank', () => {
    const source = new Source(reader)
    salts(source, [salted(1, 't')], 1)
    expect(salts(source, [store(2, 1)], 2)).toEqual(['-'])
    expect(salts(source, [store(2, 1)], 1)).toEqual(['t'])
  })

  test('a removal forgets the salt once no tier holds the block', () => {
    const source = new Source(reader)
    salts(source, [salted(1, 't'), store(1, undefined, { medium: 'CPU', extraKeys: saltKeys('t') })])
    expect(salts(source, [removed([1]), store(2, 1)])).toEqual(['t'])
    expect(salts(source, [removed([1], { medium: 'CPU' }), store(3, 1)])).toEqual(['-'])
  })

  test('a removal that another copy outlives forgets nothing', () => {
    const source = new Source(reader)
    salts(source, [salted(1, 't')])
    source.context.holds = () => true
    expect(salts(source, [removed([1]), store(2, 1)])).toEqual(['t'])
  })

  test('cleared and a new life of the engine forget salts', () => {
    const source = new Source(reader)
    expect(salts(source, [salted(1, 't'), cleared, store(2, 1)])).toEqual(['t', '-'])
    salts(source, [salted(3, 't')])
    source.memory.forgetRank(0)
    expect(salts(source, [store(4, 3)])).toEqual(['-'])
  })

  test('a store that the index refuses teaches nothing', () => {
    const source = new Source(reader)
    source.refused.add(1n)
    expect(salts(source, [salted(1, 't'), store(2, 1)])).toEqual(['t', '-'])
    expect(source.memory.hasSalts(0)).toBe(false)
    expect(salts(source, [salted(5, 't'), salted(6, 'u', 1), salted(5, 't'), store(7, 6)])).toEqual([
      't',
      'u',
      't',
      '-',
    ])
  })

  test('stores are to be applied at once only where salts are in play', () => {
    const source = new Source(reader)
    const flagsOf = (event: Value, rank: number): unknown => source.read(batch([event], rank))!.events[0]
    expect(flagsOf(store(1), 0)).toMatchObject({ flags: [] })
    expect(flagsOf(salted(2, 't'), 0)).toMatchObject({ flags: ['must_apply_now'] })
    expect(flagsOf(store(3), 0)).toMatchObject({ flags: ['must_apply_now'] })
    expect(flagsOf(store(3, undefined, { medium: 'DISK' }), 0)).toMatchObject({ flags: [] })
    expect(flagsOf(store(3), 1)).toMatchObject({ flags: [] })
    source.read(batch([removed([2])]))
    expect(flagsOf(store(4), 0)).toMatchObject({ flags: [] })
  })
})

describe('E8: salt stops at an ambiguous block', () => {
  test.each<[string, Value[]]>([
    ['with a salt, then without', [salted(1, 't'), store(1)]],
    ['without, then with a salt', [store(1), salted(1, 't')]],
    ['without on the host tier, then with a salt', [store(1, undefined, { medium: 'CPU' }), salted(1, 't')]],
    ['with two salts', [salted(1, 't'), salted(1, 'u')]],
    ['inherited, then without', [salted(9, 't'), store(1, 9), store(1)]],
  ])('%s', (_, events) => {
    const source = new Source(reader)
    salts(source, events)
    const dropped = source.read(batch([store(2, 1)]))!.events
    expect(dropped).toMatchObject([{ outcome: 'filtered', reason: AMBIGUOUS, takesId: false }])
    expect(salts(source, [salted(2, 'own', 1), store(3, 2)])).toEqual(['own', 'own'])
    expect(salts(source, [store(4, 1, { medium: 'DISK' })])).toEqual(['-'])
    expect(salts(source, [removed([1]), store(5, 1), salted(1, 't'), store(6, 1)])).toEqual([
      AMBIGUOUS,
      't',
      AMBIGUOUS,
    ])
    expect(salts(source, [cleared, store(7, 1)])).toEqual(['-'])
  })

  test('a clear ends it also for a rank whose groups are known', () => {
    const source = new Source(reader)
    salts(source, [
      store(9, undefined, { group: 1, kind: 'full_attention' }),
      salted(1, 't'),
      store(1),
      cleared,
    ])
    expect(salts(source, [store(2, 1)])).toEqual(['-'])
  })

  test('the same salt twice is not ambiguous, nor is none twice', () => {
    const source = new Source(reader)
    salts(source, [salted(1, 't'), salted(1, 't'), store(2), store(2)])
    expect(salts(source, [store(3, 1), store(4, 2)])).toEqual(['t', '-'])
  })

  test('a refused store makes nothing ambiguous', () => {
    const source = new Source(reader)
    salts(source, [salted(1, 't')])
    source.refused.add(50n)
    salts(source, [store(1, 50), salted(1, 'u', 50)])
    expect(salts(source, [store(2, 1)])).toEqual(['t'])
    salts(source, [store(3)])
    salts(source, [salted(3, 't', 50)])
    expect(salts(source, [store(4, 3)])).toEqual(['-'])
  })

  test('a block that left before it came back with another salt is not ambiguous', () => {
    const source = new Source(reader)
    salts(source, [store(1), removed([1]), salted(1, 't'), removed([1]), salted(1, 'u')])
    expect(salts(source, [store(2, 1)])).toEqual(['u'])
  })

  test('at most 4,096 a rank are remembered, the oldest goes first, counted', () => {
    const source = new Source(reader)
    const hashes = Array.from({ length: MAX_AMBIGUOUS_PER_RANK + 2 }, (_, index) => index + 1)
    salts(
      source,
      hashes.flatMap((hash) => [salted(hash, 't'), store(hash)]),
    )
    expect(source.memory.ambiguousDropped).toBe(2)
    const children = [1, 2, 3, 4098].map((hash) => store(10_000 + hash, hash))
    expect(salts(source, children)).toEqual(['-', '-', AMBIGUOUS, AMBIGUOUS])
  })
})

describe('what a source remembers is bounded by what it holds', () => {
  test('after a soak nothing is left', () => {
    const source = new Source(reader)
    for (let round = 0; round < 20; round++) {
      const hashes = Array.from({ length: 500 }, (_, index) => round * 1000 + index)
      salts(
        source,
        hashes.map((hash) => salted(hash, `tenant-${hash % 50}`)),
      )
      salts(source, [removed(hashes)])
    }
    expect(source.memory.rankCount).toBe(0)
  })

  test('a table of salts agrees with a map, whatever comes and goes', () => {
    const table = new SaltTable()
    const model = new Map<string, string>()
    let random = 1
    for (let step = 0; step < 60_000; step++) {
      random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0
      const [low, high] = [(random >>> 8) % 700, (random >>> 20) % 3]
      const key = `${low}/${high}`
      const grows = step % 20_000 < 12_000
      if ((random >>> 28) % 4 < (grows ? 3 : 1)) {
        table.set(low, high, `salt ${step % 90}`)
        model.set(key, `salt ${step % 90}`)
      } else {
        table.delete(low, high)
        model.delete(key)
      }
      if (table.get(low, high) !== model.get(key)) expect.fail(`step ${step}`)
      if (step % 997 > 0) continue
      expect(table.size).toBe(model.size)
      for (let other = 0; other < 700; other++) expect(table.get(other, 1)).toBe(model.get(`${other}/1`))
    }
    for (const key of model.keys()) {
      const [low = 0, high = 0] = key.split('/').map(Number)
      table.delete(low, high)
    }
    expect(table.size).toBe(0)
  })

  test('nothing is known of a rank that nobody named', () => {
    const memory = new SourceMemory()
    memory.onCleared(5)
    memory.forgetRank(5)
    expect([memory.rankCount, memory.hasSalts(5), memory.kindOf(5, 0)]).toEqual([0, false, undefined])
  })
})
