import { type SelectionRequest, type Selector } from '@router/core'
import { WyRand } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { LiveFleet, request } from './live-fleet.js'

const parameterSets = [
  { seed: 1, overlap_score_credit_decay: 0.6, prefix_affinity_weight: 0.25 },
  { seed: 2, router_temperature: 0.7, decode_active_request_weight: 0.5 },
]

/** One fleet told to several hosts, which must decide alike. */
interface Host {
  readonly fleet: LiveFleet
  readonly selector: Selector
}

describe('columns that move', () => {
  it('two objects on one growing table decide like objects with a table of their own, and like the plain loops', () => {
    const shared = new LiveFleet()
    const groups: Host[][] = parameterSets.map((parameters) => [
      { fleet: shared, selector: shared.selector(parameters) },
      ...[true, false].map((webAssembly) => {
        const fleet = new LiveFleet({ webAssembly })
        return { fleet, selector: fleet.selector(parameters) }
      }),
    ])
    const fleets = new Set(groups.flat().map(({ fleet }) => fleet))
    const random = new WyRand(3n)
    let buffers = 0
    let buffer = shared.table.memory.webAssemblyMemory!.buffer
    for (let round = 0; round < 40; round++) {
      // Grows from 5 workers to 727, through every power of two that the columns are sized by; small again now and then.
      const size = round % 10 === 9 ? 5 + (round % 7) : 5 + Math.floor(round ** 2 / 2)
      const facts = Array.from({ length: 12 }, () => ({
        worker: random.below(size),
        active: random.below(2000),
        decode: random.below(60),
        requests: random.below(5),
        device: random.below(90),
        host: random.below(4),
        disk: random.below(4),
      }))
      const overloaded = round % 3 === 1 ? [0n, 2n, BigInt(size - 1)] : []
      for (const fleet of fleets) {
        fleet.resize(size)
        for (const { worker, ...rest } of facts) fleet.set(worker, rest)
        fleet.table.setOverloadedWorkers(overloaded)
      }
      for (const constraints of stages(size, round)) {
        for (const [index, hosts] of groups.entries()) {
          const [first, ...others] = hosts.map(({ selector }) => decide(selector, constraints))
          for (const other of others) expect(other, `round ${round}, object ${index}`).toEqual(first)
        }
      }
      if (buffer !== shared.table.memory.webAssemblyMemory!.buffer) buffers++
      buffer = shared.table.memory.webAssemblyMemory!.buffer
    }
    expect(buffers).toBeGreaterThan(2)
  })

  it('an object that is built while another one is in use moves its columns, and it follows', () => {
    const fleet = new LiveFleet()
    for (let worker = 0; worker < 20; worker++) fleet.set(worker, { decode: worker >> 2, device: worker })
    const alone = new LiveFleet()
    for (let worker = 0; worker < 20; worker++) alone.set(worker, { decode: worker >> 2, device: worker })
    const [parameters] = parameterSets
    const expected = alone.selector(parameters)
    const selector = fleet.selector(parameters)
    for (let round = 0; round < 30; round++) {
      const neighbour = fleet.selector(parameterSets[1])
      expect(decide(selector, {})).toEqual(decide(expected, {}))
      decide(neighbour, {})
      if (round % 2 === 0) neighbour.dispose()
    }
  })
})

/** Requests over the whole table, the eligible ranks, and gathered rows, in changing order. */
function stages(size: number, round: number): Partial<SelectionRequest>[] {
  const some = Array.from({ length: size }, (_, worker) => BigInt(worker)).filter((id) => id % 3n !== 1n)
  const all: Partial<SelectionRequest>[] = [
    {},
    { allowedWorkerIds: some },
    { promptTokens: 999, blockSize: 17 },
    { tracksPrefillTokens: false },
  ]
  return all.slice(round % 4).concat(all.slice(0, round % 4))
}

function decide(selector: Selector, facts: Partial<SelectionRequest>): object {
  const { rows } = selector.explain(request(facts))
  const { workerId, cachedTokens, potentialDecodeBlocks } = selector.select(request(facts))
  const totals = rows.map(({ total }) => total)
  return { totals, workerId, cachedTokens, potentialDecodeBlocks }
}
