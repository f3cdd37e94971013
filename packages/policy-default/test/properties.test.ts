import {
  type HandMadeFacts,
  type HandMadeRow,
  type HandMadeViewOptions,
  TestMemory,
  handMadeContext,
  handMadeView,
  runComponents,
} from '@router/conformance'
import { type RouterDefaults, type WorkerRole, WyRand, routerDefaults, sharedHitsFrom } from '@router/sdk'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createDefaultCostPolicy } from '../src/index.js'

const settings = { numRuns: 150, seed: 20_250 }
// One memory a kernel for all runs: engines reserve much address space for each.
const memories = [true, false].map((webAssembly) => new TestMemory({ webAssembly, pages: 64 }))
for (const memory of memories) memory.reserveRows(16)

interface Selection {
  readonly role: WorkerRole
  readonly weights: Partial<RouterDefaults>
  readonly facts: HandMadeFacts
  readonly options: HandMadeViewOptions
}
interface Decision {
  readonly pick: string
  readonly costs: ReadonlyMap<string, number>
}

const nameOf = ({ workerId, dpRank = 0 }: HandMadeRow): string => `${workerId}.${dpRank}`

/** One selection of a fresh object, by the SIMD kernel and by the plain loops, which must agree. */
function decide(rows: readonly HandMadeRow[], { role, weights, facts, options }: Selection): Decision {
  const [simd, plain] = memories.map((memory): Decision => {
    const random = new WyRand(42n)
    const policy = createDefaultCostPolicy(weights, {
      role,
      model: 'default',
      routingGroup: 'default',
      conditionalDisaggregation: false,
      reservesRuntimeInputs: false,
      routerDefaults,
      random: () => random,
      nowMs: () => 0,
      memory,
      warnOnce: () => {},
    })
    const view = handMadeView(rows, options)
    const { worker, totals } = runComponents(policy as never, view, handMadeContext(view, facts), { memory })
    const costs = new Map(rows.map((row, index) => [nameOf(row), totals[index]!]))
    return { pick: `${worker.workerId}.${worker.dpRank}`, costs }
  })
  expect(simd).toEqual(plain)
  return simd!
}

/** Rows of the lowest cost. */
function tiesOf(rows: readonly HandMadeRow[], selection: Selection): string[] {
  const { costs } = decide(rows, selection)
  const lowest = Math.min(...costs.values())
  return [...costs].flatMap(([name, cost]) => (cost === lowest ? [name] : []))
}

const cacheArbitrary = fc.record({
  deviceOverlapBlocks: fc.nat(60),
  hostOverlapBlocks: fc.nat(20),
  diskOverlapBlocks: fc.nat(20),
  estimateBlocks: fc.nat(60),
  estimateTokens: fc.nat(1500),
})
const loadArbitrary = fc.record({
  activePrefillTokens: fc.nat(20_000),
  decodeCostBlocks: fc.nat(200),
  activeRequests: fc.nat(30),
})
const orUnknown = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | 'unknown'> =>
  fc.oneof({ weight: 5, arbitrary }, { weight: 1, arbitrary: fc.constant('unknown' as const) })
const rowArbitrary = fc.record({
  workerId: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  dpRank: fc.nat(3),
  cache: orUnknown(cacheArbitrary),
  load: orUnknown(loadArbitrary),
  taintMultiplier: fc.double({ min: Math.exp(-1), max: Math.E, noNaN: true }),
})
const rowsArbitrary: fc.Arbitrary<HandMadeRow[]> = fc.uniqueArray(rowArbitrary, {
  minLength: 1,
  maxLength: 12,
  selector: nameOf,
})
const selectionArbitrary: fc.Arbitrary<Selection> = fc.record({
  role: fc.constantFrom<WorkerRole>('aggregated', 'prefill', 'decode', 'encode'),
  weights: fc.record({
    overlap_score_credit: fc.constantFrom(0, 0.5, 1, 1.5),
    overlap_score_credit_decay: fc.constantFrom(0, 0.6),
    prefill_load_scale: fc.constantFrom(0, 1, 1.7),
    decode_active_request_weight: fc.constantFrom(0, 0.7, 32),
    prefix_affinity_weight: fc.constantFrom(0, 0, 0.25, 4),
    router_temperature: fc.constantFrom(0, 0, 0.7),
  }),
  facts: fc.record({
    promptTokens: fc.nat(1200),
    blockSize: fc.constantFrom(1, 16, 17),
    tracksPrefillTokens: fc.boolean(),
  }),
  options: fc.record({ taintApplies: fc.boolean(), hasTierMatches: fc.boolean() }),
})
const caseArbitrary = fc.tuple(rowsArbitrary, selectionArbitrary)

