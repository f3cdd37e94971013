import { describe, expect, test } from 'vitest'
import { BatchReader } from '../src/decode/batch-reader.js'
import { Float, Raw, type Value, encode, map } from './support/encode.js'
import {
  TIME,
  batch,
  batchMap,
  cleared,
  clearedMap,
  removed,
  removedMap,
  saltKeys,
  stored,
  storedMap,
} from './support/events.js'
import { type Recorded, Source } from './support/recorded.js'

const readers = { direct: new BatchReader(), msgpackr: new BatchReader({ readsDirectly: false }) }

/** Events of a payload, the same through both readers; undefined = no batch. */
function eventsOf(payload: Uint8Array, context = {}): readonly Recorded[] | undefined {
  const [direct, other] = Object.values(readers).map((reader) => new Source(reader, context).read(payload))
  expect(direct).toEqual(other)
  return direct?.events
}

const objectKey = (hash: number): string => hash.toString(16).padStart(16, '0').padEnd(64, '0')
const infos: Value = [map({ mm_objects: [map({ mm_hash: 7, offsets: [[0, 2]] })] })]

describe('E1: array and map forms give equal events', () => {
  const fields = {
    plain: {},
    parent: { parent: -5 },
    'large hashes': { hashes: [2n ** 63n, 1n] as const, tokens: [1, 2, 3, 4, 200, 70_000, 2 ** 32 - 1, 0] },
    'negative hashes': { hashes: [-1, -33, -200, -40_000, -(2 ** 40)], tokens: Array<Value>(20).fill(9) },
    'hashes as bytes': { hashes: [new Uint8Array(32).fill(3)], parent: new Uint8Array(20) },
    'token pairs': {
      tokens: [
        [1, 2],
        [2, 3],
        [3, 4],
        [4, 5],
      ] as const,
    },
    lora: { lora: 'adapter-a' },
    'a name that is not ASCII': { lora: 'adapter-é' },
    salt: { salt: 'tenant-1' },
    'salt among the keys': { lora: 'a', extraKeys: [['a', 'dynamo-cache-salt:t']] as const },
    objects: { extraKeys: [[objectKey(5), [objectKey(6), -1]]] as const },
    'empty keys': { extraKeys: [null] },
    media: { medium: 'CPU_TIER1' },
    'an empty medium': { medium: '' },
    'group and kind': { group: 3, kind: 'full_attention', window: 4096, locality: 'LOCAL' },
    'another kind': { group: 3, kind: 'mamba' },
    'a remote block': { locality: 'REMOTE' },
    'somebody else': { ownership: 'kvcr' },
  }

  test.each(Object.entries(fields))('a store: %s', (_, more) => {
    const expected = eventsOf(batch([stored(more)], 2))
    expect(expected).toHaveLength(1)
    expect(eventsOf(batch([storedMap(more)], 2))).toEqual(expected)
    expect(eventsOf(batchMap([stored(more)], 2))).toEqual(expected)
    expect(eventsOf(batchMap([storedMap(more)], 2))).toEqual(expected)
  })

  test.each([{}, { medium: 'DISK' }, { group: 0 }, { group: 4 }, { kind: 'x' }, { ownership: 'y' }])(
    'a removal: %j',
    (more) => {
      const expected = eventsOf(batch([removed([5, -1], more)]))
      expect(expected).toHaveLength(1)
      expect(eventsOf(batchMap([removedMap([5, -1], more)]))).toEqual(expected)
    },
  )

  test('a clear, and both forms mixed in one batch', () => {
    const events = eventsOf(batch([clearedMap, stored(), storedMap({ hashes: [12] }), cleared], 1))
    expect(events?.map(({ type }) => type)).toEqual(['cleared', 'stored', 'stored', 'cleared'])
    expect(eventsOf(batchMap([cleared, storedMap(), stored({ hashes: [12] }), clearedMap], 1))).toEqual(
      events,
    )
  })

  test('what has no array form: infos win over keys, a session is handed on', () => {
    const event = { ...Object.fromEntries(storedMap({ extraKeys: [[objectKey(9)]] })), session_id: 's1' }
    const [withInfos] = eventsOf(batch([map({ ...event, block_mm_infos: infos })]))!
    const [expected] = eventsOf(batch([storedMap({ extraKeys: [[objectKey(7)]] })]))!
    expect(withInfos).toEqual({ ...expected, sessionId: 's1' })
    expect(eventsOf(batch([[...stored({ extraKeys: [[objectKey(9)]] }), infos]]))).toEqual([expected])
  })

  test('the key of the salt wins over the extra keys', () => {
    const both = storedMap({ salt: 'own', extraKeys: saltKeys('other') })
    expect(eventsOf(batch([both]))).toMatchObject([{ salt: 'own' }])
    const like = 'dynamo-cache-salt:a'
    const named = stored({ lora: like, extraKeys: [[like, 'dynamo-cache-salt:t', like]] })
    expect(eventsOf(batch([named]))).toMatchObject([{ salt: 't' }])
    const inFirst: Value = [[objectKey(3), 'dynamo-cache-salt:', 'dynamo-cache-salt:t'], saltKeys('u')]
    expect(eventsOf(batch([stored({ extraKeys: inFirst })]))).toMatchObject([{ salt: 't' }])
  })
})

