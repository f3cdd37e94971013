import { type Value, Float, encode, map } from './encode.js'

/** Fields of an event as an engine has them; absent = left out, or nil where a later one needs the place. */
export interface Fields {
  readonly hashes?: Value
  readonly parent?: Value
  readonly tokens?: Value
  readonly blockSize?: Value
  readonly medium?: Value
  readonly lora?: Value
  readonly salt?: Value
  readonly extraKeys?: Value
  readonly group?: Value
  readonly kind?: Value
  readonly window?: Value
  readonly locality?: Value
  readonly ownership?: Value
}

/** A `BlockStored` of one block of four tokens, as an array; the tail has five elements when it has any. */
export function stored(fields: Fields = {}): Value[] {
  const { parent = null, medium = 'GPU', lora = null, salt, extraKeys = null } = fields
  return [
    'BlockStored',
    fields.hashes ?? [11],
    parent,
    fields.tokens ?? [1, 2, 3, 4],
    fields.blockSize ?? 4,
    null,
    medium,
    salt === undefined ? lora : map({ cache_salt: salt }),
    extraKeys,
    ...tail(fields),
  ]
}

/** The same as a map. */
export function storedMap(fields: Fields = {}): ReadonlyMap<string, Value> {
  return map({
    type: 'BlockStored',
    block_hashes: fields.hashes ?? [11],
    parent_block_hash: fields.parent,
    token_ids: fields.tokens ?? [1, 2, 3, 4],
    block_size: fields.blockSize ?? 4,
    medium: fields.medium ?? 'GPU',
    lora_name: fields.lora,
    cache_salt: fields.salt,
    extra_keys: fields.extraKeys,
    ...tailKeys(fields),
  })
}

/** A `BlockRemoved` as an array. */
export function removed(hashes: Value, fields: Fields = {}): Value[] {
  return ['BlockRemoved', hashes, fields.medium ?? 'GPU', ...tail(fields)]
}

/** The same as a map. */
export function removedMap(hashes: Value, fields: Fields = {}): ReadonlyMap<string, Value> {
  return map({
    type: 'BlockRemoved',
    block_hashes: hashes,
    medium: fields.medium ?? 'GPU',
    ...tailKeys(fields),
  })
}

export const cleared: Value[] = ['AllBlocksCleared']
export const clearedMap = map({ type: 'AllBlocksCleared' })

/** A payload in array form; `rank` undefined = two elements. */
export function batch(events: readonly Value[], rank?: Value): Uint8Array {
  return encode(rank === undefined ? [TIME, events] : [TIME, events, rank])
}

/** A payload in map form. */
export function batchMap(events: readonly Value[], rank?: Value): Uint8Array {
  return encode(map({ ts: TIME, events, data_parallel_rank: rank }))
}

export const TIME = new Float(1700000000.5)

/** The extra keys by which an engine names a salt. */
export function saltKeys(salt: string): Value {
  return [[`dynamo-cache-salt:${salt}`]]
}

function tail(fields: Fields): Value[] {
  const { group, kind, window, locality, ownership } = fields
  const values = [group, kind, window, locality, ownership]
  return values.every((value) => value === undefined) ? [] : values.map((value) => value ?? null)
}

function tailKeys(fields: Fields): Record<string, Value | undefined> {
  return {
    group_idx: fields.group,
    kv_cache_spec_kind: fields.kind,
    kv_cache_spec_sliding_window: fields.window,
    locality: fields.locality,
    ownership: fields.ownership,
  }
}
