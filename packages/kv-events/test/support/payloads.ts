import fc from 'fast-check'
import { Float, Raw, type Value, encode, map } from './encode.js'
import { TIME } from './events.js'

// Arbitrary payloads: noise, batches in every form, and batches with damage. Small numbers, so that hashes meet again.

const hash: fc.Arbitrary<Value> = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: 0, max: 12 }) },
  { weight: 2, arbitrary: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }) },
  { weight: 1, arbitrary: fc.integer({ min: -40_000, max: 70_000 }) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 33 }) },
)
const token: fc.Arbitrary<Value> = fc.oneof(
  fc.integer({ min: 0, max: 6 }),
  fc.integer({ min: 0, max: 2 ** 32 - 1 }),
)
const oddity: fc.Arbitrary<Value> = fc.oneof(
  fc.constantFrom<Value>(null, true, '', 'x', -1, 2 ** 32, 2n ** 63n, [], map({})),
  fc.double().map((value) => new Float(value)),
  fc.constantFrom(
    new Raw(0xd6, 0xff, 0, 0, 0, 1),
    new Raw(0xc7, 2, 0x72, 0x40, 0x90),
    new Raw(0xd4, 0x72, 0x41),
  ),
  fc.constantFrom(new Raw(0xc1), new Raw(0xdd, 0xff, 0xff, 0xff, 0xff), new Raw(0x91, 0x91, 0x91, 0x91)),
)

/** Mostly this, now and then something else. */
function mostly(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value> {
  return fc.oneof({ weight: 30, arbitrary }, { weight: 1, arbitrary: oddity })
}

const salt = fc.constantFrom('dynamo-cache-salt:t', 'dynamo-cache-salt:u', 'dynamo-cache-salt:')
const key: fc.Arbitrary<Value> = fc.oneof(
  salt,
  fc.constantFrom<Value>('a', '7'.repeat(16).padEnd(64, '0'), 'ab'.repeat(32), 5, null),
  fc.constantFrom<Value>(['8'.repeat(16).padEnd(64, '0'), -1], ['x', 'y'], new Float(1)),
)
const keys = fc.array(fc.oneof(fc.constant(null), fc.array(mostly(key), { maxLength: 3 })), { maxLength: 3 })
const info: fc.Arbitrary<Value> = fc
  .array(hash, { maxLength: 2 })
  .map((ids) => map({ mm_objects: ids.map((id) => map({ mm_hash: id, offsets: [[0, 1]] })) }))

const text = (...names: string[]): fc.Arbitrary<Value> => fc.constantFrom<Value>(null, '', ...names)
const fields = {
  block_hashes: mostly(fc.array(mostly(hash), { maxLength: 4 })),
  parent_block_hash: mostly(fc.oneof(fc.constant(null), hash)),
  token_ids: mostly(
    fc.oneof(
      { weight: 4, arbitrary: fc.array(mostly(token), { maxLength: 12 }) },
      { weight: 1, arbitrary: fc.array(fc.tuple(token, token), { maxLength: 9 }) },
    ),
  ),
  block_size: mostly(fc.constantFrom<Value>(4, 4, 4, 2)),
  lora_id: mostly(fc.constant(null)),
  medium: mostly(text('GPU', 'GPU', 'GPU', 'CPU', 'DISK', 'EXTERNAL', 'moon', 'größe')),
  lora_name: mostly(text('a', 'adapter-ü')),
  extra_keys: mostly(fc.oneof(fc.constant(null), keys)),
  group_idx: mostly(fc.constantFrom<Value>(null, 0, 1, 2)),
  kv_cache_spec_kind: mostly(text('full_attention', 'mamba', 'made_up')),
  kv_cache_spec_sliding_window: mostly(fc.constantFrom<Value>(null, 4096)),
  locality: mostly(text('LOCAL', 'LOCAL', 'REMOTE')),
  ownership: mostly(
    fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: text('kvcr', 'me') }),
  ),
}
const more = {
  cache_salt: mostly(text('t', 'u')),
  block_mm_infos: mostly(
    fc.oneof(fc.constant(null), fc.array(fc.oneof(fc.constant(null), info), { maxLength: 3 })),
  ),
  session_id: mostly(text('s')),
}
const tail = [
  'group_idx',
  'kv_cache_spec_kind',
  'kv_cache_spec_sliding_window',
  'locality',
  'ownership',
] as const
const storedNames = [
  'block_hashes',
  'parent_block_hash',
  'token_ids',
  'block_size',
  'lora_id',
  'medium',
  'lora_name',
  'extra_keys',
  ...tail,
] as const
const removedNames = ['block_hashes', 'medium', ...tail] as const

type Names = readonly (keyof typeof fields)[]