describe('E3: the rank of the batch wins over that of the socket', () => {
  test.each([
    ['none', batch([cleared]), 6],
    ['nil', batch([cleared], null), 6],
    ['a rank', batch([cleared], 2), 2],
    ['the largest', batch([cleared], 2 ** 32 - 1), 2 ** 32 - 1],
    ['in nine bytes', batch([cleared], 3n), 3],
    ['no key', batchMap([clearedMap]), 6],
    ['a key', batchMap([clearedMap], 2), 2],
    ['the alias', encode(map({ dp_rank: 4, events: [cleared], ts: TIME })), 4],
    ['key and alias', encode(map({ dp_rank: 4, events: [cleared], ts: TIME, data_parallel_rank: 5 })), 5],
    ['nil and alias', encode(map({ dp_rank: 4, events: [cleared], ts: TIME, data_parallel_rank: null })), 4],
  ])('%s', (_, payload, dpRank) => {
    expect(eventsOf(payload, { socketRank: 6 })).toEqual([{ type: 'cleared', dpRank }])
  })

  test('cleared touches one rank', () => {
    const source = new Source(readers.direct)
    source.read(batch([stored()], 1))
    source.read(batch([stored()], 2))
    source.read(batch([cleared], 1))
    expect([...source.held]).toEqual(['2/0/11'])
  })
})

describe('tails of array events', () => {
  const tail = (...values: readonly Value[]): readonly Recorded[] | undefined =>
    eventsOf(batch([[...stored(), ...values]]))
  const dropped = (reason: string): object[] => [{ type: 'dropped', reason }]

  test.each<[string, Value[], string | undefined]>([
    ['five in order', [0, 'full_attention', null, 'REMOTE', null], 'non_local_locality'],
    ['four in order', [null, null, null, 'REMOTE'], 'non_local_locality'],
    ['three are told by type', [null, null, 'REMOTE'], 'unknown_kind'],
    ['one of another type', [0, 'full_attention', 'x', 'REMOTE', 'kvcr'], undefined],
    ['a boolean is of no type', [true, 'full_attention', null, 'REMOTE'], undefined],
    ['a list among them', [[], 'mamba', 1, 'REMOTE'], 'non_main_attention_kind'],
    ['the first integer is the group', ['full_attention', 3, 0], undefined],
    ['a group alone', [7], 'unlearned_group_idx'],
    ['the sixth is not looked at', [null, null, null, null, null, 'kvcr'], undefined],
    ['a sixth list is not looked at', [0, 'full_attention', null, 'LOCAL', null, []], undefined],
    ['nor a sixth integer, told by type', [true, null, null, null, null, 7], undefined],
    ['owner', [null, null, null, null, 'kvcr'], 'unsupported_ownership'],
    ['owner who is empty', [null, '', null, '', ''], undefined],
  ])('%s', (_, values, reason) => {
    expect(tail(...values)).toMatchObject(reason === undefined ? [{ type: 'stored' }] : dropped(reason))
  })
})

