import { PolicyInstance, type SelectionRequest, type Selector, createRouterCore } from '@router/core'
import {
  PolicyCatalog,
  SelectionError,
  WyRand,
  routerDefaults,
  sharedHitsFrom,
  workerRoles,
} from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { defaultPolicy } from '../src/index.js'
import { LiveFleet, costs, picks, request, resolved } from './live-fleet.js'

const kernels = describe.each([
  ['SIMD kernel', { webAssembly: true }],
  ['plain loops', { webAssembly: false }],
])

const others = ['router_temperature', 'encoder_cuda_to_cpu_ratio']
const weights = Object.keys(routerDefaults).filter((name) => !others.includes(name))

const codeOf = (act: () => unknown): { code: string; details: unknown } => {
  try {
    act()
  } catch (error) {
    if (SelectionError.isInstance(error)) return { code: error.code, details: error.details }
    throw error
  }
  throw new Error('nothing was thrown')
}

kernels('the policy in the live host, %s', (_name, options) => {
  it('120 unseeded selections among ties give more than one winner, and only tied rows', () => {
    const fleet = new LiveFleet(options)
    for (let worker = 0; worker < 9; worker++)
      fleet.set(worker, { decode: worker % 3 === 1 ? 5 : 6 + worker })
    const winners = new Set(picks(fleet.selector(), 120))
    expect([...winners].toSorted()).toEqual([1, 4, 7])
  })

  it('two unseeded objects do not share a stream, two of one seed decide alike', () => {
    const fleet = new LiveFleet(options)
    for (let worker = 0; worker < 16; worker++) fleet.set(worker)
    const entropy = new WyRand(1n)
    const unseeded = Array.from({ length: 2 }, () => fleet.selector({}, { entropy: () => entropy.next() }))
    expect(picks(unseeded[0]!, 40)).not.toEqual(picks(unseeded[1]!, 40))
    const seeded = Array.from({ length: 2 }, () => fleet.selector({ seed: '42' }))
    expect(picks(seeded[0]!, 40)).toEqual(picks(seeded[1]!, 40))
  })

  it.each([0, 0.7])('a mandatory pin is kept and draws nothing, temperature %d', (router_temperature) => {
    const fleet = new LiveFleet(options)
    for (let worker = 0; worker < 8; worker++) fleet.set(worker, { decode: worker === 3 ? 900 : 1 })
    const parameters = { seed: 9, router_temperature }
    const expected = picks(fleet.selector(parameters), 30)
    const pinnedWorker = { workerId: 3n, dpRank: 0 }
    const selector = fleet.selector(parameters)
    const actual = expected.map(() => {
      expect(picks(selector, 2, { pinnedWorker })).toEqual([3, 3])
      return picks(selector, 1)[0]
    })
    expect(actual).toEqual(expected)
  })

  it.each([0, 0.7])('queries do not move the stream, temperature %d', (router_temperature) => {
    const fleet = new LiveFleet(options)
    for (let worker = 0; worker < 8; worker++) fleet.set(worker, { decode: worker >> 1 })
    const parameters = { seed: 9, router_temperature }
    const expected = picks(fleet.selector(parameters), 30)
    const selector = fleet.selector(parameters)
    for (const worker of expected) {
      expect(picks(selector, 2, { mode: 'query' })).toEqual([worker, worker])
      expect(selector.explain(request()).chosen?.workerId).toBe(BigInt(worker))
      expect(picks(selector, 1)).toEqual([worker])
    }
  })

  it('a patch keeps the stream', () => {
    const fleet = new LiveFleet(options)
    for (let worker = 0; worker < 8; worker++) fleet.set(worker)
    const expected = picks(fleet.selector({ seed: 9 }), 20)
    const instance = new PolicyInstance(resolved({ seed: 9 }))
    const selector = fleet.selector({}, { policy: instance })
    const actual = expected.map((_, index) => {
      instance.patch({ prefill_load_scale: 1 + index })
      return picks(selector, 1)[0]
    })
    expect(actual).toEqual(expected)
  })

  it('a patch acts on the next selection: every weight, and the temperature', () => {
    const fleet = new LiveFleet(options)
    fleet.set(1, { active: 1600, decode: 40, requests: 3, device: 60, host: 8, disk: 4 })
    fleet.set(2, { decode: 90, requests: 1 })
    const instance = new PolicyInstance(resolved({ shared_cache_multiplier: 0.2 }, true))
    const selector = fleet.selector({}, { policy: instance })
    const facts = { sharedHits: sharedHitsFrom([[50, 90]]) }
    for (const name of weights) {
      // Up, down, and back to the start: nothing of an earlier value stays.
      for (const value of [3, 0.5, null]) {
        const before = costs(selector, facts)
        instance.patch({ [name]: value })
        expect(costs(selector, facts), `${name} ${value}`).not.toEqual(before)
        expect(costs(selector, facts)).toEqual(costs(fleet.selector(instance.configured), facts))
      }
    }
    instance.patch({ router_temperature: 1e9 })
    expect(new Set(picks(selector, 60))).toEqual(new Set([1, 2]))
  })

  it('a reused object never leaks a value of the previous request', () => {
    const fleet = new LiveFleet(options)
    for (let worker = 0; worker < 13; worker++) {
      const device = (worker * 7) % 9
      fleet.set(worker, { active: 31 * worker, decode: worker % 5, requests: worker % 4, device, host: 2 }, [
        worker % 2 === 0 ? 'even' : 'odd',
      ])
    }
    const parameters = {
      overlap_score_credit_decay: 0.6,
      shared_cache_multiplier: 0.6,
      prefix_affinity_weight: 0.25,
    }
    const reused = fleet.selector(parameters)
    for (let round = 0; round < 120; round++) {
      const facts: Partial<SelectionRequest> = {
        promptTokens: [1, 17, 127, 2048, 0][round % 5]!,
        blockSize: [8, 16, 32, 17, 3][(round % 7) % 5]!,
        tracksPrefillTokens: round % 2 === 0,
        hasTierMatches: round % 3 !== 0,
        sharedHits:
          round % 4 === 1
            ? sharedHitsFrom([
                [1, 3],
                [5, 12],
              ])
            : undefined,
        preferredTaints: round % 11 === 5 ? [{ taint: 'odd', weight: 0.85 }] : [],
        allowedWorkerIds: round % 9 === 4 ? [1n, 3n, 4n, 9n] : undefined,
        pinnedWorker: round % 13 === 7 ? { workerId: 3n, dpRank: 0 } : undefined,
      }
      const fresh = fleet.selector(parameters)
      expect(costs(reused, facts), `round ${round}`).toEqual(costs(fresh, facts))
      fresh.dispose()
      reused.select(request(facts))
    }
  })

  it('an overflow is an error that names the row, and the next selection is sound', () => {
    const fleet = new LiveFleet(options)
    for (let worker = 0; worker < 5; worker++) fleet.set(worker, { active: worker === 3 ? 1e308 : 10 })
    const selector = fleet.selector({ prefill_load_scale: 1e300 })
    expect(codeOf(() => selector.select(request()))).toMatchObject({
      code: 'ROUTER_NON_FINITE_COST',
      details: { scorerIndex: 0, row: 3, workerId: 3n },
    })
    fleet.set(3, { decode: 1e306 })
    expect(picks(selector, 40)).not.toContain(3)
  })

  it('skips an overloaded worker with the best overlap', () => {
    const fleet = new LiveFleet(options)
    fleet.set(1, { device: 100 })
    fleet.set(2, { device: 4 })
    fleet.set(3)
    const selector = fleet.selector()
    expect(picks(selector, 2)).toEqual([1, 1])
    fleet.table.setOverloadedWorkers([1n])
    expect(picks(selector, 2)).toEqual([2, 2])
  })

  it('an empty prompt is routed by load, charges no affinity, and divides nothing by 0', () => {
    const fleet = new LiveFleet(options)
    fleet.set(1, { active: 480, decode: 2 }, ['near'])
    fleet.set(2, { active: 0, decode: 4 })
    for (const overlap_score_credit_decay of [0, 1]) {
      const plain = fleet.selector({ overlap_score_credit_decay })
      const charging = fleet.selector({ overlap_score_credit_decay, prefix_affinity_weight: 4 })
      const facts = { promptTokens: 0, preferredTaints: [{ taint: 'near', weight: 0.1 }] }
      expect(costs(charging, facts)).toEqual(costs(plain, facts))
      expect(picks(charging, 2, facts)).toEqual([2, 2])
    }
  })
})

