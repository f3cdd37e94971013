/** What a node of a tape is. */
export const nodeKinds = {
  object: 0,
  array: 1,
  /** A string whose bytes are its one shortest form. */
  text: 2,
  /** A string with an escape that has a shorter form, or another. */
  escapedText: 3,
  /** A key of an object, in its shortest form or not. */
  key: 4,
  escapedKey: 5,
  number: 6,
  /** `true`, `false` or `null`. */
  word: 7,
  /** An array of one or more plain whole numbers below 2^32: one node, its values in `ids`. */
  ids: 8,
} as const

const wordsPerNode = 4
const retainedWords = 262_144
/** Nodes that one body may have; a list of token ids is one. */
export const nodeLimit = 2_097_152

/**
 * What a JSON text consists of, as a flat list of nodes in the order of the text, each with its range of bytes, quotes and brackets
 * included. The children of an object are keys and values in turn. One tape serves text after text; between them it keeps at most
 * 2 MiB, while it holds one at most 32 MiB and the ids.
 */
export class JsonTape {
  /** Nodes. */
  count = 0
  /** Values of the id lists; each list follows its length. */
  ids = new Uint32Array(1024)
  idsUsed = 0
  #words = new Int32Array(1024 * wordsPerNode)

  /** Bytes of memory that are held. */
  get heldBytes(): number {
    return this.#words.byteLength + this.ids.byteLength
  }

  /** Forgets everything. */
  clear(): void {
    this.count = 0
    this.idsUsed = 0
    if (this.#words.length > retainedWords) this.#words = new Int32Array(retainedWords)
    if (this.ids.length > retainedWords) this.ids = new Uint32Array(retainedWords)
  }

  /** Appends a node and returns it. */
  add(kind: number, start: number, end: number, extra: number): number {
    const node = this.count++
    const at = node * wordsPerNode
    if (at === this.#words.length) this.#words = grown(this.#words, new Int32Array(2 * at))
    const words = this.#words
    words[at] = kind
    words[at + 1] = start
    words[at + 2] = end
    words[at + 3] = extra
    return node
  }

  kind(node: number): number {
    return this.#words[node * wordsPerNode]!
  }

  start(node: number): number {
    return this.#words[node * wordsPerNode + 1]!
  }

  end(node: number): number {
    return this.#words[node * wordsPerNode + 2]!
  }

  /**
   * Object or array: while open the node that it stands in, then the node that follows it and all within, or the complement of that where
   * it is in canonical form. Text: bytes that its shortest form is shorter. Ids: where their length stands in `ids`.
   */
  extra(node: number): number {
    return this.#words[node * wordsPerNode + 3]!
  }

  /** The node behind this one and all within it. */
  next(node: number): number {
    if (this.kind(node) > nodeKinds.array) return node + 1
    const next = this.extra(node)
    return next < 0 ? ~next : next
  }

  /** Of an object or array: whether its bytes are those of its canonical text. */
  isCanonical(node: number): boolean {
    return this.extra(node) < 0
  }

  close(node: number, end: number, isCanonical: boolean): void {
    this.#words[node * wordsPerNode + 2] = end
    this.#words[node * wordsPerNode + 3] = isCanonical ? ~this.count : this.count
  }

  /** Makes room for one more id. */
  growIds(): void {
    this.ids = grown(this.ids, new Uint32Array(2 * this.ids.length))
  }
}

function grown<Words extends Int32Array | Uint32Array>(words: Words, room: Words): Words {
  room.set(words)
  return room
}
