import { type BatchContext, BatchReader, type EventSink, SourceMemory, WorkerEvents } from '@router/kv-events'
import { type BlockIndex, DEVICE, PrefixIndex } from '@router/kv-index'
import type { Timed } from '../harness/figure.js'
import { type PayloadShape, StorePayloads, blockSize } from './payloads.js'

/** Live blocks while the clock runs. */
const liveBlocks = 2 ** 20
const maxBlocks = 2 ** 23
const noFrame = new Uint8Array(0)

/** Payloads into a reader, its events nowhere: decode, filter, convert and hash alone. */
export function timeReading(shape: PayloadShape, readsDirectly: boolean): Timed {
  const { payloads, blocks } = new StorePayloads(shape)
  const reader = new BatchReader({ readsDirectly })
  let seen = 0
  const sink: EventSink = {
    stored: (_dpRank, _tier, run) => void (seen += run.count),
    removed: unexpected,
    cleared: unexpected,
    dropped: unexpected,
  }
  const context = contextOf(() => false)
  return {
    perCall: blocks,
    body: () => {
      seen = 0
      for (const payload of payloads) reader.read(payload, context, sink)
      if (seen !== blocks) throw new Error(`${seen} blocks of ${blocks} were read`)
      return seen
    },
  }
}

/** Payloads into a reader, its events straight into an index with a million live blocks. */
export function timeIndexing(shape: PayloadShape, readsDirectly: boolean): Timed {
  const index = new PrefixIndex({ blockSize, maxBlocks })
  const reader = new BatchReader({ readsDirectly })
  const sink: EventSink = {
    stored: (dpRank, tier, run) => {
      const outcome = index.store(dpRank, tier, run)
      if (outcome !== 'ok') throw new Error(`a store was answered ${outcome}`)
    },
    removed: unexpected,
    cleared: unexpected,
    dropped: unexpected,
  }
  const context = contextOf((dpRank, tier, low, high) => index.holds(dpRank, tier, low, high))
  return timeRing(shape, index, (payload) => reader.read(payload, context, sink).eventCount)
}

/** Messages of a socket through the whole pipeline of a worker: sequence numbers, reader, coalescing, reference counts, index. */
export function timePipeline(shape: PayloadShape): Timed {
  const index = new PrefixIndex({ blockSize, maxBlocks })
  const worker = new WorkerEvents({ index, reader: new BatchReader(), slotOf: (dpRank) => dpRank })
  const feed = worker.addSocket({ socketRank: 0, hasReplay: false })
  const sequence = new Uint8Array(8)
  const sequenceView = new DataView(sequence.buffer)
  let next = 0n
  feed.sequence.connected(0)
  return timeRing(shape, index, (payload) => {
    sequenceView.setBigUint64(0, next++)
    feed.sequence.live([noFrame, sequence, payload], 0)
    while (feed.step(Infinity, 0));
    return payload.length
  })
}

/** Stores all payloads a turn; untimed, the oldest blocks leave the index and the payloads get others. */
function timeRing(shape: PayloadShape, index: BlockIndex, feed: (payload: Uint8Array) => number): Timed {
  const source = new StorePayloads(shape)
  const { payloads, blocks } = source
  const live: Uint32Array[] = []
  const storeAll = (): number => {
    let sum = 0
    for (const payload of payloads) sum += feed(payload)
    return sum
  }
  const turn = (): void => {
    live.push(source.engine.slice())
    source.renew()
  }
  while (live.length * blocks < liveBlocks) {
    storeAll()
    turn()
  }
  const size = live.length * blocks
  expectSize(index, size)
  return {
    perCall: blocks,
    body: storeAll,
    afterwards: () => {
      expectSize(index, size + blocks)
      index.remove(0, DEVICE, live.shift()!, 0, blocks)
      turn()
    },
  }
}

function expectSize(index: BlockIndex, expected: number): void {
  if (index.currentSize !== expected)
    throw new Error(`the index holds ${index.currentSize} blocks, expected ${expected}`)
}

function contextOf(holds: BatchContext['holds']): BatchContext {
  return { blockSize, socketRank: 0, memory: new SourceMemory(), holds }
}

function unexpected(): void {
  throw new Error('only stores were sent')
}
