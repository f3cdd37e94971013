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
  return new RealTimeEngine(options)
}

class RealTimeEngine implements ServedEngine {
  startedAtSeconds = Date.now() / 1000
  readonly #options: ServedEngineOptions
  #settings: ServedEngineSettings
  readonly #clock: VirtualClock
  #slowness = 1
  #isHung = false
  #isClosed = false
  #ranks: RankEngine[]

  constructor(options: ServedEngineOptions) {
    this.#options = options
    this.#settings = servedEngineSettings(options)
    this.#clock = new VirtualClock(this.#settings.speedup, () => performance.now())
    this.#ranks = this.#newRanks()
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
    return []
  }

  generate(request: GenerationRequest): Generation {
    const { rank = this.#leastLoadedRank(), promptTokens } = request
    const refusal = this.#isClosed
      ? 'the engine is closed'
      : promptTokens.length === 0
        ? 'the prompt has no tokens'
        : this.#ranks[rank] === undefined
          ? `data-parallel rank ${rank} does not exist; accepted: 0 to ${this.ranks - 1}`
          : undefined
    if (refusal === undefined) return this.#ranks[rank]!.submit(request)
    setImmediate(() => tell(request.onEnd, 'rejected', refusal))
    return { rank, abort: () => undefined }
  }

  facts(): readonly RankFacts[] {
    return this.#ranks.map((rank) => ({ ...rank.facts(), eventBatches: 0, suppressedEventBatches: 0 }))
  }

  setEventFault(): void {}

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
    if (this.#isClosed || this.#ranks.some((rank) => rank.isBusy)) return false
    for (const rank of this.#ranks) rank.resetPrefixCache()
    return true
  }

  async restart(facts: { readonly blockSize?: number; readonly blocksPerRank?: number } = {}): Promise<void> {
    const { blockSize = this.blockSize, blocksPerRank = this.blocksPerRank } = facts
    this.#settings = servedEngineSettings({ ...this.#options, blockSize, blocksPerRank })
    for (const rank of this.#ranks) rank.close()
    this.startedAtSeconds = Date.now() / 1000
    this.#ranks = this.#newRanks()
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const rank of this.#ranks) rank.close()
  }

  #newRanks(): RankEngine[] {
    return Array.from(
      { length: this.#settings.ranks },
      (_, rank) => new RankEngine(rank, this.#settings, this.#clock, () => undefined),
    )
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
