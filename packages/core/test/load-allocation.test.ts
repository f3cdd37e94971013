import { expect, it } from 'vitest'
import { hashesOfPath, ledgerHost } from './support/ledgers.js'

declare const process: { readonly memoryUsage: () => { readonly heapUsed: number } }

const warmUps = 15_000
const calls = 10_000
// A busy machine is late to optimise; what allocates then still does in the last batch.
const batches = 60

/** Bytes per call on the JavaScript heap: the smallest growth over several batches, until one needs no more than `enough`. */
function bytesPerCall(body: () => unknown, enough = 0): number {
  for (let call = 0; call < warmUps; call++) body()
  let least = Infinity
  for (let batch = 0; batch < batches && least > enough; batch++) {
    const before = process.memoryUsage().heapUsed
    for (let call = 0; call < calls; call++) body()
    const growth = process.memoryUsage().heapUsed - before
    if (growth >= 0 && growth / calls < least) least = growth / calls
  }
  return least
}

const numbers = (count: number, from = 0): number[] =>
  Array.from({ length: count }, (_, index) => from + index)

it('warm, a life of a request and a projection allocate what a map of ids does and nothing else', () => {
  const host = ledgerHost({ workers: [{ workerId: 1n, dataParallelSize: 64 }] })
  const { ledger, table } = host
  table.settle()
  const ids = numbers(64).map((id) => `request-${id}`)
  const paths = numbers(64).map((id) => hashesOfPath([...numbers(40), ...numbers(20, 1000 * id)]))
  const booking = { requestId: '', slot: 0, hashes: paths[0]!, prefillTokens: 320 }
  let turn = 0
  const book = (): void => {
    booking.requestId = ids[turn % 64]!
    booking.slot = table.slotOfRow[(turn * 7) % 64]!
    booking.hashes = paths[(turn * 5) % 64]!
    ledger.add(booking)
    turn++
  }
  for (let live = 0; live < 40; live++) book()
  // A map makes itself anew now and then.
  const map = new Map(ids.slice(0, 40).map((id, at) => [id, at]))
  let mapTurn = 40
  const bytesOfMap = bytesPerCall(() => {
    map.set(ids[mapTurn % 64]!, mapTurn & 63)
    map.delete(ids[(mapTurn++ - 40) % 64]!)
  }, 48)
  const perCall = bytesPerCall(() => {
    ledger.project(booking.hashes)
    book()
    ledger.markPrefillCompleted(booking.requestId)
    ledger.addOutputBlock(booking.requestId)
    ledger.touch(booking.requestId)
    ledger.free(ids[(turn - 41) % 64]!)
  }, bytesOfMap + 8)
  expect(bytesOfMap).toBeLessThan(64)
  expect(perCall).toBeLessThanOrEqual(bytesOfMap + 8)
  expect([ledger.live, ledger.audit()]).toEqual([40, []])
})
