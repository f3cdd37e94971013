import { XPublisher } from 'zeromq'

type Packed = number | string | null | readonly Packed[]

/** MessagePack of what batches hold: a batch's time is a float, everything else whole. */
function packed(value: Packed): number[] {
  if (value === null) return [0xc0]
  if (typeof value === 'string') return [0xd9, value.length, ...Buffer.from(value)]
  if (typeof value === 'number') return [0xce, ...Buffer.from(Uint32Array.of(value).buffer).toReversed()]
  return [0xdc, value.length >> 8, value.length & 0xff, ...value.flatMap(packed)]
}

/** A batch that stores blocks of a word at the root, under the hashes 1, 2, 3 ... */
export function storedBatch(word: string, blockSize = 4, dpRank?: number): Uint8Array {
  const letters = [...word]
  const tokens = letters.flatMap((letter) => [0, 1, 2, 3].map((at) => 1000 * letter.codePointAt(0)! + at))
  const hashes = letters.map((_, index) => index + 1)
  return packedBatch(['BlockStored', hashes, null, tokens, blockSize, null, 'GPU'], dpRank)
}

/** A batch of one event. @param dpRank absent = that of the socket */
export function packedBatch(event: readonly Packed[], dpRank?: number): Uint8Array {
  const ts = Array.from({ length: 8 }, () => 0)
  return Uint8Array.from([0x93, 0xcb, ...ts, 0x91, ...packed(event), ...packed(dpRank ?? null)])
}

/** The event side of an engine on loopback. */
export class TestEngine {
  readonly #publisher = new XPublisher({ linger: 0, verbosity: 'allSubs' })
  #loop: Promise<void> = Promise.resolve()
  subscriptions = 0

  async start(endpoint = 'tcp://127.0.0.1:*'): Promise<string> {
    await this.#publisher.bind(endpoint)
    this.#loop = this.#count()
    return this.#publisher.lastEndpoint!
  }

  async publish(sequence: number, payload: Uint8Array): Promise<void> {
    const frame = Buffer.alloc(8)
    frame.writeBigUInt64BE(BigInt(sequence))
    await this.#publisher.send(['', frame, payload])
  }

  async stop(): Promise<void> {
    this.#publisher.close()
    await this.#loop
  }

  async #count(): Promise<void> {
    for await (const [message] of this.#publisher) if (message?.[0] === 1) this.subscriptions++
  }
}
