import {
  type EventFault,
  type RankEndpoints,
  RankPublisher,
  endpointsOfRanks,
} from '../events/rank-publisher.js'
import {
  type ServedEngineOptions,
  type ServedEngineSettings,
  refuse,
  servedEngineSettings,
} from './engine-options.js'
import { RankEngine } from './rank-engine.js'
import { tell } from './rank-requests.js'
import type { Generation, GenerationRequest, RankEventSockets, RankFacts, ServedEngine } from './serving.js'
import { VirtualClock } from './virtual-clock.js'

/**
 * A simulated engine in real time. Ranks share nothing: each has a pool, a queue and passes of its own. Errors:
 * `MOCK_ENGINE_OPTION_INVALID`, `MOCK_ENGINE_ENDPOINT_INVALID`.
 */
export async function createServedEngine(options: ServedEngineOptions): Promise<ServedEngine> {
  const engine = new RealTimeEngine(options)
  await engine.open()
  return engine
}

class RealTimeEngine implements ServedEngine {
  startedAtSeconds = Date.now() / 1000
  readonly #options: ServedEngineOptions
  #settings: ServedEngineSettings
  readonly #clock: VirtualClock
  #endpoints: RankEndpoints[]
  #fault: EventFault = { silent: false, lossFraction: 0 }
  #slowness = 1
  #isHung = false
  /** What a request hears while the engine is not up; absent = it is. */
  #downReason: string | undefined = 'the engine starts'
  /** Starts, restarts and the end, one after the other. */
  #lifecycle: Promise<void> = Promise.resolve()
  #isClosed = false
  #ranks: RankEngine[] = []
  #publishers: RankPublisher[] = []

  constructor(options: ServedEngineOptions) {
    this.#options = options
    this.#settings = servedEngineSettings(options)
    const { events, ranks, speedup } = this.#settings
    this.#endpoints = events === undefined ? [] : endpointsOfRanks(events, ranks)
    this.#clock = new VirtualClock(speedup, () => performance.now())
  }

  get flavour() {
    return this.#settings.flavour
  }
  get model() {
    return this.#settings.model
  }
  get blockSize() {
    return this.#settings.blockSize
  }
  get blocksPerRank() {
    return this.#settings.blocksPerRank
  }
  get ranks() {
    return this.#settings.ranks
  }
  get maxModelTokens() {
    return this.#settings.maxModelTokens
  }
  get maxPassTokens() {
    return this.#settings.maxPassTokens
  }
  get maxRunning() {
    return this.#settings.maxRunning
  }

  get eventSockets(): readonly RankEventSockets[] {
    return this.#publishers.map((publisher) => publisher.sockets)
  }

  open(): Promise<void> {
    return this.#next(() => this.#start())
  }

  generate(request: GenerationRequest): Generation {
    const { rank = this.#leastLoadedRank(), promptTokens } = request
    const refusal =
      promptTokens.length === 0
        ? 'the prompt has no tokens'
        : rank in this.#ranks
          ? this.#downReason
          : `data-parallel rank ${rank} does not exist; accepted: 0 to ${this.ranks - 1}`
    if (refusal === undefined) return this.#ranks[rank]!.submit(request)
    const end = refusal === this.#downReason ? 'restarted' : 'rejected'
    setImmediate(() => tell(request.onEnd, end, refusal))
    return { rank, abort: () => false }
  }

  facts(): readonly RankFacts[] {
    return this.#ranks.map((rank, index) => {
      const { batches = 0, suppressedBatches = 0 } = this.#publishers[index] ?? {}
      return { ...rank.facts(), eventBatches: batches, suppressedEventBatches: suppressedBatches }
    })
  }

  setEventFault({ silent = false, lossFraction = 0 }: Partial<EventFault>): void {
    if (!(lossFraction >= 0 && lossFraction <= 1))
      refuse('lossFraction', lossFraction, 'a number from 0 to 1')
    this.#fault = { silent, lossFraction }
    for (const publisher of this.#publishers) publisher.fault = this.#fault
  }

  setHang(hangs: boolean): void {
    this.#isHung = hangs
    this.#retime()
  }

  setSlowness(factor: number): void {
    if (!(factor > 0 && factor < Infinity)) refuse('slowness', factor, 'a finite number above 0')
    this.#slowness = factor
    this.#retime()
  }

  resetPrefixCache(): boolean {
    if (this.#downReason !== undefined || this.#ranks.some((rank) => rank.isBusy)) return false
    for (const rank of this.#ranks) rank.resetPrefixCache()
    return true
  }

  async restart(facts: { readonly blockSize?: number; readonly blocksPerRank?: number } = {}): Promise<void> {
    const { blockSize = this.blockSize, blocksPerRank = this.blocksPerRank } = facts
    const settings = servedEngineSettings({ ...this.#options, blockSize, blocksPerRank })
    await this.#next(async () => {
      if (this.#isClosed) return
      await this.#stop('the engine restarts')
      this.#settings = settings
      await this.#start()
    })
  }

  close(): Promise<void> {
    this.#isClosed = true
    return this.#next(() => this.#stop('the engine is closed'))
  }

  #next(step: () => Promise<void>): Promise<void> {
    const done = this.#lifecycle.then(step)
    this.#lifecycle = done.catch(() => undefined)
    return done
  }

  /** A new incarnation, at the ports of the one before. */
  async #start(): Promise<void> {
    const { events, flavour, ranks } = this.#settings
    const hashes = events?.hashes ?? (flavour === 'sglang' ? 'i64' : 'u64')
    const publishers: RankPublisher[] = []
    try {
      for (const [rank, endpoints] of this.#endpoints.entries()) {
        const publisher = new RankPublisher(rank, { flavour, hashes }, events!)
        publisher.fault = this.#fault
        await publisher.open(endpoints)
        publishers.push(publisher)
      }
    } catch (error) {
      for (const publisher of publishers) await publisher.close()
      throw error
    }
    this.#publishers = publishers
    this.#endpoints = publishers.map(({ opened }) => opened)
    this.#ranks = Array.from(
      { length: ranks },
      (_, rank) =>
        new RankEngine(rank, this.#settings, this.#clock, (batch) => publishers[rank]?.publish(batch)),
    )
    this.startedAtSeconds = Date.now() / 1000
    this.#downReason = undefined
  }

  async #stop(reason: string): Promise<void> {
    this.#downReason = reason
    for (const rank of this.#ranks) rank.close()
    for (const publisher of this.#publishers) await publisher.close()
  }

  #leastLoadedRank(): number {
    const ranks = this.#ranks
    return ranks.reduce((best, rank) => (rank.load < ranks[best]!.load ? rank.rank : best), 0)
  }

  /** What is due by now happens at the old pace. */
  #retime(): void {
    for (const rank of this.#ranks) rank.catchUp()
    this.#clock.setRate(this.#isHung ? 0 : this.#settings.speedup / this.#slowness)
    for (const rank of this.#ranks) rank.retime()
  }
}
