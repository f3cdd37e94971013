import { expect, test } from 'vitest'
import {
  type BlockIndex,
  LifetimeRetention,
  LruRetention,
  PredictedIndex,
  type PromptBlocks,
} from '../src/index.js'
import { MatchTable } from './support/match-table.js'

declare const process: { readonly memoryUsage: () => { readonly heapUsed: number } }

/** Bytes per call on the JavaScript heap, warm: the smallest growth over several batches, some of which a collection spoils. */
function bytesPerCall(body: () => void): number {
  const calls = 2000
  for (let call = 0; call < 2 * calls; call++) body()
  let least = Infinity
  for (let batch = 0; batch < 6; batch++) {
    const before = process.memoryUsage().heapUsed
    for (let call = 0; call < calls; call++) body()
    const growth = process.memoryUsage().heapUsed - before
    if (growth >= 0 && growth < least) least = growth
  }
  return least / calls
}

/** Nothing but what the layers above an index do shall be measured. */
const silentIndex: BlockIndex = {
  blockSize: 16,
  currentSize: 0,
  sizeOf: () => 0,
  store: () => 'ok',
  remove: () => 'ok',
  holds: () => false,
  removeRank: () => undefined,
  lookup: (_local, count, target) => {
    target.rows[0] = 1
    target.deviceBlocks[1] = count
    target.count = 1
  },
}

function promptOf(number: number): PromptBlocks {
  const words = Uint32Array.from({ length: 64 }, (_, at) => (at < 16 ? at : 1000 * number + at))
  return { local: words, sequence: words, count: 32 }
}

const prompts = Array.from({ length: 50 }, (_, number) => promptOf(number + 1))

test.each<[string, () => (call: number) => void]>([
  [
    'insertion, refresh and expiry by lifetime',
    () => {
      const retention = new LifetimeRetention(silentIndex, { ttlMs: 500 })
      return (call) => retention.insert(call % 7, prompts[(call * 3) % 50]!, call * 8)
    },
  ],
  [
    'acquisition, output, release and eviction by capacity',
    () => {
      const lru = new LruRetention(new LifetimeRetention(silentIndex))
      for (let rank = 0; rank < 7; rank++) lru.setCapacity(rank, 1, 100)
      return (call) => {
        lru.acquire(call % 7, 1, call, prompts[(call * 3) % 50]!, 1, 0)
        lru.materialize(call % 7, call, prompts[(call * 3) % 50]!, 30, 0)
        if (call >= 14) lru.release(call % 7, call - 14)
      }
    },
  ],
  [
    'raising by predictions',
    () => {
      const predicted = new PredictedIndex(silentIndex, { ttlMs: 500 })
      const table = new MatchTable(8)
      return (call) => {
        predicted.insert(call % 7, prompts[(call * 3) % 50]!, call * 8)
        predicted.raise(prompts[0]!.local, 1 + (call % 32), call * 8, table)
        table.count = 0
        table.deviceBlocks[1] = 0
      }
    },
  ],
])('%s allocates nothing warm', (_, create) => {
  const body = create()
  let call = 0
  expect(bytesPerCall(() => body(call++))).toBeLessThan(8)
})

test('the method sees an object per call', () => {
  const kept: object[] = []
  expect(bytesPerCall(() => void (kept[0] = { at: kept.length }))).toBeGreaterThan(8)
})
