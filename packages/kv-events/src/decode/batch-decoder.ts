import { Unpackr } from 'msgpackr'
import type { ByteHash } from './byte-hash.js'
import { DirectReader } from './direct-reader.js'
import { EventBuffers } from './event-buffers.js'
import { MsgpackWalk, bigEndian } from './msgpack-walk.js'
import { NumberReader } from './number-reader.js'
import { ValueReader } from './value-reader.js'
import { WireEvents } from './wire-event.js'

const NIL = 0xc0
/** Events of one batch: each takes an object, however few bytes it has. Engines send some thousand. */
const MOST_EVENTS = 1 << 20
const KEYS = ['ts', 'events', 'data_parallel_rank', 'dp_rank'] as const

/** What a decoder is made with. */
export interface DecoderOptions {
  readonly hashBytes: ByteHash
  /** False = every event goes through msgpackr, as those do that the direct reader declines. */
  readonly readsDirectly: boolean
}

/**
 * Turns a payload into the events of one batch, all of them or none: a payload that is no batch leaves nothing behind. Work and memory
 * are proportional to its bytes. Everything it exposes is valid until the next `decode`.
 */
export class BatchDecoder {
  readonly buffers = new EventBuffers()
  readonly events = new WireEvents()
  /** Seconds since 1970, as the engine gave it. */
  ts = 0
  /** Rank that the batch names; absent = none. */
  dpRank: number | undefined = undefined

  readonly #readsDirectly: boolean
  readonly #walk = new MsgpackWalk()
  readonly #number = new NumberReader()
  readonly #direct = new DirectReader(this.buffers)
  readonly #unpackr = new Unpackr({ useRecords: false, mapsAsObjects: false, int64AsType: 'bigint' })
  readonly #values: ValueReader
  #bytes: Uint8Array = new Uint8Array(0)

  constructor(options: DecoderOptions) {
    this.#readsDirectly = options.readsDirectly
    this.#values = new ValueReader(this.buffers, options.hashBytes)
  }

  /** Whether the payload is a batch. Never throws. */
  decode(payload: Uint8Array): boolean {
    this.release()
    this.dpRank = undefined
    this.#bytes = payload
    this.#direct.begin(payload)
    const marker = payload[0]
    const isList =
      marker !== undefined && ((marker >= 0x90 && marker < 0xa0) || (marker >= 0xdc && marker <= 0xdd))
    const isBatch = isList ? this.#list() : this.#map()
    // The payload is the caller's: it must not live as long as the decoder.
    this.#bytes = NO_BYTES
    this.#direct.end()
    return isBatch
  }

  /** Forgets the events, and gives back the memory that only a huge batch needs. */
  release(): void {
    this.buffers.clear()
    this.events.clear()
  }

  /** `[ts, events, rank?]`; more elements are ignored. */
  #list(): boolean {
    const elements = this.#entries(0, 0x90, 0xdc)
    if (elements < 2) return false
    let position = this.#readEvents(this.#readTime(this.#behindHead(0)))
    if (position < 0) return false
    if (elements > 2) position = this.#readRank(position)
    for (let index = 3; index < elements && position >= 0; index++) position = this.#skip(position)
    return position === this.#bytes.length
  }

  /** The same by key, in any order; unknown keys are ignored, of two equal keys the last counts. */
  #map(): boolean {
    const bytes = this.#bytes
    const entries = this.#entries(0, 0x80, 0xde)
    if (entries < 0) return false
    const places = [-1, -1, -1, -1]
    let position = this.#behindHead(0)
    for (let index = 0; index < entries; index++) {
      const value = this.#skip(position)
      if (value < 0) return false
      const key = KEYS.findIndex((name) => isKey(bytes, position, value, name))
      if (key >= 0) places[key] = value
      position = this.#skip(value)
      if (position < 0) return false
    }
    const [time, events, rank, alias] = places as [number, number, number, number]
    if (position !== bytes.length || time < 0 || events < 0) return false
    if (this.#readTime(time) < 0 || this.#readEvents(events) < 0) return false
    if (rank >= 0 && this.#readRank(rank) < 0) return false
    return this.dpRank !== undefined || alias < 0 || this.#readRank(alias) >= 0
  }

  /** Position behind the time; -1 = it is no number. */
  #readTime(position: number): number {
    const next = this.#number.read(this.#bytes, position)
    this.ts = this.#number.value
    return next
  }

  /** Position behind the rank; -1 = it is neither nil nor a rank. */
  #readRank(position: number): number {
    if (this.#bytes[position] === NIL) return position + 1
    const next = this.#number.read(this.#bytes, position)
    if (next < 0 || !this.#number.isU32) return -1
    this.dpRank = this.#number.value
    return next
  }

  /** Position behind the list of events; -1 = no list, too long, or damaged. A negative position stays one. */
  #readEvents(position: number): number {
    if (position < 0) return -1
    const count = this.#entries(position, 0x90, 0xdc)
    if (count < 0 || count > MOST_EVENTS) return -1
    let next = this.#behindHead(position)
    for (let index = 0; index < count && next >= 0; index++) next = this.#readEvent(next)
    return next
  }

  #readEvent(position: number): number {
    const bytes = this.#bytes
    if (position >= bytes.length) return -1
    const event = this.events.add()
    if (this.#readsDirectly) {
      const next = this.#direct.read(position, event)
      if (next >= 0) return next
      event.reset()
    }
    const next = this.#skip(position)
    if (next < 0) return -1
    let value: unknown
    try {
      value = this.#unpackr.unpack(this.#walk.withoutOpaque(bytes, position, next))
    } catch {
      return -1
    }
    this.#values.read(value, event)
    return next
  }

  #skip(position: number): number {
    return position < 0 ? -1 : this.#walk.end(this.#bytes, position, this.#bytes.length)
  }

  /** Entries that the container at `position` declares; -1 = it is none of this kind. */
  #entries(position: number, short: number, long: number): number {
    const bytes = this.#bytes
    const marker = bytes[position]
    if (marker === undefined) return -1
    if (marker >= short && marker < short + 16) return marker - short
    if (marker !== long && marker !== long + 1) return -1
    const size = marker === long ? 2 : 4
    return position + size < bytes.length ? bigEndian(bytes, position + 1, size) : -1
  }

  /** Position of the first entry of the container at `position`. */
  #behindHead(position: number): number {
    const marker = this.#bytes[position]!
    return position + (marker < 0xa0 ? 1 : (marker & 1) === 0 ? 3 : 5)
  }
}

const NO_BYTES = new Uint8Array(0)

/** Whether the text `name`, of less than 32 characters, stands exactly in these bytes. */
function isKey(bytes: Uint8Array, start: number, end: number, name: string): boolean {
  const length = end - start
  const head = length === name.length + 1 ? 1 : 2
  if (length !== name.length + head) return false
  if (head === 1 ? bytes[start] !== 0xa0 + name.length : bytes[start] !== 0xd9) return false
  for (let index = 0; index < name.length; index++) {
    if (bytes[start + head + index] !== name.charCodeAt(index)) return false
  }
  return true
}
