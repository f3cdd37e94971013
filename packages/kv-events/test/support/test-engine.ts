import { connect } from 'node:net'
import { Router, XPublisher } from 'zeromq'
import { TERMINATOR_SEQUENCE } from '../../src/protocol/index.js'
import { liveFrames, sequenceFrame } from './machine-log.js'

export interface EngineEndpoints {
  readonly events: string
  readonly replay: string
}

/**
 * The event side of an engine on real sockets: a publisher that numbers its batches and says who subscribed, and a ROUTER that keeps
 * what it is told to and answers as engines do.
 */
export class TestEngine {
  /** First sequences that were asked for. */
  readonly requests: bigint[] = []
  /** What the replay socket keeps. */
  readonly kept = new Map<bigint, Uint8Array>()
  /** Subscriptions so far, those of subscribers that left included. */
  subscriptions = 0
  isSilent = false
  /** Sends the topic in replies, as newer engines do. */
  repliesWithTopic = false
  readonly topic: string
  readonly #publisher = new XPublisher({ linger: 0, sendHighWaterMark: 100_000 })
  readonly #router = new Router({ linger: 0, sendHighWaterMark: 100_000 })
  #loops: Promise<void>[] = []

  constructor({ topic = '' }: { topic?: string } = {}) {
    this.topic = topic
  }

  /** Binds; without endpoints to free ports of the loopback. */
  async start(endpoints: Partial<EngineEndpoints> = {}): Promise<EngineEndpoints> {
    await this.#publisher.bind(endpoints.events ?? 'tcp://127.0.0.1:*')
    await this.#router.bind(endpoints.replay ?? 'tcp://127.0.0.1:*')
    this.#run()
    return { events: this.#publisher.lastEndpoint!, replay: this.#router.lastEndpoint! }
  }

  /** Connects the publisher, for a router that binds. */
  connect(events: string): void {
    this.#publisher.connect(events)
    this.#run()
  }

  async publish(sequence: number | bigint, payload: Uint8Array): Promise<void> {
    await this.send([Buffer.from(this.topic), ...liveFrames(sequence, payload).slice(1)])
  }

  async send(frames: readonly Uint8Array[]): Promise<void> {
    await this.#publisher.send([...frames])
  }

  async stop(): Promise<void> {
    this.#publisher.close()
    this.#router.close()
    await Promise.all(this.#loops)
  }

  #run(): void {
    this.#loops = [this.#watchSubscriptions(), this.#answer()]
  }

  async #watchSubscriptions(): Promise<void> {
    for await (const [message] of this.#publisher) if (message?.[0] === 1) this.subscriptions++
  }

  async #answer(): Promise<void> {
    for await (const frames of this.#router) {
      const [identity, , wanted] = frames
      if (frames.length !== 3 || wanted?.length !== 8) continue
      const from = wanted.readBigUInt64BE()
      this.requests.push(from)
      if (this.isSilent) continue
      const topic = this.repliesWithTopic ? [Buffer.from(this.topic)] : []
      for (const [sequence, payload] of this.kept) {
        if (sequence >= from) await this.#reply([identity!, '', ...topic, sequenceFrame(sequence), payload])
      }
      await this.#reply([identity!, '', ...topic, sequenceFrame(TERMINATOR_SEQUENCE), ''])
    }
  }

  /** A peer that has left gets nothing. */
  async #reply(frames: (Uint8Array | string)[]): Promise<void> {
    await this.#router.send(frames).catch(() => undefined)
  }
}

/** Waits until something holds; the test fails when that takes longer than anything should. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  state: () => unknown = () => '',
): Promise<void> {
  for (let look = 0; look < 2000; look++) {
    if (await holds()) return
    await pause(5)
  }
  const seen = JSON.stringify(state(), (_, value) => (typeof value === 'bigint' ? String(value) : value))
  throw new Error(`never came true: ${what} ${seen}`)
}

/** Whether somebody takes connections at a TCP endpoint. */
export function isTaken(endpoint: string): Promise<boolean> {
  const { port, hostname } = new URL(endpoint.replace('tcp:', 'http:'))
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    const end = (taken: boolean) => {
      socket.destroy()
      resolve(taken)
    }
    socket.once('connect', () => end(true)).once('error', () => end(false))
  })
}

const realTimeout = globalThis.setTimeout

/** Lets real time pass, also when the clock of the test is a fake. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => realTimeout(resolve, ms))
}