describe('the catalog', () => {
  it('resolves all four roles to the built-in, which takes every number from the router', () => {
    const bundle = new PolicyCatalog().withDefault(defaultPolicy).resolve({})
    const defaults = { ...routerDefaults, overlap_score_credit: 0.5, router_temperature: 0 }
    const core = createRouterCore({
      policy: bundle,
      random: () => 7n,
      clock: () => 0,
      config: { routerDefaults: defaults },
    })
    for (const role of workerRoles) {
      const { table, selector } = core.partition({ role })
      for (const workerId of [1n, 2n]) table.upsertWorker({ workerId })
      for (const workerId of [1n, 2n]) table.setLoad(table.slotOf(workerId, 0), 0, 10, 0)
      table.setOverlap(table.slotOf(2n, 0), 100, 0, 0, 100, 1600)
      expect(selector.instance.name).toBe('default')
      // Plain decode looks at no cache: 10 against 10.
      expect(costs(selector)).toEqual(role === 'decode' ? [110, 110] : [110, 60])
    }
    core.dispose()
  })

  it('lets an instance override some numbers and inherit the others', () => {
    const fleet = new LiveFleet()
    fleet.set(1, { decode: 3, requests: 2 })
    const defaults = { ...routerDefaults, prefill_load_scale: 2, decode_active_request_weight: 5 }
    const inherited = fleet.selector({}, { routerDefaults: defaults })
    const tuned = fleet.selector({ decode_active_request_weight: 32 }, { routerDefaults: defaults })
    expect(costs(inherited)).toEqual([200 + 3 + 10])
    expect(costs(tuned)).toEqual([200 + 3 + 64])
  })
})

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
    for (let round = 0; round < 16; round++) {
      // Grows from 5 workers to 455, through every power of two that the columns are sized by; small again now and then.
      const size = round % 10 === 9 ? 5 + (round % 7) : 5 + 2 * round ** 2
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
