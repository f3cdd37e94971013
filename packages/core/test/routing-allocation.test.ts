import { expect, it } from 'vitest'
import type { PartitionRouter } from '../src/index.js'
import { bytesPerCall } from './support/allocation.js'
import { type RoutingOptions, believed, routingHost, told, tokensOf } from './support/routing-hosts.js'

// A busy machine is late to optimise; what allocates then still does in the last batch.
const weighing = { warmUps: 5_000, calls: 2_000, batches: 60 }

const letters = 'abcdefghijklmnopqrstuvwxyz0123456789'
const ids = Array.from({ length: 64 }, (_, id) => `request-${id}`)
const requests = ids.map((requestId, at) => ({
  requestId,
  tokens: Uint32Array.from(tokensOf(letters.slice(0, at % 30) + letters)),
}))

/** 64 ranks that hold parts of the prompts, and 40 requests in flight. */
function fleet(options: RoutingOptions): { readonly router: PartitionRouter; readonly turn: () => void } {
  const { router, store } = routingHost(options)
  for (const { workerId, hasEvents } of options.workers!) {
    if (hasEvents === true) store(`${workerId}`, letters.slice(0, Number(workerId) % 30))
  }
  let turn = 0
  const book = () => {
    router.reserve(requests[turn++ % 64]!)
    if (turn > 40) router.free(ids[(turn - 41) % 64]!)
  }
  for (let live = 0; live < 40; live++) book()
  return { router, turn: book }
}

const numbers = Array.from({ length: 64 }, (_, id) => id)
const holes = (host: ReturnType<typeof fleet>) => {
  host.router.partition.table.setOverloadedWorkers([3n, 5n])
  return host
}

// Beliefs pass halves of hashes from call to call, which the engine may box: 16 bytes each, two a block.
const perBelief = 32 * 66

/** The time goes from call to call, as a double that the engine may box. */
const times = 8 * 16

it.each<[string, () => ReturnType<typeof fleet>, number, number]>([
  ['of ranks that tell', () => fleet({ workers: told(...numbers) }), 256, times],
  [
    'of ranks that tell, some of them overloaded',
    () => holes(fleet({ workers: told(...numbers) })),
    256,
    times,
  ],
  [
    'with predictions',
    () => fleet({ workers: told(...numbers), config: { predictedTtlMs: 1000 } }),
    256 + perBelief,
    times,
  ],
  ['of ranks that are believed', () => fleet({ workers: believed(...numbers) }), 256 + perBelief, times],
])(
  'warm, a query allocates nothing, and a booking what its id and its records take: %s',
  (_name, build, mostBytes, mostOfQuery) => {
    const { router, turn } = build()
    // Whatever grew with the ranks would be 500 bytes and more here.
    const ofBooking = bytesPerCall(turn, { ...weighing, enough: mostBytes })
    let query = 0
    const ofQuery = bytesPerCall(() => router.select(requests[query++ % 64]!), {
      ...weighing,
      enough: mostOfQuery,
    })
    expect(ofQuery).toBeLessThanOrEqual(mostOfQuery)
    expect(ofBooking).toBeLessThanOrEqual(mostBytes)
    expect([router.ledger.live, router.ledger.audit()]).toEqual([40, []])
  },
)