function asList(tag: string, names: Names): fc.Arbitrary<Value> {
  const length = fc.oneof(
    { weight: 5, arbitrary: fc.constant(names.length - tail.length) },
    { weight: 3, arbitrary: fc.constant(names.length) },
    { weight: 1, arbitrary: fc.nat(names.length) },
  )
  return fc
    .tuple(length, ...names.map((name) => fields[name]))
    .map(([elements, ...values]) => [tag, ...values.slice(0, elements)])
}

function asMap(tag: string, names: Names): fc.Arbitrary<Value> {
  const optional = Object.fromEntries([...names.map((name) => [name, fields[name]]), ...Object.entries(more)])
  const required = names.includes('token_ids')
    ? ['block_hashes', 'token_ids', 'block_size']
    : ['block_hashes']
  return fc
    .record(optional as Record<string, fc.Arbitrary<Value>>, { requiredKeys: required })
    .map((event) => map({ type: tag, ...event }))
}

const storedEvent = asList('BlockStored', storedNames)
/** Short chains with and without salts, over few hashes. */
const chained = fc
  .tuple(
    fc.nat(4),
    fc.constantFrom<Value>(null, 0, 1, 2, 3),
    fc.constantFrom<Value>(null, null, [['dynamo-cache-salt:t']]),
  )
  .map(([id, parent, saltKeys]): Value => [
    'BlockStored',
    [id],
    parent,
    [1, 2, 3, 4],
    4,
    null,
    'GPU',
    null,
    saltKeys,
  ])
const event: fc.Arbitrary<Value> = fc.oneof(
  { weight: 5, arbitrary: chained },
  { weight: 10, arbitrary: storedEvent },
  { weight: 4, arbitrary: asList('BlockRemoved', removedNames) },
  { weight: 4, arbitrary: asMap('BlockStored', storedNames) },
  { weight: 2, arbitrary: asMap('BlockRemoved', removedNames) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Value>(['AllBlocksCleared'], ['AllBlocksCleared', 'kvcr'], ['Ignored', 1]),
  },
  { weight: 1, arbitrary: oddity },
)
const rank: fc.Arbitrary<Value | undefined> = fc.constantFrom<Value | undefined>(
  undefined,
  null,
  0,
  1,
  2,
  2,
  -1,
)

/** Payloads that are batches, but for values of other types here and there. */
export const batchPayload: fc.Arbitrary<Uint8Array> = fc
  .tuple(fc.array(event, { maxLength: 4 }), rank, fc.nat(4))
  .map(([events, dpRank, form]) => {
    if (form === 0) return encode(map({ ts: TIME, events, data_parallel_rank: dpRank }))
    if (form === 1) return encode(map({ dp_rank: dpRank, events, other: 1, ts: TIME }))
    return encode(dpRank === undefined ? [TIME, events] : [TIME, events, dpRank])
  })

const telling = [
  [0x80, 0x81, 0x90, 0x91, 0x92, 0x93, 0xa1, 0xc0, 0xc1, 0xc4, 0xc7, 0xca, 0xcb],
  [0xcd, 0xce, 0xcf, 0xd3, 0xd4, 0xd9, 0xdc, 0xdd, 0xde, 0xdf, 0xff],
].flat()
const byte = fc.oneof(fc.nat(255), fc.constantFrom(...telling))
const damage = fc.record({ place: fc.nat(), kind: fc.nat(5), bytes: fc.array(byte, { maxLength: 4 }) })

/** The same with bytes replaced, put in, taken out, doubled or cut off. */
export const damagedPayload: fc.Arbitrary<Uint8Array> = fc
  .tuple(batchPayload, fc.array(damage, { minLength: 1, maxLength: 3 }))
  .map(([payload, damages]) => damages.reduce(damaged, payload))

/** Payloads of any kind. */
export const anyPayload: fc.Arbitrary<Uint8Array> = fc.oneof(
  { weight: 3, arbitrary: batchPayload },
  { weight: 5, arbitrary: damagedPayload },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }) },
  {
    weight: 1,
    arbitrary: fc.array(byte, { maxLength: 60 }).map((bytes) => Uint8Array.of(0x93, 0x00, 0x91, ...bytes)),
  },
)

function damaged(
  payload: Uint8Array,
  {
    place,
    kind,
    bytes,
  }: { readonly place: number; readonly kind: number; readonly bytes: readonly number[] },
): Uint8Array {
  const at = payload.length === 0 ? 0 : place % payload.length
  const [before, after] = [payload.subarray(0, at), payload.subarray(at)]
  switch (kind) {
    case 0:
      return before
    case 1:
      return Uint8Array.of(...before, ...bytes, ...after)
    case 2:
      return Uint8Array.of(...before, ...after.subarray(bytes.length))
    case 3:
      return Uint8Array.of(...before, ...after, ...after)
    default:
      return Uint8Array.of(...before, ...bytes, ...after.subarray(bytes.length))
  }
}
