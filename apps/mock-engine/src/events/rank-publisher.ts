import { Publisher } from 'zeromq'
import { seededRandom } from '../engine/seeded-random.js'
import type { RankEventSockets } from '../engine/serving.js'
import { type EventForm, type HashForm, encodeBatch } from './batch-encoding.js'
import { bindSocket, closeSocket, sendOrLose } from './bind-socket.js'
import type { CacheEvent } from './cache-event.js'
import { endpointOfRank, invalidEndpoint, isBoundByEngine, isIpv6, reachable } from './endpoints.js'
import { EventLog, sequenceFrame } from './event-log.js'
import { ReplaySocket } from './replay-socket.js'

/** Where KV events go, and in what form. */
export interface EventOptions {
  /**
   * Of rank 0; others have the port plus their rank, and a name with `_dp{rank}`. The engine binds where it has `*` or `::`, is `ipc://` or
   * `inproc://`, or has port 0 (any free port, one a rank); else it connects to a router that binds.
   */
  readonly endpoint: string
  /** Always bound. Default: no replay socket. */
  readonly replayEndpoint?: string | undefined
  /** Default: empty. */
  readonly topic?: string | undefined
  /** Default: `u64` for vLLM, `i64` for SGLang. */
  readonly hashes?: HashForm | undefined
  /** Decides which batches the fault `lossFraction` takes. A whole number, default 1. */
  readonly lossSeed?: number | undefined
}

/** What is wrong with the live events, on purpose. */
export interface EventFault {
  readonly silent: boolean
  readonly lossFraction: number
}

/** The event sockets of one rank and one incarnation: what happened to the cache goes out at once, numbered from 0. */
export class RankPublisher {
  batches = 0
  suppressedBatches = 0
  fault: EventFault = { silent: false, lossFraction: 0 }
  readonly #rank: number
  readonly #form: EventForm
  readonly #topic: Buffer
  readonly #random: () => number
  readonly #log = new EventLog()
  /** Without a time-out it takes every message within the call; a publisher never has to wait. */
  readonly #publisher = new Publisher({ linger: 0, sendTimeout: 0, sendHighWaterMark: 100_000 })
  readonly #replay: ReplaySocket | undefined
  #endpoint = ''
  #isBound = false

  constructor(rank: number, form: EventForm, { topic = '', lossSeed = 1, replayEndpoint }: EventOptions) {
    this.#rank = rank
    this.#form = form
    this.#topic = Buffer.from(topic)
    this.#random = seededRandom(lossSeed + rank * 7919)
    this.#replay = replayEndpoint === undefined ? undefined : new ReplaySocket(this.#log)
  }

  /** Binds or connects. Throws `MOCK_ENGINE_ENDPOINT_INVALID`, and everything is closed. */
  async open({ endpoint, isBound, replayEndpoint }: RankEndpoints): Promise<void> {
    try {
      if (isBound) {
        this.#endpoint = await bindSocket(this.#publisher, endpoint)
        this.#isBound = true
      } else this.#connect(endpoint)
      if (replayEndpoint !== undefined) await this.#replay?.open(replayEndpoint)
    } catch (error) {
      await this.close()
      throw error
    }
  }

  /** Where it was opened, with real ports: to be opened there again. */
  get opened(): RankEndpoints {
    return { endpoint: this.#endpoint, isBound: this.#isBound, replayEndpoint: this.#replay?.endpoint }
  }

  /** The same for others on this machine. */
  get sockets(): RankEventSockets {
    const { endpoint, replayEndpoint } = this.opened
    return {
      rank: this.#rank,
      endpoint: reachable(endpoint),
      replayEndpoint: replayEndpoint === undefined ? undefined : reachable(replayEndpoint),
    }
  }

  /** Sends one batch of at least one event, unless a fault keeps it back; the replay socket has it anyway. */
  publish(events: readonly CacheEvent[]): void {
    const payload = encodeBatch(this.#form, Date.now() / 1000, events, this.#rank)
    const sequence = this.#log.add(payload)
    const { silent, lossFraction } = this.fault
    if (silent || (lossFraction > 0 && this.#random() < lossFraction)) {
      this.suppressedBatches++
      return
    }
    this.batches++
    void sendOrLose(this.#publisher, [this.#topic, sequenceFrame(BigInt(sequence)), payload])
  }

  /** Does not wait for anybody. */
  async close(): Promise<void> {
    closeSocket(this.#publisher, this.#isBound ? this.#endpoint : '')
    this.#isBound = false
    await this.#replay?.close()
  }

  #connect(endpoint: string): void {
    this.#publisher.ipv6 = isIpv6(endpoint)
    try {
      this.#publisher.connect(endpoint)
      this.#endpoint = endpoint
    } catch (error) {
      throw invalidEndpoint(endpoint, (error as Error).message, error)
    }
  }
}

/** Where the sockets of one rank are to be. */
export interface RankEndpoints {
  readonly endpoint: string
  /** Else the publisher connects. */
  readonly isBound: boolean
  readonly replayEndpoint: string | undefined
}

/** The endpoints of every rank, before any is opened. Throws `MOCK_ENGINE_ENDPOINT_INVALID`. */
export function endpointsOfRanks({ endpoint, replayEndpoint }: EventOptions, ranks: number): RankEndpoints[] {
  return Array.from({ length: ranks }, (_, rank) => ({
    endpoint: endpointOfRank(endpoint, rank),
    isBound: isBoundByEngine(endpoint),
    replayEndpoint: replayEndpoint === undefined ? undefined : endpointOfRank(replayEndpoint, rank),
  }))
}
