import type { HandMadeRow } from '@router/conformance'
import { type PolicyDefinition, WyRand } from '@router/sdk'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  deviceAwareWeightedPolicy,
  directPolicy,
  leastLoadedPolicy,
  policies,
  powerOfTwoChoicesPolicy,
  randomPolicy,
  roundRobinPolicy,
} from '../src/index.js'
import { build } from './built-policy.js'

const settings = { numRuns: 150, seed: 20_250 }

const rowArbitrary: fc.Arbitrary<HandMadeRow> = fc.record({
  workerId: fc.constantFrom(1n, 7n, 2n ** 32n + 1n, 2n ** 40n, 2n ** 64n - 1n),
  dpRank: fc.nat(2),
  reservations: fc.nat(6),
  cacheHits: fc.nat(2),
})
const kinds = fc.array(fc.boolean(), { minLength: 5, maxLength: 5 })
const rowsArbitrary: fc.Arbitrary<HandMadeRow[]> = fc
  .tuple(
    fc.uniqueArray(rowArbitrary, {
      minLength: 1,
      maxLength: 10,
      selector: ({ workerId, dpRank }) => `${workerId}.${dpRank}`,
    }),
    kinds,
  )
  .map(([rows, cpus]) =>
    rows.map((row) => ({
      ...row,
      worker: { deviceKind: cpus[Number(row.workerId % 5n)]! ? 'cpu' : 'accelerator' },
    })),
  )

const nameOf = ({ workerId, dpRank = 0 }: HandMadeRow): string => `${workerId}.${dpRank}`
const loadOf = (rows: readonly HandMadeRow[], workerId: bigint): number =>
  rows.reduce((sum, row) => sum + (row.workerId === workerId ? row.reservations! : 0), 0)
const workersOf = (rows: readonly HandMadeRow[]): bigint[] => [
  ...new Set(rows.map(({ workerId }) => workerId)),
]
const factsFor = (policy: PolicyDefinition, rows: readonly HandMadeRow[]) =>
  policy === directPolicy ? { affinityTarget: { workerId: rows[0]!.workerId } } : {}

describe.each(policies)('$type', (policy) => {
  it('permuted rows give the same picks, and the same tie set', () => {
    const permuted = rowsArbitrary.chain((rows) =>
      fc.tuple(fc.constant(rows), fc.shuffledSubarray(rows, { minLength: rows.length })),
    )
    const property = fc.property(permuted, fc.nat(3), ([rows, others], requiredCacheHits) => {
      const facts = { ...factsFor(policy, rows), requiredCacheHits }
      const [left, right] = [build(policy), build(policy)]
      for (const built of [left, right]) built.join(rows)
      for (let selection = 0; selection < 4; selection++) {
        expect(right.explain(others, facts).names).toEqual(left.explain(rows, facts).names)
        expect(right.pick(others, facts)).toBe(left.pick(rows, facts))
      }
    })
    fc.assert(property, settings)
  })

  it('picks nothing but what it explains, and all of it in time', () => {
    const property = fc.property(rowsArbitrary, fc.nat(3), (rows, requiredCacheHits) => {
      const facts = { ...factsFor(policy, rows), requiredCacheHits }
      const built = build(policy, { random: new WyRand(3n) })
      built.join(rows)
      const { names } = built.explain(rows, facts)
      const length = policy === roundRobinPolicy ? 1 : 250
      const picks = new Set(Array.from({ length }, () => built.pick(rows, facts)))
      expect([...picks].toSorted()).toEqual(names.toSorted())
    })
    fc.assert(property, { ...settings, numRuns: 25 })
  })
})

