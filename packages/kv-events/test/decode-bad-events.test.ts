import { describe, expect, test } from 'vitest'
import { BatchReader } from '../src/decode/batch-reader.js'
import type { EventSink } from '../src/normalised.js'
import { Float, Raw, type Value, encode, map } from './support/encode.js'
import { TIME, batch, cleared, removed, stored, storedMap } from './support/events.js'
import { Source } from './support/recorded.js'

const readers = [new BatchReader(), new BatchReader({ readsDirectly: false })]

/** What becomes of an event between two good ones, the same through both readers. */
function outcomeOf(event: Value): string {
  const outcomes = readers.map((reader) => {
    const source = new Source(reader)
    const events = source.read(batch([stored({ hashes: [1] }), event, removed([1])], 0))!.events
    expect(events.map(({ type }) => type)).toEqual(['stored', expect.any(String), 'removed'])
    expect(source.held.size).toBe(events[1]!.type === 'stored' ? 1 : 0)
    const [, middle] = events
    return middle!.type === 'dropped' ? `${middle!.outcome} ${middle!.reason}` : middle!.type
  })
  expect(outcomes[0]).toBe(outcomes[1])
  return outcomes[0]!
}

const time = new Raw(0xd6, 0xff, 0, 0, 0, 1)
const record = new Raw(0xd4, 0x72, 0x40)

describe('a bad hash', () => {
  test.each<[string, Value]>([
    ['a float', new Float(11)],
    ['a float above 2^53', new Float(2 ** 60)],
    ['not a number', new Float(Number.NaN)],
    ['a text', '0x11'],
    ['nil', null],
    ['a boolean', true],
    ['a list', [1]],
    ['a map', map({ a: 1 })],
    ['a time', time],
    ['a record', record],
  ])('%s', (_, hash) => {
    const bad = 'undecodable bad_hash'
    expect(outcomeOf(stored({ hashes: [hash] }))).toBe(bad)
    expect(outcomeOf(storedMap({ hashes: [hash] }))).toBe(bad)
    expect(outcomeOf(removed([7, hash, 8]))).toBe(bad)
    if (hash !== null) expect(outcomeOf(stored({ parent: hash }))).toBe(bad)
  })

  test('is told before any filter', () => {
    expect(outcomeOf(removed(['x'], { ownership: 'kvcr' }))).toBe('undecodable bad_hash')
    expect(outcomeOf(stored({ hashes: ['x'], medium: 'moon', kind: 'mamba' }))).toBe('undecodable bad_hash')
  })
})

describe('a tag', () => {
  test.each<[Value, string]>([
    [[], 'missing_field:type'],
    [null, 'missing_field:type'],
    [5, 'missing_field:type'],
    ['BlockStored', 'missing_field:type'],
    [[null, [1]], 'missing_field:type'],
    [map({ block_hashes: [1] }), 'missing_field:type'],
    [['BlockRenamed', [1]], 'unknown_tag'],
    [['blockstored', [1]], 'unknown_tag'],
    [[1, [1]], 'unknown_tag'],
    [[[], [1]], 'unknown_tag'],
    [map({ type: 'BlockMoved' }), 'unknown_tag'],
    [[time], 'unknown_tag'],
  ])('of %j', (event, reason) => {
    expect(outcomeOf(event)).toBe(`undecodable ${reason}`)
  })
})

describe('a required field', () => {
  const missing = (field: string): string => `undecodable missing_field:${field}`

  test.each([
    [1, 'block_hashes'],
    [2, 'block_hashes'],
    [3, 'token_ids'],
    [4, 'block_size'],
  ])('is behind the end of %i elements', (elements, field) => {
    const fields = ['type', 'block_hashes', '', 'token_ids', 'block_size']
    const first = fields.slice(elements).find((name) => name !== '')
    expect(outcomeOf(stored().slice(0, elements))).toBe(missing(first === field ? field : first!))
  })

  test.each<[string, Value[]]>([
    ['block_hashes', [null, 5, 'x', map({}), new Uint8Array(8), true]],
    [
      'token_ids',
      [
        null,
        5,
        'x',
        [-1],
        [2 ** 32],
        [new Float(1)],
        ['x'],
        [null],
        [1, [1, 2]],
        [[1, 2], 1],
        [[1]],
        [[1, 2, 3]],
      ],
    ],
    ['block_size', [null, -1, 2 ** 32, new Float(4), '4', [4]]],
  ])('%s of no usable type', (field, values) => {
    for (const value of values) {
      const element = ['type', 'block_hashes', 'parent', 'token_ids', 'block_size'].indexOf(field)
      expect(outcomeOf(stored().with(element, value)), JSON.stringify(value)).toBe(missing(field))
      const event = new Map(storedMap()).set(field, value)
      expect(outcomeOf(event), JSON.stringify(value)).toBe(missing(field))
    }
    const event = new Map(storedMap())
    event.delete(field)
    expect(outcomeOf(event)).toBe(missing(field))
  })

  test('the first one that is wrong is named, in the order of the array form', () => {
    expect(outcomeOf(['BlockStored', 'x', 'y', 'z'])).toBe(missing('block_hashes'))
    expect(outcomeOf(['BlockStored', [1], 'y', 'z'])).toBe('undecodable bad_hash')
    expect(outcomeOf(map({ type: 'BlockStored', token_ids: 1, block_hashes: 1 }))).toBe(
      missing('block_hashes'),
    )
    expect(outcomeOf(['BlockRemoved'])).toBe(missing('block_hashes'))
  })
})

