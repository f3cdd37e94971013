interface Segment {
  readonly key: string
  readonly text: string
  readonly ids: Uint32Array
  readonly bytes: number
}

/** What an entry costs beside its text and ids: entry, key, the array and its buffer, the place in the map. */
const entryBytes = 512
const sampleCharacters = 16

/**
 * Token ids of pieces of text, the least recently used dropped first when their bytes (text, ids and overhead) exceed the capacity.
 * A piece that alone takes over a quarter of it is not kept. It owns what it holds: texts are copies, not parts of a longer one.
 *
 * Pieces are found by their length and three samples, then compared: to hash a text of 400 kB would take most of the time of a prompt
 * that is known. Of pieces alike in all that only the last one is kept.
 */
export class SegmentCache {
  /** Bound of `bytes`. */
  readonly capacityBytes: number
  #bytes = 0
  readonly #segments = new Map<string, Segment>()

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
    const segment = this.#segments.get(keyOf(text))
    if (segment === undefined || segment.text !== text) return undefined
    this.#segments.delete(segment.key)
    this.#segments.set(segment.key, segment)
    return segment.ids
  }

  /** Keeps the ids of a text, which must be one of `ownText`. */
  add(text: string, ids: Uint32Array): void {
    const width = isNarrow(text) ? 1 : 2
    const bytes = entryBytes + width * text.length + ids.byteLength
    if (4 * bytes > this.capacityBytes) return
    const key = ownText(keyOf(text))
    this.#drop(this.#segments.get(key))
    this.#segments.set(key, { key, text, ids, bytes })
    this.#bytes += bytes
    for (const segment of this.#segments.values()) {
      if (this.#bytes <= this.capacityBytes) break
      this.#drop(segment)
    }
  }

  #drop(segment: Segment | undefined): void {
    if (segment === undefined) return
    this.#segments.delete(segment.key)
    this.#bytes -= segment.bytes
  }
}

function keyOf(text: string): string {
  const { length } = text
  if (length <= 4 * sampleCharacters) return text
  const middle = (length - sampleCharacters) >> 1
  const samples = [0, middle, length - 2 * sampleCharacters].map((at, index) =>
    text.slice(at, at + (index === 2 ? 2 : 1) * sampleCharacters),
  )
  return `${length} ${samples.join('')}`
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
