import { BlockHasher } from '@router/kv-index'
import { unpack } from 'msgpackr'
import { BatchReader } from '../../src/decode/batch-reader.js'
import { type Recorded, Source } from './recorded.js'

const SOCKET_RANK = 5
const hasher = new BlockHasher()
const readers = [new BatchReader({ hasher }), new BatchReader({ hasher, readsDirectly: false })] as const

/** Two sources that are fed the same payloads, one read directly, one through msgpackr, and what must hold of each payload. */
export class BothReaders {
  readonly #sources = readers.map((reader) => new Source(reader, { socketRank: SOCKET_RANK, imageToken: 3 }))
  batches = 0
  events = 0

  /** Throws what is wrong; events of the payload, undefined = no batch. */
  feed(payload: Uint8Array): readonly Recorded[] | undefined {
    const given = payload.slice()
    const [direct, other] = this.#sources.map((source) => source.read(payload))
    require(printed(direct) === printed(other), () => `directly ${printed(direct)}, else ${printed(other)}`)
    require(given.every((byte, index) => payload[index] === byte), () => 'the payload was written to')
    if (direct === undefined) return undefined
    this.#checkRank(payload, direct.header.dpRank, direct.events)
    const items = direct.events.reduce((sum, event) => sum + ('engine' in event ? event.engine.length : 0), 0)
    require(direct.events.length + items <= payload.length, () => `${items} items of ${payload.length} bytes`)
    require(direct.header.eventCount === direct.events.length, () => 'an event without an outcome')
    this.batches++
    this.events += direct.events.length
    return direct.events
  }

  /** The rank is that of the batch, as a library sees it, else of the socket. */
  #checkRank(payload: Uint8Array, dpRank: number, events: readonly Recorded[]): void {
    require(events.every((event) => event.dpRank === dpRank), () => 'an event of another rank')
    let value: unknown
    try {
      value = unpack(payload)
    } catch {
      // Extensions that the library has no use for: the reader takes them for values of no type.
      require(dpRank === SOCKET_RANK || payload.includes(dpRank & 0xff), () => `rank ${dpRank} from nowhere`)
      return
    }
    const batch = value as Record<string, unknown>
    const named = Array.isArray(value) ? value[2] : (batch['data_parallel_rank'] ?? batch['dp_rank'])
    require(Number(named ?? SOCKET_RANK) === dpRank, () =>
      `rank ${dpRank}, but the batch says ${String(named)}`)
  }
}

function printed(value: unknown): string {
  return (
    JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? `${inner}n` : inner)) ??
    'nothing'
  )
}

function require(holds: boolean, message: () => string): void {
  if (!holds) throw new Error(message())
}