describe('an optional field', () => {
  test.each<[string, Value[]]>([
    ['medium', [1, true, ['GPU'], new Float(1), new Uint8Array(3), time]],
    ['lora_name', [1, ['a'], new Uint8Array(1)]],
    ['cache_salt', [1, ['a']]],
    ['extra_keys', [1, 'x', ['x'], [1], [map({})]]],
    ['block_mm_infos', [1, 'x', [1], [map({})], [map({ mm_objects: [map({ mm_hash: 'x' })] })]]],
    ['group_idx', ['x', -1, 2 ** 32, new Float(0)]],
    ['kv_cache_spec_kind', [1, ['mamba']]],
    ['locality', [1]],
    ['ownership', [1, new Float(1)]],
    ['session_id', [1]],
  ])('%s of another type: nobody knows what the event would mean', (field, values) => {
    for (const value of values) {
      const event = new Map(storedMap()).set(field, value)
      expect(outcomeOf(event), JSON.stringify(value)).toBe(`undecodable missing_field:${field}`)
    }
    expect(outcomeOf(new Map(storedMap()).set(field, null))).toBe('stored')
  })

  test('values that are ignored may be anything', () => {
    for (const value of [new Float(2), time, record, [[1]], map({ a: [time] }), true, 'x']) {
      expect(outcomeOf(stored().with(5, value))).toBe('stored')
      expect(outcomeOf(new Map(storedMap()).set('future', value))).toBe('stored')
      expect(outcomeOf(stored({ extraKeys: [[value]] })), JSON.stringify(value)).toBe('stored')
      expect(outcomeOf(['Ignored', value])).toBe('filtered ignored_event')
    }
    expect(outcomeOf([...cleared, 'x'])).toBe('filtered unknown_ownership')
  })
})

describe('a million blocks in one event', () => {
  const count = 1_000_000

  /** A list of so many integers of five bytes. */
  const list = (valueOf: (index: number) => number): Uint8Array => {
    const view = new DataView(new ArrayBuffer(5 + 5 * count))
    view.setUint8(0, 0xdd)
    view.setUint32(1, count)
    for (let index = 0; index < count; index++) {
      view.setUint8(5 + 5 * index, 0xce)
      view.setUint32(6 + 5 * index, valueOf(index))
    }
    return new Uint8Array(view.buffer)
  }
  const parts = [
    [0x92, ...encode(TIME), 0x92, 0x95, ...encode('BlockStored')],
    list((index) => index + 1),
    [0xc0],
    list(() => 7),
    [0x01, 0x92, ...encode('BlockRemoved')],
    list((index) => index + 1),
  ]
  const payload = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let end = 0
  for (const part of parts) {
    payload.set(part, end)
    end += part.length
  }

  test.each(readers)('%#', (reader) => {
    const seen: unknown[] = []
    const sink: EventSink = {
      stored: (_, tier, run) => seen.push(tier, run.count, run.engine[2 * count - 2], run.hasParent),
      removed: (_, tier, engine, removedCount) => seen.push(tier, removedCount, engine[2 * count - 2]),
      cleared: () => seen.push('cleared'),
      dropped: (_, outcome, reason) => seen.push(outcome, reason),
    }
    reader.read(payload, new Source(reader, { blockSize: 1 }).context, sink)
    expect(seen).toEqual([0, count, count, false, 0, count, count])
  })
})