describe('properties of the default policy', () => {
  it('permuting rows permutes the costs and keeps the pick', () => {
    const permuted = caseArbitrary.chain(([rows, selection]) =>
      fc.tuple(fc.constant({ rows, selection }), fc.shuffledSubarray(rows, { minLength: rows.length })),
    )
    const property = fc.property(permuted, ([{ rows, selection }, others]) => {
      const expected = decide(rows, selection)
      const actual = decide(others, selection)
      expect(actual.pick).toBe(expected.pick)
      for (const [name, cost] of expected.costs) expect(actual.costs.get(name)).toBe(cost)
    })
    fc.assert(property, settings)
  })

  it('costs are finite and the pick is one of the rows, the cheapest at temperature 0', () => {
    const property = fc.property(caseArbitrary, ([rows, selection]) => {
      const { pick, costs } = decide(rows, selection)
      for (const cost of costs.values()) expect(cost).toSatisfy(Number.isFinite)
      if (selection.weights.router_temperature === 0) expect(tiesOf(rows, selection)).toContain(pick)
      else expect([...costs.keys()]).toContain(pick)
    })
    fc.assert(property, settings)
  })

  it('more load never helps a row', () => {
    const property = fc.property(caseArbitrary, fc.nat(11), loadArbitrary, ([rows, selection], at, more) => {
      const index = at % rows.length
      const row = rows[index]!
      const load = row.load === 'unknown' ? {} : row.load!
      const lighter = rows.with(index, { ...row, load })
      const heavier = rows.with(index, {
        ...row,
        load: {
          activePrefillTokens: (load.activePrefillTokens ?? 0) + more.activePrefillTokens,
          decodeCostBlocks: (load.decodeCostBlocks ?? 0) + more.decodeCostBlocks,
          activeRequests: (load.activeRequests ?? 0) + more.activeRequests,
        },
      })
      const costOf = (fleet: HandMadeRow[]): number => decide(fleet, selection).costs.get(nameOf(row))!
      expect(costOf(heavier)).toBeGreaterThanOrEqual(costOf(lighter))
      if (tiesOf(heavier, selection).includes(nameOf(row)))
        expect(tiesOf(lighter, selection)).toContain(nameOf(row))
    })
    fc.assert(property, settings)
  })

  it('more overlap never hurts a row', () => {
    const tiers = fc.record({ device: fc.nat(40), host: fc.nat(9), disk: fc.nat(9), blocks: fc.nat(40) })
    const property = fc.property(caseArbitrary, fc.nat(11), tiers, ([rows, selection], at, more) => {
      const index = at % rows.length
      const row = rows[index]!
      const cache = row.cache === 'unknown' ? { estimateBlocks: 0, estimateTokens: 0 } : row.cache!
      const warmer = {
        ...cache,
        deviceOverlapBlocks: (cache.deviceOverlapBlocks ?? 0) + more.device,
        hostOverlapBlocks: (cache.hostOverlapBlocks ?? 0) + more.host,
        diskOverlapBlocks: (cache.diskOverlapBlocks ?? 0) + more.disk,
        estimateBlocks: cache.estimateBlocks! + more.blocks,
      }
      const before = tiesOf(rows.with(index, { ...row, cache }), selection)
      const after = tiesOf(rows.with(index, { ...row, cache: warmer }), selection)
      if (before.includes(nameOf(row))) expect(after).toContain(nameOf(row))
    })
    fc.assert(property, settings)
  })

  it('a row of unknown cache state costs what a cold one costs', () => {
    const shared = sharedHitsFrom([[2, 9]])
    const property = fc.property(caseArbitrary, fc.boolean(), ([rows, selection], hasShared) => {
      const options = hasShared ? { ...selection.options, sharedHits: shared } : selection.options
      const { hasTierMatches } = selection.options
      const cold = rows.map((row) => (row.cache === 'unknown' ? { ...row, cache: {} } : row))
      const seen = { ...selection, options: { ...options, hasTierMatches: hasTierMatches === true } }
      expect(decide(cold, seen)).toEqual(decide(rows, seen))
    })
    fc.assert(property, settings)
  })

  it('a row without a projection costs what an idle one costs, if its estimate is not above the prompt', () => {
    const property = fc.property(caseArbitrary, ([rows, selection]) => {
      const estimateTokens = Math.min(900, selection.facts.promptTokens!)
      const capped = rows.map((row) =>
        row.cache === 'unknown' ? row : { ...row, cache: { ...row.cache, estimateTokens } },
      )
      const idle = capped.map((row) => (row.load === 'unknown' ? { ...row, load: {} } : row))
      expect(decide(idle, selection)).toEqual(decide(capped, selection))
    })
    fc.assert(property, settings)
  })

  it('plain decode is (D + W n) m: it sees neither cache nor prefill', () => {
    const property = fc.property(caseArbitrary, ([rows, selection]) => {
      const { weights, options } = selection
      const { costs } = decide(rows, {
        ...selection,
        role: 'decode',
        facts: { ...selection.facts, tracksPrefillTokens: false },
      })
      for (const row of rows) {
        const { decodeCostBlocks: blocks, activeRequests } =
          row.load === 'unknown' ? { decodeCostBlocks: 0, activeRequests: 0 } : row.load!
        const base = blocks! + weights.decode_active_request_weight! * activeRequests!
        expect(costs.get(nameOf(row))).toBe(
          options.taintApplies === true ? base * row.taintMultiplier! : base,
        )
      }
    })
    fc.assert(property, settings)
  })

  it('the scale applies after the credit, and to the prefill term only', () => {
    const scale = fc.constantFrom(0.5, 2, 4, 8)
    const property = fc.property(rowsArbitrary, fc.nat(60), scale, (rows, blocks, prefill_load_scale) => {
      // Halves and quarters of small numbers: every step is exact.
      const selection = (weights: Partial<RouterDefaults>): Selection => ({
        role: 'aggregated',
        weights,
        facts: { promptTokens: 16 * blocks },
        options: { taintApplies: false, hasTierMatches: true },
      })
      const plain = decide(rows, selection({}))
      const scaled = decide(rows, selection({ prefill_load_scale }))
      for (const row of rows) {
        const decode = row.load === 'unknown' ? 0 : row.load!.decodeCostBlocks!
        const prefill = plain.costs.get(nameOf(row))! - decode
        expect(scaled.costs.get(nameOf(row))).toBe(prefill_load_scale * prefill + decode)
      }
    })
    fc.assert(property, settings)
  })

  it('a holder keeps its session until the gap exceeds weight x blocks, plus the ordinary credit', () => {
    const drawn = fc.record({
      weight: fc.constantFrom(0.25, 1, 4),
      credit: fc.constantFrom(0, 0.5, 1),
      blocks: fc.integer({ min: 1, max: 80 }),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      tracks: fc.boolean(),
      offset: fc.constantFrom(-1, -0.125, 0, 0.125, 1),
      base: fc.integer({ min: 100, max: 300 }),
    })
    const property = fc.property(drawn, ({ weight, credit, blocks, share, tracks, offset, base }) => {
      const held = Math.round(blocks * share)
      // Load-only decode (no credit, no tracking) charges nothing: there a holder has no advantage.
      const advantage = credit === 0 && !tracks ? 0 : (weight + credit) * held
      const rows: HandMadeRow[] = [
        {
          workerId: 1n,
          cache: { deviceOverlapBlocks: held, estimateTokens: 0 },
          load: { decodeCostBlocks: base + advantage + offset },
        },
        { workerId: 2n, load: { decodeCostBlocks: base } },
      ]
      const ties = tiesOf(rows, {
        role: 'aggregated',
        weights: { overlap_score_credit: credit, prefix_affinity_weight: weight },
        facts: { promptTokens: 16 * blocks, tracksPrefillTokens: tracks },
        options: { hasTierMatches: true },
      })
      expect(ties).toEqual(offset < 0 ? ['1.0'] : offset > 0 ? ['2.0'] : ['1.0', '2.0'])
    })
    fc.assert(property, settings)
  })
})
