import { PrefixIndex, hashOf, type BlockRun } from '@router/kv-index'
import { BatchReader } from '../../src/decode/batch-reader.js'
import { WorkerEvents, type WorkerEventsOptions } from '../../src/pipeline/index.js'
import { EventSocket, type EventSocketOptions } from '../../src/zeromq/index.js'
import { batch } from './events.js'
import { store } from './worker.js'

const FIRST_HASH = 1000n

/** A batch that stores one block at the root; `LoggedIndex` tells its sequence by it. */
export function numbered(sequence: number, rank?: number): Uint8Array {
  return batch([store([Number(FIRST_HASH) + sequence])], rank)
}

/** An index that notes what happens to it: sequences of `numbered` batches, and `drop` for a rank that goes. */
class LoggedIndex extends PrefixIndex {
  readonly log: string[] = []

  override store(rank: number, tier: number, run: BlockRun): ReturnType<PrefixIndex['store']> {
    for (let block = run.start; block < run.start + run.count; block++)
      this.log.push(`${hashOf(run.engine[2 * block]!, run.engine[2 * block + 1]!) - FIRST_HASH}`)
    return super.store(rank, tier, run)
  }

  override removeRank(rank: number): void {
    this.log.push('drop')
    super.removeRank(rank)
  }
}

/** A worker whose events come over real sockets. Ranks of the index are data-parallel ranks. */
export class SocketWorker {
  readonly index = new LoggedIndex({ blockSize: 4 })
  readonly incarnations: string[] = []
  readonly worker: WorkerEvents
  readonly #sockets: EventSocket[] = []

  constructor(options: Partial<WorkerEventsOptions> = {}) {
    this.worker = new WorkerEvents({
      index: this.index,
      reader: new BatchReader(),
      slotOf: (dpRank) => dpRank,
      onIncarnation: (incarnation, cause) => this.incarnations.push(`${incarnation} ${cause}`),
      ...options,
    })
  }

  open(options: Partial<EventSocketOptions> & { endpoint: string }): EventSocket {
    const socket = new EventSocket(this.worker, { socketRank: 0, ...options })
    this.#sockets.push(socket)
    return socket
  }

  get log(): string[] {
    return this.index.log
  }

  get state(): string {
    return this.worker.reports[0]!.state
  }

  async close(): Promise<void> {
    await Promise.all(this.#sockets.map((socket) => socket.close()))
  }
}
