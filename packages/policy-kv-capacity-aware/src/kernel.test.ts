import { handMadeView } from '@router/conformance'
import { WyRand } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { CapacityTerms } from './capacity-terms.js'
import { pickFitting, pickLeastBlocks, scoreRows } from './kernel.js'
import { kvCapacityAwareParameters } from './parameters.js'

const terms = (parameters: object = {}): CapacityTerms =>
  new CapacityTerms(kvCapacityAwareParameters.parse(parameters))

interface Row {
  id: number
  blocks?: number
  requests?: number
  capacity?: number
  taint?: number
}

const view = (rows: readonly (Row | number)[], taintApplies = false) =>
  handMadeView(
    rows.map((row) => {
      if (typeof row === 'number') return { workerId: BigInt(row), load: 'unknown' as const }
      const { id, blocks = 0, requests = 0, capacity = 0, taint = 1 } = row
      return {
        workerId: BigInt(id),
        load: { decodeCostBlocks: blocks, activeRequests: requests },
        totalKvBlocks: capacity,
        taintMultiplier: taint,
      }
    }),
    { taintApplies },
  ) as never

const states = (random: WyRand, act: () => void): number => {
  const start = random.state
  act()
  const replay = new WyRand(start)
  for (let draws = 0; draws < 100; draws++) {
    if (replay.state === random.state) return draws
    replay.step()
  }
  throw new Error('more than 100 draws')
}

describe('scoreRows', () => {
  const costsOf = (parameters: object, rows: readonly (Row | number)[], taintApplies: boolean): number[] => {
    const costs = new Float64Array(rows.length + 1).fill(NaN)
    scoreRows(terms(parameters), view(rows, taintApplies), costs)
    return [...costs]
  }

  it('adds the request weight before the taint', () => {
    const rows = [
      { id: 1, blocks: 10, requests: 2, taint: 0.5 },
      { id: 2, blocks: 3 },
    ]
    expect(costsOf({ decode_active_request_weight: 5 }, rows, true)).toEqual([10, 3, NaN])
  })

  it('leaves taints out when they do not apply', () => {
    expect(costsOf({}, [{ id: 1, blocks: 10, taint: 0.5 }], false)).toEqual([10, NaN])
  })

  it('counts a row without a projection as idle', () => {
    expect(costsOf({ decode_active_request_weight: 5 }, [1], false)).toEqual([0, NaN])
  })
})

describe('pickFitting', () => {
  const pick = (parameters: object, rows: readonly (Row | number)[], random = new WyRand(42n)): number => {
    const costs = new Float64Array(rows.length)
    const candidates = view(rows)
    scoreRows(terms(parameters), candidates, costs)
    return pickFitting(terms(parameters), candidates, costs, random)
  }

  it('is -1 when no row fits', () => {
    expect(pick({}, [{ id: 1, blocks: 11, capacity: 10 }])).toBe(-1)
  })

  it('compares the exact product, inclusive', () => {
    expect(pick({ capacity_fraction: 0.29 }, [{ id: 1, blocks: 29, capacity: 100 }])).toBe(-1)
    expect(pick({ capacity_fraction: 0.9 }, [{ id: 1, blocks: 90, capacity: 100 }])).toBe(0)
  })

  it('takes unknown capacities, a configured one, or none', () => {
    const rows = [{ id: 1, blocks: 1000 }]
    expect(pick({}, rows)).toBe(0)
    expect(pick({ capacity_blocks: 100 }, rows)).toBe(-1)
    expect(pick({ capacity_fraction: null, capacity_blocks: 100 }, rows)).toBe(0)
  })

  it('orders by requests, then cost; by cost alone without count priority', () => {
    const rows = [
      { id: 1, blocks: 1, requests: 2 },
      { id: 2, blocks: 9, requests: 1 },
      { id: 3, blocks: 5, requests: 1 },
    ]
    expect(pick({}, rows)).toBe(2)
    expect(pick({ count_priority: false }, rows)).toBe(0)
  })

  it('counts a row without a projection as idle', () => {
    expect(pick({}, [{ id: 1, blocks: 1, requests: 1, capacity: 10 }, 2])).toBe(1)
  })

  it('goes through canonical rows', () => {
    const random = new WyRand(42n)
    const picks = Array.from({ length: 12 }, () => pick({}, [{ id: 30 }, { id: 10 }, { id: 20 }], random))
    // The published picks of three tied rows under seed 42, in canonical order: 0 2 0 0 2 1 0 0 0 1 0 1.
    expect(picks).toEqual([1, 0, 1, 1, 0, 2, 1, 1, 1, 2, 1, 2])
  })

  it('draws for ties only, also for ties that are beaten later', () => {
    const random = new WyRand(7n)
    expect(
      states(random, () =>
        pick(
          {},
          [
            { id: 1, blocks: 5 },
            { id: 2, blocks: 4 },
          ],
          random,
        ),
      ),
    ).toBe(0)
    expect(
      states(random, () => pick({}, [{ id: 1, blocks: 5 }, { id: 2, blocks: 5 }, { id: 3 }], random)),
    ).toBe(1)
  })

  it('never reads left-overs', () => {
    const candidates = handMadeView([{ workerId: 5n, load: { decodeCostBlocks: 9 } }], {
      leftOvers: [{ workerId: 1n, load: { decodeCostBlocks: 0 } }],
    })
    expect(pickFitting(terms(), candidates as never, new Float64Array([9, -1, -1]), new WyRand(1n))).toBe(0)
  })
})

describe('pickLeastBlocks', () => {
  it('takes the smallest footprint whatever the rest says', () => {
    const rows = [
      { id: 1, blocks: 7, requests: 0, capacity: 5 },
      { id: 2, blocks: 6, requests: 9, capacity: 5 },
    ]
    expect(pickLeastBlocks(view(rows), new WyRand(1n))).toBe(1)
    expect(pickLeastBlocks(view([...rows, 3]), new WyRand(1n))).toBe(2)
  })

  it('draws for ties, through canonical rows', () => {
    const random = new WyRand(42n)
    const rows = [
      { id: 30, blocks: 9 },
      { id: 10, blocks: 9 },
      { id: 20, blocks: 9 },
      { id: 40, blocks: 10 },
    ]
    const picks = Array.from({ length: 12 }, () => pickLeastBlocks(view(rows), random))
    expect(picks).toEqual([1, 0, 1, 1, 0, 2, 1, 1, 1, 2, 1, 2])
  })
})
