import { type EndReason, VllmEngine } from '@router/engine-sim'
import type { CacheEvent } from '../events/cache-event.js'
import { namesOfBlocks } from './block-names.js'
import { type ServedEngineSettings, rankParameters } from './engine-options.js'
import { PassDriver, type PassListener } from './pass-driver.js'
import { type LiveRequest, endOf, tell } from './rank-requests.js'
import type { Generation, GenerationRequest, RankFacts } from './serving.js'
import type { VirtualClock } from './virtual-clock.js'

/** Takes what happened to the cache in one pass, in order. Called before the tokens of that pass are told. */
export type PublishEvents = (events: readonly CacheEvent[]) => void

/**
 * One data-parallel rank of one incarnation: an engine, the clients that wait for it, and what its cache holds by name. Bounded by the
 * pool and the requests alive.
 */
export class RankEngine implements PassListener {
  readonly rank: number
  readonly #settings: ServedEngineSettings
  readonly #clock: VirtualClock
  readonly #publish: PublishEvents
  #engine: VllmEngine
  #driver: PassDriver
  /** By the number that the engine gave. */
  readonly #live = new Map<number, LiveRequest>()
  /** Names of what the cache holds, by the engine's number of the block. */
  readonly #cachedNames = new Map<number, Uint8Array>()
  #events: CacheEvent[] = []
  readonly #counts = { queried: 0, hit: 0, prompt: 0, generated: 0, preemptions: 0 }

  constructor(rank: number, settings: ServedEngineSettings, clock: VirtualClock, publish: PublishEvents) {
    this.rank = rank
    this.#settings = settings
    this.#clock = clock
    this.#publish = publish
    this.#engine = new VllmEngine(rankParameters(settings))
    this.#driver = new PassDriver(this.#engine, clock, this)
  }

  /** How busy it is, as vLLM's load balancer counts: a request that waits weighs four that run. */
  get load(): number {
    return this.#engine.waitingRequests * 4 + this.#engine.runningRequests
  }

  /** Queues a request with a prompt of at least one token. */
  submit(request: GenerationRequest): Generation {
    this.#driver.catchUp()
    const { promptTokens, outputTokens } = request
    const tokens = new Uint32Array(promptTokens.length + outputTokens.length)
    tokens.set(promptTokens)
    tokens.set(outputTokens, promptTokens.length)
    const names = namesOfBlocks(tokens, this.#settings.blockSize, request)
    const number = this.#engine.submit({
      promptTokens: promptTokens.length,
      outputTokens: outputTokens.length,
      blockKeys: names.keys,
    })
    const live: LiveRequest = { request, tokens, names, produced: 0, isGivenUp: false }
    this.#live.set(number, live)
    this.#driver.wake()
    return { rank: this.rank, abort: () => this.#abort(number, live) }
  }

  #abort(number: number, live: LiveRequest): boolean {
    // The number may be another request's by now.
    if (this.#live.get(number) !== live || live.isGivenUp) return false
    live.isGivenUp = true
    const { waitingRequests } = this.#engine
    this.#engine.cancel(number)
    // One that waits leaves the queue at once.
    return this.#engine.waitingRequests === waitingRequests
  }

  /** Blocks that the cache holds, at most those of the pool. */
  get cachedBlocks(): number {
    return this.#cachedNames.size
  }

  /** The clock has another rate. */
  retime(): void {
    this.#driver.retime()
  }

  /** What is due by now ends. */
  catchUp(): void {
    this.#driver.catchUp()
  }

  facts(): Omit<RankFacts, 'eventBatches' | 'suppressedEventBatches'> {
    const { queried, hit, prompt, generated, preemptions } = this.#counts
    return {
      rank: this.rank,
      runningRequests: this.#engine.runningRequests,
      waitingRequests: this.#engine.waitingRequests,
      totalBlocks: this.#settings.blocksPerRank,
      usedBlocks: this.#engine.activeBlocks,
      prefixCacheQueriedTokens: queried,
      prefixCacheHitTokens: hit,
      promptTokens: prompt,
      generatedTokens: generated,
      preemptions: preemptions + this.#engine.preemptions,
    }
  }

  /** Whether a request has not ended. */
  get isBusy(): boolean {
    return this.#live.size > 0
  }

  /** Empties the cache of a rank that is not busy, and says so. */
  resetPrefixCache(): void {
    this.#driver.close()
    this.#counts.preemptions += this.#engine.preemptions
    this.#engine = new VllmEngine(rankParameters(this.#settings))
    this.#driver = new PassDriver(this.#engine, this.#clock, this)
    this.#cachedNames.clear()
    this.#publish([{ kind: 'cleared' }])
  }

  /** No pass runs any more; every generation ends as `restarted`. */
  close(): void {
    this.#driver.close()
    const live = [...this.#live.values()]
    this.#live.clear()
    for (const { request } of live) tell(request.onEnd, 'restarted')
  }

  /** What a pass begins with: the request runs. Clients learn how much of the prompt was cached. */
  admitted(number: number, hitTokens: number, isReadmission: boolean): void {
    const live = this.#live.get(number)
    // As vLLM counts: a request once, however often it has to start anew.
    if (live === undefined || isReadmission) return
    if (this.#settings.cachesPrefixes) this.#counts.queried += live.request.promptTokens.length
    this.#counts.hit += hitTokens
    tell(live.request.onAdmitted, hitTokens)
  }

  /** Clients notice nothing but the time. */
  preempted(): void {}

  /** A block is cached. */
  stored(block: number, number: number, index: number): void {
    const live = this.#live.get(number)
    if (live === undefined) return
    const { request, tokens, names } = live
    // A copy: the view would keep the names of the whole request alive.
    this.#cachedNames.set(block, names.digest(index).slice())
    const last = this.#events.at(-1)
    if (last?.kind === 'stored' && last.names === names && last.firstBlock + last.blockCount === index)
      last.blockCount++
    else {
      const { blockSize } = this.#settings
      this.#events.push({
        kind: 'stored',
        request,
        tokens,
        names,
        blockSize,
        firstBlock: index,
        blockCount: 1,
      })
    }
  }

  /** A block is evicted. */
  removed(block: number): void {
    const name = this.#cachedNames.get(block)
    if (name === undefined) return
    this.#cachedNames.delete(block)
    this.#events.push({ kind: 'removed', name })
  }

  /** A token of a request is visible. */
  token(number: number, ordinal: number): void {
    this.#publishEvents()
    const live = this.#live.get(number)
    if (live === undefined) return
    if (ordinal === 1) this.#counts.prompt += live.request.promptTokens.length
    this.#counts.generated++
    live.produced = ordinal
    tell(live.request.onToken, ordinal - 1)
  }

  /** A request is over. */
  ended(number: number, reason: EndReason): void {
    this.#publishEvents()
    const live = this.#live.get(number)
    if (live === undefined) return
    this.#live.delete(number)
    if (reason === 'completed' && live.produced === 0) this.#counts.prompt += live.request.promptTokens.length
    tell(live.request.onEnd, ...endOf(reason, live))
  }

  /** All that a pass did has been told. */
  passEnded(): void {
    this.#publishEvents()
  }

  #publishEvents(): void {
    if (this.#events.length === 0) return
    const events = this.#events
    this.#events = []
    this.#publish(events)
  }
}
