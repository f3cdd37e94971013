import {
  LoadLedger,
  type Selector,
  type WorkerTable,
  createSelector,
  effectivePrefillTokens,
} from '@router/core'
import { type BlockHashes, hashesOf } from '@router/kv-index'
import type { KvRouterSettings, QueuePolicy, ReplayRow, RustReplayLine } from '../shapes/rust-replay.js'
import { resolvePolicy } from './policies.js'
import { type Kernel, emptyTable, unseededEntropy } from './selectors.js'

/** A request as the router sees it. */
export interface RoutedRequest {
  readonly row: number
  readonly arrivalMs: number
  readonly inputTokens: number
  /** Of the complete blocks of the prompt, and of those with outputs that are known beforehand. */
  readonly hashes: BlockHashes
  /** How many of them are of the prompt alone. */
  readonly promptBlocks: number
  /** Where it was sent; -1 = it was not. */
  worker: number
  queuedAtMs: number | null
  releasedAtMs: number | null
  /** Blocks that its worker was known to hold when the request arrived, and the most that any was; `null` = nobody asked. */
  selectedOverlapBlocks: number | null
  bestOverlapBlocks: number | null
}

/** Where requests go; each that arrives is sent by `send`, at once or later. */
export interface ReplayRouter {
  arrive(request: RoutedRequest): void
  /** Its first token came, and it is not the last. */
  prefilled(request: RoutedRequest): void
  ended(request: RoutedRequest): void
  stored(worker: number, hash: bigint): void
  removed(worker: number, hash: bigint): void
  /** Once, last. */
  dispose(): void
}

/** What a router needs of the run. */
export interface RouterHost {
  readonly workers: number
  readonly blockSize: number
  /** `Infinity` = no limit. */
  readonly maxPassTokens: number
  readonly nowMs: () => number
  readonly send: (request: RoutedRequest) => void
}

/** The router of a line; what it selects with computes by `kernel`. */
export function replayRouter(line: RustReplayLine, kernel: Kernel, host: RouterHost): ReplayRouter {
  return line.router.mode === 'kv_router' ? new KvRouter(line, kernel, host) : roundRobin(host)
}

function roundRobin({ workers, send }: RouterHost): ReplayRouter {
  let sent = 0
  return {
    arrive: (request) => {
      request.worker = sent++ % workers
      send(request)
    },
    prefilled: () => undefined,
    ended: () => undefined,
    stored: () => undefined,
    removed: () => undefined,
    dispose: () => undefined,
  }
}

/** A limit that nobody advertises, in tokens. */
const unknownPassTokens = 10_000_000

interface Waiting {
  readonly request: RoutedRequest
  /** By worker, found at arrival. */
  readonly overlaps: readonly number[]
  readonly strictPriority: number
  readonly score: number
}

/** Least cost by overlap and load, with a queue in front: `@router/core` selects and keeps the books. */
class KvRouter implements ReplayRouter {
  readonly #host: RouterHost
  readonly #rows: readonly ReplayRow[]
  readonly #lagMs: number
  readonly #queuePolicy: QueuePolicy
  /** More prefill than that, in tokens, and a worker is busy. */
  readonly #busyTokens: number
  /** Best first. */
  readonly #queue: Waiting[] = []
  /** By worker, what the router knows it to hold. */
  readonly #held: readonly Set<bigint>[]
  /** What it does not know yet, in order of time. */
  readonly #news: { readonly atMs: number; readonly apply: () => void }[] = []
  readonly #table: WorkerTable
  readonly #ledger: LoadLedger
  readonly #selector: Selector

