import { type PartitionRouter, createRouterCore } from '@router/core'
import { BatchReader, WorkerEvents } from '@router/kv-events'
import { defaultPolicy } from '@router/policy-default'
import { PolicyCatalog } from '@router/sdk'
import { Packr } from 'msgpackr'
import { expect, test } from 'vitest'

const packr = new Packr({ useRecords: false, int64AsType: 'bigint' })

/** What an engine sends: three frames, the batch as vLLM writes it. */
function message(sequence: number, events: readonly unknown[]): Uint8Array[] {
  const number = Buffer.alloc(8)
  number.writeBigUInt64BE(BigInt(sequence))
  return [Buffer.alloc(0), number, packr.pack([0.5, events, 0])]
}

const stored = (hashes: readonly bigint[], parent: bigint | null, tokens: readonly number[]) => [
  'BlockStored',
  hashes,
  parent,
  tokens,
  4,
  null,
  'GPU',
]

/** A worker of the router whose events are followed, and its one event socket. */
function follow(router: PartitionRouter, workerId: bigint) {
  router.upsertWorker({ workerId, hasEvents: true })
  const worker = new WorkerEvents({
    index: router.index,
    reader: new BatchReader(),
    slotOf: (dpRank) => router.findSlot(workerId, dpRank),
    onIncarnation: () => router.restartWorker(workerId),
  })
  const feed = worker.addSocket({ socketRank: 0, hasReplay: false })
  feed.sequence.connected(0)
  return (sequence: number, events: readonly unknown[]) => {
    feed.sequence.live(message(sequence, events), 0)
    while (feed.step(1000, 0));
  }
}

test('bytes of two engines become overlap columns, and a restart leaves nothing of them', () => {
  const core = createRouterCore({
    policy: new PolicyCatalog().withDefault(defaultPolicy).resolve({}),
    clock: () => 0,
    random: () => 7n,
    config: { blockSize: 4 },
  })
  const router = core.router({ role: 'aggregated' })
  const first = follow(router, 1n)
  const second = follow(router, 2n)
  const tokens = Uint32Array.from({ length: 18 }, (_, at) => at + 1)
  const cached = () => router.snapshot().ranks.map(({ cachedBlocks }) => cachedBlocks)
  const decide = () => {
    const { workerId, cachedTokens, bestOverlapBlocks } = router.select({ tokens })
    return { workerId, cachedTokens, bestOverlapBlocks }
  }
  expect(cached()).toEqual([undefined, undefined])

  // The engines name the same blocks differently; the second one has more of the prompt.
  first(0, [stored([11n], null, [1, 2, 3, 4])])
  second(0, [stored([21n, 22n], null, [1, 2, 3, 4, 5, 6, 7, 8]), stored([23n], 22n, [9, 10, 11, 12])])
  expect([cached(), decide()]).toEqual([[1, 3], { workerId: 2n, cachedTokens: 12, bestOverlapBlocks: 3 }])

  // It evicts from the end; then the first one has more.
  second(1, [['BlockRemoved', [23n, 22n, 21n], 'GPU']])
  expect([cached(), decide()]).toEqual([[1, 0], { workerId: 1n, cachedTokens: 4, bestOverlapBlocks: 1 }])

  // The first engine begins anew: nothing is inherited, its bookings neither.
  router.reserve({ tokens, requestId: 'a', pinnedWorker: { workerId: 1n, dpRank: 0 } })
  first(0, [stored([31n], null, [9, 9, 9, 9])])
  expect([cached(), decide()]).toMatchObject([[1, 0], { cachedTokens: 0, bestOverlapBlocks: 0 }])
  expect([router.free('a'), router.ledger.live]).toEqual([false, 0])
  core.dispose()
})