describe('shares', () => {
  it('round robin gives every worker, and every rank of it, as many as any other', () => {
    const property = fc.property(rowsArbitrary, fc.integer({ min: 1, max: 30 }), (rows, picks) => {
      const built = build(roundRobinPolicy)
      built.join(rows)
      const counts = new Map(rows.map((row) => [nameOf(row), 0]))
      for (let pick = 0; pick < picks; pick++) {
        const name = built.pick(rows)
        counts.set(name, counts.get(name)! + 1)
      }
      const spread = (all: readonly number[]): number => Math.max(...all) - Math.min(...all)
      const ofRanks = workersOf(rows).map((id) =>
        rows.filter(({ workerId }) => workerId === id).map((row) => counts.get(nameOf(row))!),
      )
      for (const ranks of ofRanks) expect(spread(ranks)).toBeLessThanOrEqual(1)
      expect(spread(ofRanks.map((ranks) => ranks.reduce((sum, count) => sum + count)))).toBeLessThanOrEqual(1)
    })
    fc.assert(property, settings)
  })

  it('random gives each of five workers a fifth, its ranks alike, whatever their load', () => {
    const ids = [1n, 2n, 3n, 4n, 5n]
    const rows = ids.flatMap((workerId) =>
      [0, 1].map((dpRank) => ({ workerId, dpRank, reservations: 100 * dpRank })),
    )
    const built = build(randomPolicy, { random: new WyRand(11n) })
    const counts = new Map<string, number>()
    for (let pick = 0; pick < 10_000; pick++) {
      const name = built.pick(rows)
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    expect(counts.size).toBe(10)
    // Four standard deviations of a binomial count of 10,000 draws with the chance of a tenth.
    for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(120)
  })
})

describe('load', () => {
  it('more of it never helps a row', () => {
    const drawn = fc.tuple(rowsArbitrary, fc.nat(9), fc.integer({ min: 1, max: 9 }))
    for (const policy of [powerOfTwoChoicesPolicy, leastLoadedPolicy]) {
      const property = fc.property(drawn, ([rows, at, more]) => {
        const index = at % rows.length
        const row = rows[index]!
        const isTied = (all: readonly HandMadeRow[]): boolean =>
          build(policy).explain(all).names.includes(nameOf(row))
        const heavier = { ...row, reservations: row.reservations! + more }
        if (isTied(rows.with(index, heavier))) expect(isTied(rows)).toBe(true)
      })
      fc.assert(property, settings)
    }
  })

  it('a worker alone at the top never gets a request by the better of two', () => {
    const property = fc.property(rowsArbitrary, (rows) => {
      const [top, second] = workersOf(rows).toSorted((a, b) => loadOf(rows, b) - loadOf(rows, a))
      fc.pre(second !== undefined && loadOf(rows, top!) > loadOf(rows, second))
      const built = build(powerOfTwoChoicesPolicy)
      for (let pick = 0; pick < 20; pick++)
        expect(built.pick(rows)).not.toMatch(new RegExp(`^${top}\\.`, 'u'))
    })
    fc.assert(property, settings)
  })

  it('a full hit beats every other worker, and CPU workers stay below their share', () => {
    const drawn = fc.tuple(rowsArbitrary, fc.integer({ min: 1, max: 3 }), fc.constantFrom(1, 2, 8))
    const property = fc.property(drawn, ([rows, requiredCacheHits, ratio]) => {
      const parameters = { cuda_to_cpu_ratio: ratio }
      const pick = build(deviceAwareWeightedPolicy, { parameters }).pick(rows, { requiredCacheHits })
      const [id = ''] = pick.split('.')
      const firstOf = (workerId: bigint): HandMadeRow =>
        rows.filter((row) => row.workerId === workerId).toSorted((a, b) => a.dpRank! - b.dpRank!)[0]!
      const isHit = (workerId: bigint): boolean => firstOf(workerId).cacheHits! >= requiredCacheHits
      const workers = workersOf(rows)
      if (workers.some(isHit)) {
        expect(isHit(BigInt(id))).toBe(true)
        return
      }
      const isCpu = (workerId: bigint): boolean => firstOf(workerId).worker!.deviceKind === 'cpu'
      const cpus = workers.filter(isCpu)
      const accelerators = workers.filter((workerId) => !isCpu(workerId))
      if (cpus.length === 0 || accelerators.length === 0) return
      const total = (all: readonly bigint[]): number =>
        all.reduce((sum, workerId) => sum + loadOf(rows, workerId), 0)
      // In whole numbers, without the division.
      const hasRoom = (total(cpus) + 1) * ratio * accelerators.length <= total(accelerators) * cpus.length
      expect(isCpu(BigInt(id))).toBe(hasRoom)
    })
    fc.assert(property, settings)
  })
})
