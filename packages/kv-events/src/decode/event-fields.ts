/** Fields of an event by name, wherever its encoding keeps them; `undefined` = not there or nil. Nothing about the types is known. */
export interface EventFields {
  readonly blockHashes: unknown
  readonly parentHash: unknown
  readonly tokenIds: unknown
  readonly blockSize: unknown
  readonly medium: unknown
  readonly loraName: unknown
  readonly cacheSalt: unknown
  readonly extraKeys: unknown
  readonly blockMmInfos: unknown
  readonly group: unknown
  readonly attentionKind: unknown
  readonly locality: unknown
  readonly ownership: unknown
  readonly sessionId: unknown
}

interface TailFields {
  readonly group?: unknown
  readonly attentionKind?: unknown
  readonly locality?: unknown
  readonly ownership?: unknown
  readonly blockMmInfos?: unknown
}

/** Elements of a `BlockStored` before its tail, the tag included, and of a `BlockRemoved`. */
export const STORED_ELEMENTS = 9
export const REMOVED_ELEMENTS = 3
/** Elements of a tail that are looked at. */
export const TAIL_ELEMENTS = 5

const NO_FIELDS: EventFields = {
  blockHashes: undefined,
  parentHash: undefined,
  tokenIds: undefined,
  blockSize: undefined,
  medium: undefined,
  loraName: undefined,
  cacheSalt: undefined,
  extraKeys: undefined,
  blockMmInfos: undefined,
  group: undefined,
  attentionKind: undefined,
  locality: undefined,
  ownership: undefined,
  sessionId: undefined,
}

/** Fields of a `BlockStored` in array form. */
export function storedElements(elements: readonly unknown[]): EventFields {
  const naming = present(elements[7])
  const isMap = naming instanceof Map
  return {
    ...NO_FIELDS,
    blockHashes: present(elements[1]),
    parentHash: present(elements[2]),
    tokenIds: present(elements[3]),
    blockSize: present(elements[4]),
    medium: present(elements[6]),
    loraName: isMap ? undefined : naming,
    cacheSalt: isMap ? present(naming.get('cache_salt')) : undefined,
    extraKeys: present(elements[8]),
    ...tailFields(elements.slice(STORED_ELEMENTS, STORED_ELEMENTS + TAIL_ELEMENTS)),
  }
}

/** Fields of a `BlockRemoved` in array form. */
export function removedElements(elements: readonly unknown[]): EventFields {
  return {
    ...NO_FIELDS,
    blockHashes: present(elements[1]),
    medium: present(elements[2]),
    ...tailFields(elements.slice(REMOVED_ELEMENTS, REMOVED_ELEMENTS + TAIL_ELEMENTS)),
  }
}

/** Fields of an `AllBlocksCleared` in array form. */
export function clearedElements(elements: readonly unknown[]): EventFields {
  return { ...NO_FIELDS, ownership: present(elements[1]) }
}

/** Fields of any event in map form. */
export function fieldsOfMap(event: ReadonlyMap<unknown, unknown>): EventFields {
  return {
    blockHashes: present(event.get('block_hashes')),
    parentHash: present(event.get('parent_block_hash')),
    tokenIds: present(event.get('token_ids')),
    blockSize: present(event.get('block_size')),
    medium: present(event.get('medium')),
    loraName: present(event.get('lora_name')),
    cacheSalt: present(event.get('cache_salt')),
    extraKeys: present(event.get('extra_keys')),
    blockMmInfos: present(event.get('block_mm_infos')),
    group: present(event.get('group_idx')),
    attentionKind: present(event.get('kv_cache_spec_kind')),
    locality: present(event.get('locality')),
    ownership: present(event.get('ownership')),
    sessionId: present(event.get('session_id')),
  }
}

/** Four or five elements, each nil or of the type of its place, stand in their order; anything else is told apart by type. */
function tailFields(tail: readonly unknown[]): TailFields {
  const [group, attentionKind, window, locality, ownership] = tail.map(present)
  const isOrdered =
    tail.length >= 4 &&
    [group, window].every((value) => value === undefined || isInteger(value)) &&
    [attentionKind, locality, ownership].every((value) => value === undefined || typeof value === 'string')
  if (isOrdered) return { group, attentionKind, locality, ownership }
  return {
    group: tail.find(isInteger),
    attentionKind: tail.find((value) => typeof value === 'string'),
    blockMmInfos: tail.find(Array.isArray),
  }
}

function present(value: unknown): unknown {
  return value === null ? undefined : value
}

/** Floats never come this far, see `MsgpackWalk.withoutOpaque`. */
function isInteger(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'bigint'
}
