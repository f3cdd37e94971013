import { type BlockIndex, PrefixIndex, highOf, lowOf } from '@router/kv-index'
import { BatchReader } from '../../src/decode/batch-reader.js'
import {
  type SocketFeed,
  WorkerEvents,
  type WorkerEventsOptions,
  type WorkerSocketOptions,
} from '../../src/pipeline/index.js'
import { type Value } from './encode.js'
import { batch, stored } from './events.js'
import { liveFrames } from './machine-log.js'

const reader = new BatchReader()

/** A store of blocks of four tokens; `hashes` name them, and give the tokens. */
export function store(hashes: readonly number[], parent: number | null = null, medium = 'GPU'): Value[] {
  return stored({ hashes, parent, medium, tokens: hashes.flatMap((hash) => [hash, 1, 2, 3]) })
}

/** A worker whose rank `n` writes to rank `10 + n` of the index, with one socket, fed batch by batch. */
export class TestWorker {
  readonly index: BlockIndex
  readonly worker: WorkerEvents
  readonly feed: SocketFeed
  readonly incarnations: string[] = []
  readonly warnings: string[] = []
  readonly requests: bigint[] = []
  ranks = 4
  nowMs = 0
  #sequence = 0

  constructor(options: Partial<WorkerEventsOptions> = {}, socket: Partial<WorkerSocketOptions> = {}) {
    this.index = options.index ?? new PrefixIndex({ blockSize: 4 })
    this.worker = new WorkerEvents({
      reader,
      index: this.index,
      slotOf: (dpRank) => (dpRank < this.ranks ? 10 + dpRank : undefined),
      onIncarnation: (incarnation, cause) => this.incarnations.push(`${incarnation} ${cause}`),
      onWarning: ({ code, dpRank, blockSize }) =>
        this.warnings.push(`${code} ${dpRank}${blockSize === undefined ? '' : ` (${blockSize})`}`),
      ...options,
    })
    this.feed = this.socket({ socketRank: 0, hasReplay: false, ...socket })
  }

  socket(options: WorkerSocketOptions): SocketFeed {
    return this.worker.addSocket({
      sockets: { requestReplay: (_id, from) => void this.requests.push(from) },
      ...options,
    })
  }

  /** One live batch, of the next sequence, applied. */
  send(events: readonly Value[], dpRank?: number): this {
    return this.sendAs(this.#sequence, events, dpRank)
  }

  sendAs(sequence: number, events: readonly Value[], dpRank?: number): this {
    this.#sequence = sequence + 1
    this.feed.sequence.live(liveFrames(sequence, batch(events, dpRank)), this.nowMs)
    return this.run()
  }

  run(): this {
    while (this.feed.step(1000, this.nowMs));
    return this
  }

  /** Which of these blocks the rank holds. */
  held(hashes: readonly number[], dpRank = 0, tier = 0): number[] {
    return hashes.filter((hash) => {
      return this.index.holds(10 + dpRank, tier, lowOf(BigInt(hash)), highOf(BigInt(hash)))
    })
  }
}
