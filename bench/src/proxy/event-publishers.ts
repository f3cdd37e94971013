import { Packr } from 'msgpackr'
import { Publisher } from 'zeromq'
import { blockSize } from './instant-engine.js'

const blocksPerBatch = 8
/** Batches of a rank whose blocks it still holds; older ones it tells to be gone. */
const heldBatches = 64
const churnEveryMs = 10

/** The event sockets of all ranks of some engines, in the form of vLLM. */
export class EventPublishers {
  readonly endpoints: readonly (readonly string[])[]
  readonly #ranks: readonly RankPublisher[]
  readonly #perEngine: number
  #churning: NodeJS.Timeout | undefined

  static async open(engines: number, ranks: number): Promise<EventPublishers> {
    const all = Array.from({ length: engines * ranks }, (_, at) => RankPublisher.open(at % ranks))
    return new EventPublishers(await Promise.all(all), ranks)
  }

  private constructor(ranks: readonly RankPublisher[], perEngine: number) {
    this.#ranks = ranks
    this.#perEngine = perEngine
    const endpoints = ranks.map(({ endpoint }) => endpoint)
    this.endpoints = Array.from({ length: ranks.length / perEngine }, (_, engine) =>
      endpoints.slice(engine * perEngine, (engine + 1) * perEngine),
    )
  }

  /** The first rank of each engine stored the complete blocks of a prompt; of all prompts blocks at the same place are the same. */
  store(tokens: readonly number[]): void {
    for (let at = 0; at < this.#ranks.length; at += this.#perEngine) this.#ranks[at]!.store(tokens)
  }

  /** So many batches a second from each rank, evenly spread over time; 0 = none. */
  churn(batchesPerSecond: number): void {
    clearInterval(this.#churning)
    if (batchesPerSecond === 0) return
    let sent = 0
    const startedMs = performance.now()
    this.#churning = setInterval(() => {
      const due = ((performance.now() - startedMs) / 1000) * batchesPerSecond * this.#ranks.length
      for (; sent < due; sent++) this.#ranks[sent % this.#ranks.length]!.churn()
    }, churnEveryMs)
  }
}

class RankPublisher {
  readonly endpoint: string
  readonly #socket: Publisher
  readonly #rank: number
  readonly #packr = new Packr({ useRecords: false })
  #sequence = 0n
  #batches = 0

  static async open(rank: number): Promise<RankPublisher> {
    const socket = new Publisher({ linger: 0, sendTimeout: 0, sendHighWaterMark: 100_000 })
    await socket.bind('tcp://127.0.0.1:*')
    return new RankPublisher(socket, rank)
  }

  private constructor(socket: Publisher, rank: number) {
    this.#socket = socket
    this.#rank = rank
    this.endpoint = socket.lastEndpoint!
  }

  store(tokens: readonly number[]): void {
    const blocks = Math.floor(tokens.length / blockSize)
    const hashes = Array.from({ length: blocks }, (_, at) => at + 1)
    this.#send([storedEvent(hashes, tokens.slice(0, blocks * blockSize))])
  }

  /** One batch: some blocks came, and those of an old batch went. */
  churn(): void {
    const batch = this.#batches++
    const tokens = Array.from(
      { length: blocksPerBatch * blockSize },
      (_, at) => (Math.imul(batch * 64 + this.#rank, 0x9e37_79b1) + at * 7919) & 0xffff,
    )
    const events: unknown[] = [storedEvent(churnHashes(batch), tokens)]
    if (batch >= heldBatches) events.push(['BlockRemoved', churnHashes(batch - heldBatches), 'GPU'])
    this.#send(events)
  }

  #send(events: readonly unknown[]): void {
    const payload = this.#packr.pack([Date.now() / 1000 + 0.5, events, this.#rank])
    const sequence = Buffer.alloc(8)
    sequence.writeBigUInt64BE(this.#sequence++)
    this.#socket.send(['', sequence, payload]).catch(() => undefined)
  }
}

function churnHashes(batch: number): number[] {
  return Array.from({ length: blocksPerBatch }, (_, at) => 1e9 + batch * blocksPerBatch + at)
}

/** Tag, hashes, parent, tokens, block size, adapter id, medium, adapter name. */
function storedEvent(hashes: readonly number[], tokens: readonly number[]): unknown {
  return ['BlockStored', hashes, null, tokens, blockSize, null, 'GPU', null]
}
