import { Router, XPublisher } from 'zeromq'

const terminator = 0xffff_ffff_ffff_ffffn

/** The event side of an engine on loopback: it publishes what it is told to, and its replay socket answers from what it retains. */
export class SessionEngine {
  /** Addresses. */
  events = ''
  replay = ''
  /** Subscriptions so far. */
  subscriptions = 0
  /** First sequences that were asked for. */
  readonly requests: bigint[] = []
  retained: readonly (readonly [sequence: bigint, payload: Buffer])[] = []
  readonly #repliesWithTopic: boolean
  // Tells a second subscription too, before it knows that the first one is gone.
  readonly #publisher = new XPublisher({ linger: 0, verbosity: 'allSubs' })
  readonly #router: Router | undefined
  #loops: Promise<void>[] = []

  constructor(replay: true | 'with_topic' | undefined) {
    this.#repliesWithTopic = replay === 'with_topic'
    this.#router = replay === undefined ? undefined : new Router({ linger: 0 })
  }

  async start(): Promise<this> {
    await this.#publisher.bind('tcp://127.0.0.1:*')
    this.events = this.#publisher.lastEndpoint!
    this.#loops = [this.#countSubscriptions()]
    if (this.#router !== undefined) {
      await this.#router.bind('tcp://127.0.0.1:*')
      this.replay = this.#router.lastEndpoint!
      this.#loops.push(this.#answer(this.#router))
    }
    return this
  }

  async send(frames: readonly Uint8Array[]): Promise<void> {
    await this.#publisher.send([...frames])
  }

  async stop(): Promise<void> {
    this.#publisher.close()
    this.#router?.close()
    await Promise.all(this.#loops)
  }

  async #countSubscriptions(): Promise<void> {
    for await (const [message] of this.#publisher) if (message?.[0] === 1) this.subscriptions++
  }

  async #answer(router: Router): Promise<void> {
    for await (const frames of router) {
      const [identity, , wanted] = frames
      if (frames.length !== 3 || wanted?.length !== 8) continue
      const from = wanted.readBigUInt64BE()
      this.requests.push(from)
      const topic = this.#repliesWithTopic ? [Buffer.alloc(0)] : []
      const reply = (sequence: bigint, payload: Buffer) =>
        // A peer that left gets nothing.
        router
          .send([identity!, Buffer.alloc(0), ...topic, sequenceFrame(sequence), payload])
          .catch(() => undefined)
      for (const [sequence, payload] of this.retained) if (sequence >= from) await reply(sequence, payload)
      await reply(terminator, Buffer.alloc(0))
    }
  }
}

/** 8 bytes, big-endian. */
export function sequenceFrame(sequence: bigint): Buffer {
  const frame = Buffer.alloc(8)
  frame.writeBigUInt64BE(sequence)
  return frame
}
