/** Tokens of a block. */
export const blockSize = 16
const vocabulary = 151_000
const nil = 0xc0

export interface PayloadShape {
  /** Payloads, each one batch. */
  readonly payloads: number
  readonly eventsPerPayload: number
  readonly blocksPerEvent: number
}

/**
 * Batches of stores as an engine sends them: arrays, hashes of eight bytes, tokens of one to five, a list of nils for the extra keys, a tail
 * with group and kind. Each event starts at the root. `renew` gives all of them other hashes and tokens in place, so that no two turns store the same.
 */
export class StorePayloads {
  readonly payloads: readonly Uint8Array[]
  /** Engine hashes of all blocks, in wire order; hash i at words 2i and 2i + 1. */
  readonly engine: Uint32Array
  readonly blocks: number
  readonly #hashPlaces: readonly Uint32Array[]
  /** Of a token of five bytes in each block. */
  readonly #tokenPlaces: readonly Uint32Array[]
  readonly #views: readonly DataView[]
  #turn = 0

  constructor(shape: PayloadShape) {
    const random = randomNumbers(shape.payloads + shape.blocksPerEvent)
    const made = Array.from({ length: shape.payloads }, () => payloadOf(shape, random))
    this.payloads = made.map(({ bytes }) => bytes)
    this.#hashPlaces = made.map(({ hashPlaces }) => hashPlaces)
    this.#tokenPlaces = made.map(({ tokenPlaces }) => tokenPlaces)
    this.#views = this.payloads.map((bytes) => new DataView(bytes.buffer))
    this.blocks = shape.payloads * shape.eventsPerPayload * shape.blocksPerEvent
    this.engine = new Uint32Array(2 * this.blocks)
    this.renew()
  }

  /** The next turn: other hashes and tokens in all payloads. */
  renew(): void {
    const turn = ++this.#turn
    let block = 0
    for (const [index, view] of this.#views.entries()) {
      const hashPlaces = this.#hashPlaces[index]!
      const tokenPlaces = this.#tokenPlaces[index]!
      for (let own = 0; own < hashPlaces.length; own++, block++) {
        const low = Math.imul(block + 1, 0x9e37_79b1) >>> 0
        const high = Math.imul(turn, 0x85eb_ca6b) >>> 0
        this.engine[2 * block] = low
        this.engine[2 * block + 1] = high
        view.setUint32(hashPlaces[own]!, high)
        view.setUint32(hashPlaces[own]! + 4, low)
        view.setUint32(tokenPlaces[own]!, 0x1_0000 + turn)
      }
    }
  }
}

interface MadePayload {
  readonly bytes: Uint8Array
  readonly hashPlaces: Uint32Array
  readonly tokenPlaces: Uint32Array
}

function payloadOf({ eventsPerPayload, blocksPerEvent }: PayloadShape, random: () => number): MadePayload {
  const bytes: number[] = [0x93, 0xcb, 0x41, 0xd9, 0x54, 0xfc, 0x40, 0x20, 0, 0]
  const hashPlaces: number[] = []
  const tokenPlaces: number[] = []
  pushListHead(bytes, eventsPerPayload)
  for (let event = 0; event < eventsPerPayload; event++) {
    bytes.push(0x9d)
    pushText(bytes, 'BlockStored')
    pushListHead(bytes, blocksPerEvent)
    for (let block = 0; block < blocksPerEvent; block++) {
      bytes.push(0xcf)
      hashPlaces.push(bytes.length)
      bytes.push(0, 0, 0, 0, 0, 0, 0, 0)
    }
    bytes.push(nil)
    pushListHead(bytes, blocksPerEvent * blockSize)
    for (let block = 0; block < blocksPerEvent; block++) {
      bytes.push(0xce)
      tokenPlaces.push(bytes.length)
      bytes.push(0, 0, 0, 0)
      // Small token ids are the frequent ones.
      for (let token = 1; token < blockSize; token++)
        pushInteger(bytes, Math.floor(vocabulary * random() ** 2))
    }
    bytes.push(blockSize, nil)
    pushText(bytes, 'GPU')
    bytes.push(nil)
    pushListHead(bytes, blocksPerEvent)
    for (let block = 0; block < blocksPerEvent; block++) bytes.push(nil)
    bytes.push(0)
    pushText(bytes, 'full_attention')
    bytes.push(nil, nil)
  }
  bytes.push(0)
  return {
    bytes: Uint8Array.from(bytes),
    hashPlaces: Uint32Array.from(hashPlaces),
    tokenPlaces: Uint32Array.from(tokenPlaces),
  }
}

function pushListHead(bytes: number[], length: number): void {
  if (length < 16) bytes.push(0x90 + length)
  else bytes.push(0xdc, length >> 8, length & 0xff)
}

function pushText(bytes: number[], text: string): void {
  bytes.push(0xa0 + text.length)
  for (const character of text) bytes.push(character.charCodeAt(0))
}

function pushInteger(bytes: number[], value: number): void {
  if (value < 0x80) bytes.push(value)
  else if (value < 0x100) bytes.push(0xcc, value)
  else if (value < 0x1_0000) bytes.push(0xcd, value >> 8, value & 0xff)
  else bytes.push(0xce, 0, value >> 16, (value >> 8) & 0xff, value & 0xff)
}

/** Numbers in [0, 1), the same in every run. */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
