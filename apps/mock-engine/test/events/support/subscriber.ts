import { decode } from '@msgpack/msgpack'
import { afterEach } from 'vitest'
import { Dealer, Subscriber } from 'zeromq'
import type { ServedEngine } from '../../../src/engine/serving.js'

/** A message of the live or the replay socket as a router sees it. */
export interface Received {
  readonly topic: string
  readonly sequence: bigint
  /** Undefined = an empty payload. */
  readonly batch: [time: number, events: unknown[][], rank: number] | undefined
}

const closing: { close: () => void }[] = []
afterEach(() => {
  for (const socket of closing.splice(0)) socket.close()
})

/** A subscriber as a router has one, with a decoder that shares nothing with the engine's encoder but its library. Closed after the test. */
export class LiveSubscriber {
  readonly received: Received[] = []
  readonly socket = new Subscriber({ linger: 0, reconnectInterval: 20, reconnectMaxInterval: 50 })

  constructor(endpoint?: string, topic = '') {
    closing.push(this.socket)
    this.socket.subscribe(topic)
    if (endpoint !== undefined) this.socket.connect(endpoint)
    void this.#read()
  }

  /** Events of all batches from sequence `from` on. */
  events(from = 0): unknown[][] {
    return this.received.filter(({ sequence }) => sequence >= from).flatMap(({ batch }) => batch?.[1] ?? [])
  }

  /** Has an idle engine tell that it clears its cache until this subscriber hears it; gives the next sequence number. */
  async joined(engine: ServedEngine, rank = 0): Promise<number> {
    const before = this.received.length
    await until(() => {
      if (this.received.length > before) return true
      engine.resetPrefixCache()
      return false
    })
    // What was sent meanwhile arrives, too.
    const { eventBatches, suppressedEventBatches } = engine.facts()[rank]!
    const sent = eventBatches + suppressedEventBatches
    await until(() => Number(this.received.at(-1)!.sequence) === sent - 1)
    return sent
  }

  async #read(): Promise<void> {
    for await (const frames of this.socket) this.received.push(receivedOf(frames))
  }
}

function receivedOf(frames: readonly Buffer[]): Received {
  const [topic, sequence, payload] = frames
  if (frames.length !== 3 || sequence!.length !== 8) throw new Error(`${frames.length} frames`)
  const batch = payload!.length === 0 ? undefined : decode(payload!, { useBigInt64: true })
  return {
    topic: topic!.toString(),
    sequence: sequence!.readBigUInt64BE(),
    batch: batch as Received['batch'],
  }
}

/** Asks a replay socket for everything from a sequence number on, and gives the replies, the terminator last. */
export async function replayed(endpoint: string, from: bigint): Promise<Received[]> {
  const wanted = Buffer.alloc(8)
  wanted.writeBigUInt64BE(from)
  const socket = new Dealer({ linger: 0, receiveHighWaterMark: 20_000 })
  closing.push(socket)
  socket.connect(endpoint)
  // Requests of another shape are not answered.
  await socket.send(['', wanted, ''])
  await socket.send(['', 'x'])
  await socket.send(['', wanted])
  const replies: Received[] = []
  for await (const frames of socket) {
    replies.push(receivedOf(frames))
    if (replies.at(-1)!.sequence === 2n ** 64n - 1n) break
  }
  return replies
}

/** Waits until something holds; the test fails when that takes longer than anything should. */
export async function until(holds: () => boolean): Promise<void> {
  for (let look = 0; look < 4000; look++) {
    if (holds()) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  throw new Error('never came true')
}
