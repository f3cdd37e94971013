interface Segment {
  readonly place: number
  readonly text: string
  readonly ids: Uint32Array
  readonly bytes: number
}

/** What an entry costs beside its text and ids: entry, the array and its buffer, the place in the map. */
const entryBytes = 384
// Characters that the place of a text depends on.
const leading = 64
const between = 64
const trailing = 32
/** Texts alike in all of them that are kept. */
const ways = 4

/**
 * Token ids of pieces of text, the least recently used dropped first when their bytes (text, ids and overhead) exceed the capacity.
 * A piece that alone takes over a quarter of it is not kept. It owns what it holds: texts are copies, not parts of a longer one.
 *
 * Pieces are found by their length and up to 160 characters (those at both ends and some between), then compared: to hash a text of
 * 400 kB would take most of the time of a prompt that is known. Of pieces alike in all that up to four are kept.
 */
export class SegmentCache {
  /** Bound of `bytes`. */
  readonly capacityBytes: number
  #bytes = 0
  readonly #segments = new Map<number, Segment>()

  constructor(capacityBytes: number) {
    this.capacityBytes = capacityBytes
  }

  /** Bytes of all that is held. */
  get bytes(): number {
    return this.#bytes
  }

  /** Pieces held. */
  get size(): number {
    return this.#segments.size
  }

  /** Ids of a text, which then is the most recently used; they are not to be changed. `O(text)`. */
  get(text: string): Uint32Array | undefined {
    const first = firstPlace(text)
    for (let place = first; place < first + ways; place++) {
      const segment = this.#segments.get(place)
      if (segment?.text !== text) continue
      this.#segments.delete(place)
      this.#segments.set(place, segment)
      return segment.ids
    }
    return undefined
  }

  /** Keeps the ids of a text that it does not have; the text must be one of `ownText`. */
  add(text: string, ids: Uint32Array): void {
    const width = isNarrow(text) ? 1 : 2
    const bytes = entryBytes + width * text.length + ids.byteLength
    if (4 * bytes > this.capacityBytes) return
    const first = firstPlace(text)
    let place = first
    while (place < first + ways && this.#segments.has(place)) place++
    // All taken: one of them goes, not always the same.
    if (place === first + ways) place = first + (this.#segments.size % ways)
    this.#drop(this.#segments.get(place))
    this.#segments.set(place, { place, text, ids, bytes })
    this.#bytes += bytes
    for (const segment of this.#segments.values()) {
      if (this.#bytes <= this.capacityBytes) break
      this.#drop(segment)
    }
  }

  #drop(segment: Segment | undefined): void {
    if (segment === undefined) return
    this.#segments.delete(segment.place)
    this.#bytes -= segment.bytes
  }
}

/** The first of the places that a text may have: a small integer, a multiple of their number. */
function firstPlace(text: string): number {
  const { length } = text
  let hash = length
  const mix = (at: number): void => {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193)
  }
  const end = Math.max(leading, length - trailing)
  for (let at = 0; at < length && at < leading; at++) mix(at)
  const step = Math.max(1, Math.ceil((end - leading) / between))
  for (let at = leading; at < end; at += step) mix(at)
  for (let at = end; at < length; at++) mix(at)
  return ((hash ^ (hash >>> 15)) & 0x0fff_ffff) * ways
}

/** A copy of a text: a slice would hold on to all that it was cut from. Lone surrogates stay. */
export function ownText(text: string): string {
  const encoding = isNarrow(text) ? 'latin1' : 'utf16le'
  return Buffer.from(text, encoding).toString(encoding)
}

/** Whether the engine keeps it with a byte a character. */
function isNarrow(text: string): boolean {
  return !/[\u0100-\uffff]/.test(text)
}
