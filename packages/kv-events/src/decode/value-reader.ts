import type { EventField } from '../reasons.js'
import type { ByteHash } from './byte-hash.js'
import type { EventBuffers } from './event-buffers.js'
import {
  type EventFields,
  clearedElements,
  fieldsOfMap,
  removedElements,
  storedElements,
} from './event-fields.js'
import { objectsOfInfos, objectsOfKeys, saltOfKeys } from './extra-keys.js'
import type { WireEvent } from './wire-event.js'

const LARGEST_U32 = 0xffff_ffff

/** A field that is missing or of no usable type; caught where the event ends. */
class Unreadable {
  readonly field: EventField | 'hash'
  constructor(field: EventField | 'hash') {
    this.field = field
  }
}

/**
 * Reads events out of values that a msgpack library made (maps as `Map`, 64-bit integers as bigint, no floats). Takes every event;
 * what it makes of one is the truth that the direct reader is held to.
 */
export class ValueReader {
  readonly #buffers: EventBuffers
  readonly #hashBytes: ByteHash

  /** One hash; as a bigint it is wrapped to 64 bits. */
  readonly #whole = new BigUint64Array(1)
  readonly #halves = new Uint32Array(this.#whole.buffer)

  constructor(buffers: EventBuffers, hashBytes: ByteHash) {
    this.#buffers = buffers
    this.#hashBytes = hashBytes
  }

  /** Fills a reset event. Never throws. */
  read(value: unknown, event: WireEvent): void {
    try {
      this.#fill(value, event)
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      event.kind = 'undecodable'
      event.reason = error.field === 'hash' ? 'bad_hash' : `missing_field:${error.field}`
    }
  }

  #fill(value: unknown, event: WireEvent): void {
    const isMap = value instanceof Map
    if (!isMap && !Array.isArray(value)) throw new Unreadable('type')
    const tag: unknown = isMap ? value.get('type') : value[0]
    if (tag === undefined || tag === null) throw new Unreadable('type')
    if (tag === 'BlockStored') this.#stored(isMap ? fieldsOfMap(value) : storedElements(value), event)
    else if (tag === 'BlockRemoved') this.#removed(isMap ? fieldsOfMap(value) : removedElements(value), event)
    else if (tag === 'AllBlocksCleared') cleared(isMap ? fieldsOfMap(value) : clearedElements(value), event)
    else if (tag !== 'Ignored') {
      event.kind = 'undecodable'
      event.reason = 'unknown_tag'
    }
  }

  #stored(fields: EventFields, event: WireEvent): void {
    this.#hashes(fields.blockHashes, event)
    if (fields.parentHash !== undefined) {
      event.hasParent = true
      this.#readHash(fields.parentHash)
      event.parentLow = this.#halves[0]!
      event.parentHigh = this.#halves[1]!
    }
    this.#tokens(fields.tokenIds, event)
    event.blockSize = u32(fields.blockSize, 'block_size')
    event.medium = text(fields.medium, 'medium')
    event.loraName = text(fields.loraName, 'lora_name')
    event.salt = text(fields.cacheSalt, 'cache_salt')
    const { extraKeys, blockMmInfos } = fields
    if (extraKeys !== undefined) {
      event.objects = objectsOfKeys(extraKeys) ?? fail('extra_keys')
      event.salt ??= saltOfKeys(extraKeys, event.loraName)
    }
    if (blockMmInfos !== undefined) event.objects = objectsOfInfos(blockMmInfos) ?? fail('block_mm_infos')
    placement(fields, event)
    event.sessionId = text(fields.sessionId, 'session_id')
    event.kind = 'stored'
  }

  #removed(fields: EventFields, event: WireEvent): void {
    this.#hashes(fields.blockHashes, event)
    event.medium = text(fields.medium, 'medium')
    placement(fields, event)
    event.kind = 'removed'
  }

  #hashes(value: unknown, event: WireEvent): void {
    if (!Array.isArray(value)) throw new Unreadable('block_hashes')
    const buffers = this.#buffers
    buffers.reserveHashes(value.length)
    event.hashStart = buffers.hashEnd
    event.hashCount = value.length
    let at = 2 * buffers.hashEnd
    for (const item of value) {
      this.#readHash(item)
      buffers.hashes[at++] = this.#halves[0]!
      buffers.hashes[at++] = this.#halves[1]!
    }
    buffers.hashEnd += value.length
  }

  /** Leaves the halves of a hash in `#halves`. */
  #readHash(value: unknown): void {
    if (typeof value === 'bigint') this.#whole[0] = value
    else if (typeof value === 'number') {
      this.#halves[0] = value
      this.#halves[1] = value < 0 ? LARGEST_U32 : 0
    } else if (value instanceof Uint8Array) this.#whole[0] = this.#hashBytes(value)
    else throw new Unreadable('hash')
  }

  #tokens(value: unknown, event: WireEvent): void {
    if (!Array.isArray(value)) throw new Unreadable('token_ids')
    const buffers = this.#buffers
    event.isEagle = Array.isArray(value[0])
    event.tokenStart = buffers.tokenEnd
    event.tokenCount = value.length + (event.isEagle ? 1 : 0)
    buffers.reserveTokens(event.tokenCount)
    const { tokens } = buffers
    let at = buffers.tokenEnd
    if (event.isEagle) {
      for (const pair of value) {
        if (!Array.isArray(pair) || pair.length !== 2) throw new Unreadable('token_ids')
        tokens[at++] = u32(pair[0], 'token_ids')
        tokens[at] = u32(pair[1], 'token_ids')
      }
    } else {
      for (const token of value) tokens[at++] = isU32(token) ? token : u32(token, 'token_ids')
    }
    buffers.tokenEnd += event.tokenCount
  }
}

function cleared(fields: EventFields, event: WireEvent): void {
  event.ownership = text(fields.ownership, 'ownership')
  event.kind = 'cleared'
}

/** What stores and removals both carry behind their blocks. */
function placement(fields: EventFields, event: WireEvent): void {
  if (fields.group !== undefined) event.group = u32(fields.group, 'group_idx')
  event.attentionKind = text(fields.attentionKind, 'kv_cache_spec_kind')
  event.locality = text(fields.locality, 'locality')
  event.ownership = text(fields.ownership, 'ownership')
}

function isU32(value: unknown): value is number {
  return typeof value === 'number' && value >>> 0 === value
}

function u32(value: unknown, field: EventField): number {
  if (typeof value !== 'number' && typeof value !== 'bigint') throw new Unreadable(field)
  if (value < 0 || value > LARGEST_U32) throw new Unreadable(field)
  return Number(value)
}

/** Empty = absent. */
function text(value: unknown, field: EventField): string | undefined {
  if (value === undefined || value === '') return undefined
  if (typeof value !== 'string') throw new Unreadable(field)
  return value
}

function fail(field: EventField): never {
  throw new Unreadable(field)
}
