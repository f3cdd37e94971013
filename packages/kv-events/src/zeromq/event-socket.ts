import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { Dealer, type Observer, Subscriber, context } from 'zeromq'
import type { SocketFeed, WorkerEvents } from '../pipeline/index.js'
import { type SequenceStart, replayRequestFrames } from '../protocol/index.js'
import { RetryClock } from '../protocol/retry-clock.js'
import { endpointOfRank, invalid } from './endpoints.js'

/** Batches that wait in the receiving socket at most, as in the engine's sending one. */
const HIGH_WATER_MARK = 100_000
/** Replies that wait in the receiving socket at most: what engines keep. */
const REPLAY_HIGH_WATER_MARK = 10_000
/**
 * Bytes of one message, some fifty times those of the largest batches of engines; a peer that sends more is disconnected. Lists of longer
 * ones would not fit into memory once they are read.
 */
const LARGEST_MESSAGE = 32 * 1024 * 1024
/** Blocks that are applied before others have their turn. */
const BLOCKS_PER_TURN = 8192
const MESSAGES_PER_TURN = 64
const RECONNECT = { reconnectInterval: 500, reconnectMaxInterval: 30_000 }
/** After a lost connection, until a socket that does not connect anew is made to. */
const ABANDONED_MS = 1000
const RETRY_LOOK_MS = 50
const OBSERVER_KEPT_MS = 1000
const LONGEST_TIMER_MS = 2 ** 31 - 1

// A rank needs three sockets, and three more while it asks for a replay: the library's own limit of 1,023 is that of some 300 ranks.
context.maxSockets = context.maxSocketsLimit

/** Where the events of one rank come from. */
export interface EventSocketOptions {
  /** Rank of the socket. */
  readonly socketRank: number
  /** By how much ports and names are offset, see `endpointOfRank`. Default `socketRank`; 0 = the endpoints are the rank's own. */
  readonly endpointOffset?: number | undefined
  /** Base endpoint of the engine's publisher. */
  readonly endpoint: string
  /** Base endpoint of the engine's replay socket; absent = it has none. */
  readonly replayEndpoint?: string | undefined
  /** The engine connects and we bind. Default false. */
  readonly bind?: boolean | undefined
  /** Default: everything. */
  readonly topic?: string | undefined
  /** Default: nothing is known. */
  readonly start?: SequenceStart | undefined
  /** Monotonic milliseconds; the same clock for all sockets of a worker. Default `performance.now`. */
  readonly nowMs?: (() => number) | undefined
}

/**
 * The ZeroMQ sockets of one rank: SUB for live batches, a DEALER of its own for each replay request. Reconnects for ever. Reads no
 * faster than batches are applied, and lets others run in between.
 */
export class EventSocket {
  readonly #worker: WorkerEvents
  readonly #rank: number
  readonly #endpoint: string
  readonly #replayEndpoint: string | undefined
  readonly #nowMs: () => number
  readonly #feed: SocketFeed
  readonly #live: Subscriber
  readonly #loops: Promise<void>[] = []
  #replay: { readonly id: number; readonly socket: Dealer } | undefined
  #replayLoop: Promise<void> = Promise.resolve()
  #working: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #reconnect: NodeJS.Timeout | undefined
  #isConnected = false
  #wasConnected = false
  #isClosed = false