test('names are told apart however many there are', () => {
  for (let index = 0; index < 3000; index++) {
    const lora = String(100_000 + ((index * 7919) % 100_000))
    const [event] = eventsOf(batch([stored({ lora })]))!
    const [expected] = eventsOf(batch([storedMap({ lora })]))!
    if (JSON.stringify(event, asText) !== JSON.stringify(expected, asText)) expect.fail(lora)
  }
})

const asText = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value)

describe('payloads that are no batch change nothing', () => {
  const whole = batch([stored({ hashes: [11, 12], tokens: [1, 2, 3, 4, 5, 6, 7, 8] }), removed([5])], 1)
  const deep = (levels: number): Value => (levels === 0 ? 1 : [deep(levels - 1)])

  test('every prefix of one', () => {
    for (let length = 0; length < whole.length; length++)
      expect(eventsOf(whole.subarray(0, length)), `${length} bytes`).toBeUndefined()
    expect(eventsOf(whole)).toHaveLength(2)
  })

  test.each<[string, Value]>([
    ['nil', null],
    ['an integer', 120],
    ['a text', 'events'],
    ['an empty list', []],
    ['a time alone', [TIME]],
    ['no time', [null, []]],
    ['events that are no list', [TIME, map({ a: 1 })]],
    ['a rank that is negative', [TIME, [], -1]],
    ['a rank beyond u32', [TIME, [], 2 ** 32]],
    ['a rank as a float', [TIME, [], new Float(1)]],
    ['a rank as a text', [TIME, [], '1']],
    ['a map without events', map({ ts: TIME })],
    ['a map without time', map({ events: [] })],
    ['events that nest too deep', [TIME, [deep(33)]]],
    ['a byte that msgpack does not use', [TIME, [new Raw(0xc1)]]],
  ])('%s', (_, value) => {
    expect(eventsOf(encode(value))).toBeUndefined()
  })

  test('more than a million events, each of which would take an object', () => {
    const count = 2 ** 20 + 1
    const events = new Uint8Array(5 + count).fill(0xc0)
    new DataView(events.buffer).setUint32(1, count)
    events[0] = 0xdd
    expect(eventsOf(Uint8Array.of(0x92, ...encode(TIME), 0x90))).toEqual([])
    expect(eventsOf(Buffer.concat([Uint8Array.of(0x92, ...encode(TIME)), events]))).toBeUndefined()
  })

  test('bytes behind the batch', () => {
    expect(eventsOf(Uint8Array.of(...whole, 0xc0))).toBeUndefined()
  })

  test.each([
    ['a list', [0xdd, 0xff, 0xff, 0xff, 0xff]],
    ['a map', [0xdf, 0xff, 0xff, 0xff, 0xff]],
    ['a text', [0xdb, 0xff, 0xff, 0xff, 0xff]],
    ['bytes', [0xc6, 0xff, 0xff, 0xff, 0xff]],
    ['an extension', [0xc9, 0xff, 0xff, 0xff, 0xff, 1]],
  ])('%s of four billion entries, wherever it stands', (_, head) => {
    const huge = new Raw(...head)
    expect(eventsOf(encode(huge))).toBeUndefined()
    expect(eventsOf(encode([TIME, huge]))).toBeUndefined()
    for (let element = 0; element < 9; element++)
      expect(eventsOf(batch([stored().with(element, huge)]))).toBeUndefined()
    expect(eventsOf(batch([storedMap({ parent: huge })]))).toBeUndefined()
  })

  test('a million levels cost no more than their bytes', () => {
    expect(eventsOf(new Uint8Array(1_000_000).fill(0x91))).toBeUndefined()
    expect(eventsOf(Uint8Array.of(0x92, 0x00, 0x91, ...new Uint8Array(100_000).fill(0x81)))).toBeUndefined()
  })

  test('legal oddities are batches', () => {
    expect(eventsOf(encode([1, [], 0, 'more', [1]]))).toEqual([])
    expect(eventsOf(encode(map({ ts: 5, events: [], other: map({ a: [1] }) })))).toEqual([])
    expect(eventsOf(batch([deep(30)]))).toHaveLength(1)
  })
})
