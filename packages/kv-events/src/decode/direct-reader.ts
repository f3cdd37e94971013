import type { EventBuffers } from './event-buffers.js'
import { STORED_ELEMENTS, REMOVED_ELEMENTS, TAIL_ELEMENTS } from './event-fields.js'
import { bigEndian } from './msgpack-walk.js'
import { readHashes, readTokens } from './number-lists.js'
import { TextCache } from './text-cache.js'
import type { WireEvent } from './wire-event.js'

const NIL = 0xc0
const STORED_TAG = tag('BlockStored')
const REMOVED_TAG = tag('BlockRemoved')
const CLEARED_TAG = tag('AllBlocksCleared')

function tag(name: string): Uint8Array {
  return Uint8Array.of(0xa0 + name.length, ...Array.from(name, (character) => character.charCodeAt(0)))
}

/** What a value of a tail, or a name, turned out to be. */
const IS_NIL = 0
const IS_INTEGER = 1
const IS_TEXT = 2

/**
 * Reads the events that engines send all the time straight from bytes: arrays of up to 15 elements, integer hashes, tokens without
 * pairs, no object or salt among the extra keys, ASCII names, small integers elsewhere. Declines everything else, whether legal or
 * not. Allocates nothing warm.
 */
export class DirectReader {
  readonly #buffers: EventBuffers
  readonly #texts = new TextCache()
  #bytes: Uint8Array = NO_BYTES
  #view: DataView = NO_VIEW
  #end = 0
  #position = 0
  readonly #tailTypes = new Uint8Array(TAIL_ELEMENTS)
  readonly #tailIntegers = new Float64Array(TAIL_ELEMENTS)
  readonly #tailTexts: string[] = Array.from({ length: TAIL_ELEMENTS }, () => '')

  constructor(buffers: EventBuffers) {
    this.#buffers = buffers
  }

  /** The payload whose events are read next. Allocates one view; `end` lets go of the payload. */
  begin(bytes: Uint8Array): void {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#end = bytes.length
  }

  end(): void {
    this.#bytes = NO_BYTES
    this.#view = NO_VIEW
    this.#end = 0
  }