  /** Connects at once. Errors: `KV_INDEX_ENDPOINT_INVALID`, `KV_INDEX_SOCKET_DUPLICATE`. */
  constructor(worker: WorkerEvents, options: EventSocketOptions) {
    const {
      socketRank,
      endpointOffset = socketRank,
      replayEndpoint,
      start,
      bind = false,
      topic = '',
    } = options
    this.#worker = worker
    this.#rank = socketRank
    this.#nowMs = options.nowMs ?? (() => performance.now())
    this.#endpoint = endpointOfRank(options.endpoint, endpointOffset)
    this.#replayEndpoint =
      replayEndpoint === undefined ? undefined : endpointOfRank(replayEndpoint, endpointOffset)
    this.#feed = worker.addSocket({
      socketRank,
      hasReplay: replayEndpoint !== undefined,
      start,
      sockets: {
        requestReplay: (requestId, from) => this.#openReplay(requestId, from),
        endReplay: (requestId) => this.#closeReplay(requestId),
      },
    })
    const { socket, events } = this.#subscriber()
    this.#live = socket
    this.#live.subscribe(topic)
    this.#loops.push(this.#watch(events, bind))
    if (!bind) this.#connect()
    this.#loops.push(bind ? this.#bind().then(() => this.#receive()) : this.#receive())
    this.#schedule()
  }

  /**
   * Stops reading, closes the sockets and takes the rank's socket from the worker, which may have another one at once; what the index
   * holds stays. Resolves when everything is closed.
   */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    clearTimeout(this.#timer)
    clearTimeout(this.#reconnect)
    this.#live.close()
    if (this.#replay !== undefined) this.#closeReplay(this.#replay.id)
    this.#worker.removeSocket(this.#rank)
    await Promise.all([...this.#loops, this.#replayLoop, this.#working])
  }

  #subscriber(): { readonly socket: Subscriber; readonly events: Observer } {
    try {
      return observed(
        new Subscriber({
          ...RECONNECT,
          linger: 0,
          tcpKeepalive: 1,
          receiveHighWaterMark: HIGH_WATER_MARK,
          maxMessageSize: LARGEST_MESSAGE,
        }),
      )
    } catch (error) {
      throw this.#refused(error)
    }
  }

  /** The rank's socket is free for another one. */
  #refused(error: unknown): Error {
    this.#worker.removeSocket(this.#rank)
    return invalid(this.#endpoint, this.#rank, (error as Error).message, error)
  }

  #connect(): void {
    try {
      this.#live.connect(this.#endpoint)
    } catch (error) {
      this.#live.close()
      throw this.#refused(error)
    }
    // Inside one process nothing reports connections.
    if (this.#endpoint.startsWith('inproc:')) this.#connected()
  }

  /** ZeroMQ never comes back to a peer that broke its protocol, a limit of ours included; whoever is there now may keep to it. */
  #connectAgain(): void {
    try {
      this.#live.disconnect(this.#endpoint)
      this.#live.connect(this.#endpoint)
    } catch {
      this.#lost()
      this.#reconnect = setTimeout(() => this.#connectAgain(), RECONNECT.reconnectMaxInterval).unref()
    }
  }

  async #bind(): Promise<void> {
    const retry = new RetryClock()
    while (!this.#isClosed) {
      try {
        await this.#live.bind(this.#endpoint)
        return
      } catch {
        this.#lost()
        retry.failed(this.#nowMs())
        while (!this.#isClosed && this.#nowMs() < retry.dueMs) await sleep(RETRY_LOOK_MS)
      }
    }
  }

  async #receive(): Promise<void> {
    for (let messages = 1; ; messages++) {
      const frames = await nextMessage(this.#live)
      if (frames === undefined || this.#isClosed) return
      this.#connected()
      this.#feed.sequence.live(frames, this.#nowMs())
      const working = this.#work()
      if (working !== undefined) await working
      else if (messages % MESSAGES_PER_TURN === 0) await nextTurn()
    }
  }

  async #watch(events: Observer, isBound: boolean): Promise<void> {
    for await (const { type } of eventsOf(events)) {
      if (this.#isClosed) continue
      clearTimeout(this.#reconnect)
      if (type === 'handshake') this.#connected()
      else if (type === 'disconnect') {
        this.#lost()
        if (!isBound) this.#reconnect = setTimeout(() => this.#connectAgain(), ABANDONED_MS).unref()
      } else if (type === 'close' && !this.#isConnected) {
        this.#lost()
        if (this.#wasConnected) this.#worker.outageBegan()
      }
    }
  }

  #connected(): void {
    if (this.#isConnected) return
    this.#isConnected = true
    this.#wasConnected = true
    this.#worker.outageEnded(this.#nowMs())
    this.#feed.sequence.connected(this.#nowMs())
    void this.#work()
  }

  #lost(): void {
    this.#isConnected = false
    this.#feed.sequence.connectionLost(this.#nowMs())
    void this.#work()
  }

  #openReplay(requestId: number, from: bigint): void {
    let opened: { readonly socket: Dealer; readonly events: Observer }
    try {
      opened = observed(
        new Dealer({
          ...RECONNECT,
          linger: 0,
          receiveHighWaterMark: REPLAY_HIGH_WATER_MARK,
          maxMessageSize: LARGEST_MESSAGE,
        }),
      )
    } catch {
      // No more sockets or files are to be had: the answer stays away until its time is over.
      return
    }
    this.#replay = { id: requestId, socket: opened.socket }
    const asking = Promise.all([
      this.#replayLoop,
      this.#watchReplay(requestId, opened.events),
      this.#ask(requestId, opened.socket, from),
    ])
    this.#replayLoop = asking.then(() => undefined)
  }

  #closeReplay(requestId: number): void {
    if (this.#replay?.id !== requestId) return
    this.#replay.socket.close()
    this.#replay = undefined
  }

  async #ask(requestId: number, socket: Dealer, from: bigint): Promise<void> {
    try {
      socket.connect(this.#replayEndpoint!)
      await socket.send(replayRequestFrames(from))
    } catch {
      // Closed again, or an address that cannot be: the answer then stays away until its time is over.
    }
    for (let messages = 1; ; messages++) {
      const frames = await nextMessage(socket)
      if (frames === undefined || this.#isClosed) break
      this.#feed.sequence.reply(requestId, frames, this.#nowMs())
      const working = this.#work()
      if (working !== undefined && this.#feed.sequence.isSaturated) await working
      else if (messages % MESSAGES_PER_TURN === 0) await nextTurn()
    }
  }

  async #watchReplay(requestId: number, events: Observer): Promise<void> {
    for await (const { type } of eventsOf(events)) {
      if (type !== 'disconnect' && type !== 'close') continue
      this.#feed.sequence.replayConnectionLost(requestId, this.#nowMs())
      void this.#work()
    }
  }

  /** Applies what can be applied. Nothing returned = all of it is. */
  #work(): Promise<void> | undefined {
    if (this.#working === undefined) {
      if (this.#isClosed || !this.#feed.step(BLOCKS_PER_TURN, this.#nowMs())) {
        this.#schedule()
        return undefined
      }
      this.#working = this.#workOn()
    }
    return this.#working
  }

  async #workOn(): Promise<void> {
    do await nextTurn()
    while (!this.#isClosed && this.#feed.step(BLOCKS_PER_TURN, this.#nowMs()))
    this.#working = undefined
    this.#schedule()
  }

  #schedule(): void {
    clearTimeout(this.#timer)
    if (this.#isClosed) return
    const delayMs = this.#worker.nextDeadlineMs() - this.#nowMs()
    if (delayMs === Infinity) return
    this.#timer = setTimeout(
      () => {
        this.#worker.advance(this.#nowMs())
        void this.#work()
      },
      Math.min(Math.max(delayMs, 0) + 1, LONGEST_TIMER_MS),
    ).unref()
  }
}

/** A socket with what it reports. Error: there are no more sockets or files to be had. */
function observed<T extends Subscriber | Dealer>(
  socket: T,
): { readonly socket: T; readonly events: Observer } {
  try {
    return { socket, events: socket.events }
  } catch (error) {
    socket.close()
    throw error
  }
}

/**
 * What an observer reports, to its end. ZeroMQ knows it by its place in memory, and for a moment after its end as well: no other one must
 * get that place meanwhile, or it would be refused as an address in use.
 */
async function* eventsOf(observer: Observer): AsyncIterable<{ readonly type: string }> {
  try {
    yield* observer
  } finally {
    setTimeout(() => void observer, OBSERVER_KEPT_MS).unref()
  }
}

/** The next message; absent = the socket is closed. */
async function nextMessage(socket: Subscriber | Dealer): Promise<Uint8Array[] | undefined> {
  try {
    return await socket.receive()
  } catch (error) {
    if (socket.closed) return undefined
    throw error
  }
}
