import { BlockTable } from './block-table.js'
import { KvPool } from './kv-pool.js'
import type { PassLog } from './pass-log.js'
import type { RequestTable } from './request-table.js'

/** Tokens that no request reaches. */
const never = 0x7fff_ffff

/** What requests own of the pool: which blocks they have, which of them are cached. Nothing is allocated but to grow. */
export class RequestBlocks {
  readonly pool: KvPool
  readonly #table = new BlockTable()
  readonly #requests: RequestTable
  readonly #blockSize: number
  readonly #cachesPrefixes: boolean

  constructor(
    requests: RequestTable,
    log: PassLog,
    poolBlocks: number,
    blockSize: number,
    cachesPrefixes: boolean,
  ) {
    this.pool = new KvPool(poolBlocks, this.#table, log)
    this.#requests = requests
    this.#blockSize = blockSize
    this.#cachesPrefixes = cachesPrefixes
  }

  /** Blocks with a number: those of the cache and of live requests. */
  get namedBlocks(): number {
    return this.#table.size
  }

  /** Blocks of so many tokens, the last one perhaps not full. */
  blocksOf(tokens: number): number {
    return Math.ceil(tokens / this.#blockSize)
  }

  /** Names the first `count` blocks of a request by their keys. */
  name(request: number, keys: Uint32Array, count: number): void {
    if (!this.#cachesPrefixes) return
    const blocks = this.#requests.blocks[request]!
    for (let index = 0; index < count; index++)
      blocks[index] = this.#table.acquire(keys[2 * index]!, keys[2 * index + 1]!)
    this.#requests.namedBlocks[request] = count
  }

  /** Forgets the names of a request that owns no blocks any more. */
  forget(request: number): void {
    const blocks = this.#requests.blocks[request]!
    const count = this.#requests.namedBlocks[request]!
    for (let index = 0; index < count; index++) this.#table.release(blocks[index]!)
  }

  /** Longest cached prefix in blocks, at most `limit`. */
  hits(request: number, limit: number): number {
    const { namedBlocks, blocks } = this.#requests
    return this.pool.hits(blocks[request]!, Math.min(limit, namedBlocks[request]!))
  }

  /** Of the first `count` blocks, all cached, those that somebody refers to. */
  activeHits(request: number, count: number): number {
    return this.pool.activeHits(this.#requests.blocks[request]!, count)
  }

  /** Takes the first `count` blocks, all cached, for a request that owns none. */
  takeHits(request: number, count: number): void {
    const blocks = this.#requests.blocks[request]!
    const places = this.#requests.places[request]!
    for (let index = 0; index < count; index++) places[index] = this.pool.pin(blocks[index]!)
    this.#own(request, count)
    this.#markCached(request, count)
  }

  /** Makes room for the first `tokens` tokens of a request; false and nothing done when there is none. */
  extend(request: number, tokens: number): boolean {
    const owned = this.#requests.ownedBlocks[request]!
    const missing = this.blocksOf(tokens) - owned
    if (missing <= 0) return true
    if (!this.pool.reserve(missing)) return false
    this.#own(request, owned + missing)
    return true
  }

  /** Caches every block that the first `tokens` tokens fill. */
  fill(request: number, tokens: number): void {
    if (tokens < this.#requests.fullAtTokens[request]!) return
    const { cachedBlocks, namedBlocks } = this.#requests
    const blocks = this.#requests.blocks[request]!
    const places = this.#requests.places[request]!
    const full = Math.floor(tokens / this.#blockSize)
    for (let index = cachedBlocks[request]!; index < full; index++) {
      if (index === namedBlocks[request]) {
        blocks[index] = this.#table.acquireUnique()
        namedBlocks[request]!++
      }
      places[index] = this.pool.cache(blocks[index]!, request, index)
    }
    this.#markCached(request, full)
  }

  /** Gives everything back, the last block first, so that it is evicted before its parents. */
  release(request: number): void {
    const { ownedBlocks, cachedBlocks } = this.#requests
    const places = this.#requests.places[request]!
    const cached = cachedBlocks[request]!
    this.pool.releasePrivate(ownedBlocks[request]! - cached)
    for (let index = cached - 1; index >= 0; index--) this.pool.unpin(places[index]!)
    this.#own(request, 0)
    this.#markCached(request, 0)
  }

  #own(request: number, blocks: number): void {
    this.#requests.ownedBlocks[request] = blocks
    this.#requests.roomTokens[request] = blocks * this.#blockSize
  }

  #markCached(request: number, blocks: number): void {
    this.#requests.cachedBlocks[request] = blocks
    this.#requests.fullAtTokens[request] = this.#cachesPrefixes ? (blocks + 1) * this.#blockSize : never
  }
}