  /** Fills a reset event. Position behind the event, or -1 = declined: the event must then be reset, the buffers are as before. */
  read(start: number, event: WireEvent): number {
    const { hashEnd, tokenEnd } = this.#buffers
    const end = this.#end
    const marker = this.#bytes[start]!
    // Not beyond the end, and an array of 1 to 15.
    if (start < end && marker > 0x90 && marker < 0xa0) {
      this.#position = start + 1
      if (this.#event(marker - 0x90, event) && this.#position <= end) return this.#position
    }
    this.#buffers.hashEnd = hashEnd
    this.#buffers.tokenEnd = tokenEnd
    return -1
  }

  #event(elements: number, event: WireEvent): boolean {
    if (this.#skip(STORED_TAG)) return elements >= 5 && this.#stored(elements, event)
    if (this.#skip(REMOVED_TAG)) return elements >= 2 && this.#removed(elements, event)
    if (this.#skip(CLEARED_TAG)) return this.#cleared(elements, event)
    return false
  }

  #stored(elements: number, event: WireEvent): boolean {
    event.kind = 'stored'
    if (!this.#hashes(event) || !this.#parent(event) || !this.#tokens(event)) return false
    const blockSize = this.#integer()
    if (blockSize < 0) return false
    event.blockSize = blockSize
    if (elements > 5 && !this.#skipSmall()) return false
    if (elements > 6) {
      if (!this.#name()) return false
      event.medium = this.#text
    }
    if (elements > 7) {
      if (!this.#name()) return false
      event.loraName = this.#text
    }
    if (elements > 8 && !this.#emptyKeys()) return false
    return elements <= STORED_ELEMENTS || this.#tail(elements - STORED_ELEMENTS, event)
  }

  #removed(elements: number, event: WireEvent): boolean {
    event.kind = 'removed'
    if (!this.#hashes(event)) return false
    if (elements > 2) {
      if (!this.#name()) return false
      event.medium = this.#text
    }
    return elements <= REMOVED_ELEMENTS || this.#tail(elements - REMOVED_ELEMENTS, event)
  }

  #cleared(elements: number, event: WireEvent): boolean {
    event.kind = 'cleared'
    if (elements === 1) return true
    if (!this.#name()) return false
    event.ownership = this.#text
    return elements === 2
  }

  /** The tail rules of `tailFields`, for values that are nil, integers or texts. */
  #tail(count: number, event: WireEvent): boolean {
    if (count > TAIL_ELEMENTS) return false
    let isOrdered = count >= 4
    for (let index = 0; index < count; index++) {
      if (this.#name()) {
        this.#tailTypes[index] = this.#isNil ? IS_NIL : IS_TEXT
        this.#tailTexts[index] = this.#text ?? ''
      } else {
        const value = this.#integer()
        if (value < 0) return false
        this.#tailTypes[index] = IS_INTEGER
        this.#tailIntegers[index] = value
      }
      const expected = index === 0 || index === 2 ? IS_INTEGER : IS_TEXT
      if (this.#tailTypes[index] !== IS_NIL && this.#tailTypes[index] !== expected) isOrdered = false
    }
    const types = this.#tailTypes
    const group = isOrdered ? 0 : firstOf(types, count, IS_INTEGER)
    const kind = isOrdered ? 1 : firstOf(types, count, IS_TEXT)
    if (group >= 0 && types[group] === IS_INTEGER) event.group = this.#tailIntegers[group]!
    if (kind >= 0) event.attentionKind = this.#tailText(kind)
    if (isOrdered) event.locality = this.#tailText(3)
    if (isOrdered && count > 4) event.ownership = this.#tailText(4)
    return true
  }

  #tailText(index: number): string | undefined {
    return this.#tailTypes[index] === IS_TEXT && this.#tailTexts[index] !== ''
      ? this.#tailTexts[index]
      : undefined
  }

  #hashes(event: WireEvent): boolean {
    const count = this.#listLength()
    if (count < 0) return false
    const buffers = this.#buffers
    buffers.reserveHashes(count)
    event.hashStart = buffers.hashEnd
    event.hashCount = count
    const position = readHashes(this.#view, this.#position, this.#end, count, buffers.hashes, buffers.hashEnd)
    if (position < 0) return false
    this.#position = position
    buffers.hashEnd += count
    return true
  }

  #parent(event: WireEvent): boolean {
    if (this.#bytes[this.#position] === NIL) {
      this.#position++
      return true
    }
    const buffers = this.#buffers
    buffers.reserveHashes(1)
    const at = buffers.hashEnd
    const position = readHashes(this.#view, this.#position, this.#end, 1, buffers.hashes, at)
    if (position < 0) return false
    this.#position = position
    event.hasParent = true
    event.parentLow = buffers.hashes[2 * at]!
    event.parentHigh = buffers.hashes[2 * at + 1]!
    return true
  }

  #tokens(event: WireEvent): boolean {
    const count = this.#listLength()
    if (count < 0) return false
    const buffers = this.#buffers
    buffers.reserveTokens(count)
    event.tokenStart = buffers.tokenEnd
    event.tokenCount = count
    const position = readTokens(
      this.#bytes,
      this.#view,
      this.#position,
      this.#end,
      count,
      buffers.tokens,
      buffers.tokenEnd,
    )
    if (position < 0) return false
    this.#position = position
    buffers.tokenEnd += count
    return true
  }

  /** Entries of the list that starts here; -1 = no list, or more entries than bytes are left. */
  #listLength(): number {
    const bytes = this.#bytes
    const marker = bytes[this.#position]!
    let count = -1
    if (marker >= 0x90 && marker < 0xa0) {
      count = marker - 0x90
      this.#position++
    } else if (marker === 0xdc || marker === 0xdd) {
      const size = marker === 0xdc ? 2 : 4
      if (this.#position + size >= this.#end) return -1
      count = bigEndian(bytes, this.#position + 1, size)
      this.#position += 1 + size
    }
    return count > this.#end - this.#position ? -1 : count
  }

  /** An integer of 0 to 2^32 - 1 in its usual forms; -1 = something else. */
  #integer(): number {
    const bytes = this.#bytes
    const position = this.#position
    const marker = bytes[position]!
    if (marker < 0x80) {
      this.#position++
      return marker
    }
    if (marker < 0xcc || marker > 0xce) return -1
    const size = 1 << (marker - 0xcc)
    if (position + size >= this.#end) return -1
    this.#position += 1 + size
    return bigEndian(bytes, position + 1, size)
  }

  /** Text last read by `#name`; nil and empty are absent. */
  #text: string | undefined = undefined
  #isNil = false

  /** Nil or a text. */
  #name(): boolean {
    const bytes = this.#bytes
    const marker = bytes[this.#position]!
    this.#text = undefined
    this.#isNil = marker === NIL
    if (marker === NIL) {
      this.#position++
      return true
    }
    let length: number
    let start = this.#position + 1
    if (marker >= 0xa0 && marker < 0xc0) length = marker - 0xa0
    else if (marker === 0xd9 && start < this.#end) length = bytes[start++]!
    else return false
    if (start + length > this.#end) return false
    if (length > 0) {
      this.#text = this.#texts.read(bytes, start, length)
      if (this.#text === undefined) return false
    }
    this.#position = start + length
    return true
  }

  /** Nil or a small integer, which nobody reads. */
  #skipSmall(): boolean {
    if (this.#bytes[this.#position] !== NIL) return this.#integer() >= 0
    this.#position++
    return true
  }

  /** Extra keys that say nothing: nil, or a list of nils. */
  #emptyKeys(): boolean {
    if (this.#bytes[this.#position] === NIL) {
      this.#position++
      return true
    }
    const count = this.#listLength()
    if (count < 0) return false
    const bytes = this.#bytes
    const end = this.#position + count
    for (let position = this.#position; position < end; position++) {
      if (bytes[position] !== NIL) return false
    }
    this.#position = end
    return true
  }

  /** Whether these bytes stand here; goes behind them if so. */
  #skip(expected: Uint8Array): boolean {
    const bytes = this.#bytes
    const position = this.#position
    if (position + expected.length > this.#end) return false
    for (let index = 0; index < expected.length; index++) {
      if (bytes[position + index] !== expected[index]) return false
    }
    this.#position = position + expected.length
    return true
  }
}

const NO_BYTES = new Uint8Array(0)
const NO_VIEW = new DataView(new ArrayBuffer(0))

function firstOf(types: Uint8Array, count: number, type: number): number {
  for (let index = 0; index < count; index++) {
    if (types[index] === type) return index
  }
  return -1
}