  constructor({ router, trace, kvEventLagMs }: RustReplayLine, kernel: Kernel, host: RouterHost) {
    const { config, tieSeed } = router as KvRouterSettings
    const {
      router_queue_threshold: threshold,
      router_queue_policy: queuePolicy = 'fcfs',
      ...weights
    } = config ?? {}
    const { workers, nowMs, maxPassTokens } = host
    this.#host = host
    this.#rows = trace.rows
    this.#lagMs = kvEventLagMs ?? 0
    this.#queuePolicy = queuePolicy
    this.#busyTokens = (threshold ?? Infinity) * Math.min(maxPassTokens, unknownPassTokens)
    this.#held = Array.from({ length: workers }, () => new Set<bigint>())
    this.#table = emptyTable(kernel)
    for (let worker = 0; worker < workers; worker++) this.#table.upsertWorker({ workerId: BigInt(worker) })
    this.#ledger = new LoadLedger({ table: this.#table, nowMs, expiry: { measure: 'never' } })
    this.#selector = createSelector({
      table: this.#table,
      policy: resolvePolicy('default', { ...weights, ...(tieSeed !== undefined && { seed: tieSeed }) }),
      role: 'aggregated',
      entropy: () => unseededEntropy,
      nowMs,
    })
  }

  arrive(request: RoutedRequest): void {
    this.#hearNews()
    const hashes = hashesOf(request.hashes.sequence, request.promptBlocks)
    const overlaps = this.#held.map((held) => {
      const missing = hashes.findIndex((hash) => !held.has(hash))
      return missing === -1 ? hashes.length : missing
    })
    request.bestOverlapBlocks = Math.max(...overlaps)
    const waiting = this.#waiting(request, overlaps)
    // Whoever waits already does so because all are busy.
    if (!this.#isBusy()) this.#admit(waiting)
    else {
      request.queuedAtMs = this.#host.nowMs()
      const later = this.#queue.findIndex((other) => isBefore(waiting, other))
      this.#queue.splice(later === -1 ? this.#queue.length : later, 0, waiting)
    }
  }

  prefilled({ row }: RoutedRequest): void {
    this.#ledger.markPrefillCompleted(String(row))
    this.#drain()
  }

  ended({ row }: RoutedRequest): void {
    this.#ledger.free(String(row))
    this.#drain()
  }

  stored(worker: number, hash: bigint): void {
    this.#tell(() => this.#held[worker]!.add(hash))
  }

  removed(worker: number, hash: bigint): void {
    this.#tell(() => this.#held[worker]!.delete(hash))
  }

  dispose(): void {
    this.#selector.dispose()
    this.#ledger.dispose()
  }

  #tell(apply: () => void): void {
    this.#news.push({ atMs: this.#host.nowMs() + this.#lagMs, apply })
  }

  #hearNews(): void {
    const nowMs = this.#host.nowMs()
    while (this.#news.length > 0 && this.#news[0]!.atMs <= nowMs) this.#news.shift()!.apply()
  }

  #isBusy(): boolean {
    const { slotOfRow, slotCount } = this.#table
    for (let row = 0; row < slotCount; row++)
      if (this.#ledger.loadOf(slotOfRow[row]!).activePrefillTokens <= this.#busyTokens) return false
    return true
  }

  #drain(): void {
    while (this.#queue.length > 0 && !this.#isBusy()) {
      const next = this.#queue.shift()!
      next.request.releasedAtMs = this.#host.nowMs()
      this.#admit(next)
    }
  }

  /** By the overlaps found at arrival and the loads of now. */
  #admit({ request, overlaps }: Waiting): void {
    const { blockSize } = this.#host
    const { row, inputTokens, hashes, promptBlocks } = request
    for (const [worker, blocks] of overlaps.entries())
      this.#table.setOverlap(this.#table.slotOf(BigInt(worker), 0), blocks, 0, 0, blocks, blocks * blockSize)
    this.#ledger.project(hashes.sequence, promptBlocks)
    const { slot, workerId, cachedTokens } = this.#selector.select({
      mode: 'tracked',
      promptTokens: inputTokens,
      blockSize,
      hasTierMatches: request.bestOverlapBlocks! > 0,
    })
    this.#ledger.add({
      requestId: String(row),
      slot,
      hashes: hashes.sequence,
      hashCount: promptBlocks,
      prefillTokens: effectivePrefillTokens(inputTokens, cachedTokens, true),
    })
    request.worker = Number(workerId)
    request.selectedOverlapBlocks = overlaps[request.worker]!
    this.#host.send(request)
  }

  #waiting(request: RoutedRequest, overlaps: readonly number[]): Waiting {
    const { priority = 0, strict_priority: strictPriority = 0 } = this.#rows[request.row]!
    const jump = Math.max(0, priority)
    const seconds = request.arrivalMs / 1000
    const uncached = request.inputTokens - request.bestOverlapBlocks! * this.#host.blockSize
    const scores = {
      fcfs: jump - seconds,
      lcfs: jump + seconds,
      wspt: (1 + jump) / Math.max(1, uncached),
    }
    return { request, overlaps, strictPriority, score: scores[this.#queuePolicy] }
  }
}

/** Whether a request that comes now goes before one that waits already. */
function isBefore(next: Waiting, other: Waiting): boolean {
  return next.strictPriority === other.strictPriority
    ? next.score > other.score
    : next.strictPriority > other.strictPriority
}
