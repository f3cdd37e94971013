import { expect, it } from 'vitest'
import { bytesPerCall } from './support/allocation.js'
import { hashesOfPath, ledgerHost } from './support/ledgers.js'

// A busy machine is late to optimise; what allocates then still does in the last batch.
const weighing = { warmUps: 15_000, calls: 10_000, batches: 60 }

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
  const bytesOfMap = bytesPerCall(
    () => {
      map.set(ids[mapTurn % 64]!, mapTurn & 63)
      map.delete(ids[(mapTurn++ - 40) % 64]!)
    },
    { ...weighing, enough: 48 },
  )
  const perCall = bytesPerCall(
    () => {
      ledger.project(booking.hashes)
      book()
      ledger.markPrefillCompleted(booking.requestId)
      ledger.addOutputBlock(booking.requestId)
      ledger.touch(booking.requestId)
      ledger.free(ids[(turn - 41) % 64]!)
    },
    { ...weighing, enough: bytesOfMap + 8 },
  )
  expect(bytesOfMap).toBeLessThan(64)
  expect(perCall).toBeLessThanOrEqual(bytesOfMap + 8)
  expect([ledger.live, ledger.audit()]).toEqual([40, []])
})
