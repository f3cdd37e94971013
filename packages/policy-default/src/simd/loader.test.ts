/// <reference types="node" />
import { fileURLToPath } from 'node:url'
import { TestMemory, handMadeView } from '@router/conformance'
import { sharedHitsFrom, WyRand } from '@router/sdk'
import { buildSimd } from '@router/tooling/build-simd'
import { describe, expect, it } from 'vitest'
import {
  ColumnFleet,
  type FleetFlags,
  type FleetShape,
  type TermsOptions,
  combinations,
  termsOf,
} from '../../test/column-fleet.js'
import { ColumnPlaces } from '../column-places.js'
import { addRequestAndAffinity, minimumActivePrefill, scoreKnownRows, scoreRows } from '../kernel.js'
import { moduleHex } from './kernel-module.js'
import { SimdKernel } from './loader.js'

const capacity = 41
const memory = new TestMemory()
const simd = SimdKernel.over(memory)!
memory.reserveRows(capacity)
const fleet = new ColumnFleet(memory, capacity)
const places = new ColumnPlaces()
const poisons = [NaN, -1e300]

/** Left-overs of two kinds: NaN spreads into whatever reads it, -1e300 would win every minimum. */
interface Case extends TermsOptions, FleetFlags {
  readonly count: number
  readonly shape?: FleetShape
  readonly hasUnknown?: boolean
}

/** Scores random rows by every loop that may, and compares every entry of the cost column, those past the rows included. */
function check(one: Case, random: WyRand): void {
  const { count, shape = 'ordinary', hasUnknown = false } = one
  for (const poison of poisons) {
    fleet.fill(count, random, shape, hasUnknown, poison)
    const candidates = fleet.candidates(count, one)
    const terms = termsOf(candidates, one)
    if (!SimdKernel.canScore(terms, candidates)) throw new Error(`not for the kernel: ${JSON.stringify(one)}`)
    const { costs } = fleet.doubles
    const expected = costs.slice()
    scoreRows(terms, candidates, terms.usesDecay ? minimumActivePrefill(candidates) : NaN, 0, expected)
    places.locate(candidates, costs)
    simd.score(terms, candidates, places, costs)
    requireSame(expected, { ...one, poison, loop: 'simd' })
    const isKnown = candidates.load.allAvailable && candidates.cache!.allAvailable
    if (!isKnown || !terms.tracks || terms.usesDecay || terms.appliesTaints) continue
    costs.fill(NaN, 0, count)
    scoreKnownRows(terms, count, places)
    if (terms.addsRequestOrAffinity) addRequestAndAffinity(terms, count, places)
    requireSame(expected, { ...one, poison, loop: 'scoreKnownRows' })
  }
}

function requireSame(expected: Float64Array, context: object): void {
  const { costs } = fleet.doubles
  const row = expected.findIndex((cost, index) => !Object.is(cost, costs[index]))
  if (row < 0) return
  const facts = Object.fromEntries(Object.entries(fleet.doubles).map(([name, column]) => [name, column[row]]))
  expect([...costs], JSON.stringify({ ...context, row, facts })).toEqual([...expected])
}

/** Each mode of the kernel, by what a request and its rows are like. */
const modes: Record<string, Omit<Case, 'count'>> = {
  'exact, no decay': {},
  'exact, decay': { promptTokens: 1024, weights: { overlap_score_credit_decay: 0.6 } },
  'general, no decay': { blockSize: 17 },
  'general, decay': { blockSize: 17, weights: { overlap_score_credit_decay: 0.6 } },
  'general, decay over a request whose blocks are no power of two': {
    promptTokens: 1000,
    weights: { overlap_score_credit_decay: 0.6 },
  },
  'unknown rows': { hasUnknown: true },
  'unknown rows, decay': { hasUnknown: true, weights: { overlap_score_credit_decay: 2 } },
  'cache-aware decode': { tracks: false },
  'cache-aware decode, unknown rows': { tracks: false, hasUnknown: true },
  'credit 0 with an affinity weight': { weights: { overlap_score_credit: 0, prefix_affinity_weight: 4 } },
  'empty prompt': { promptTokens: 0, weights: { overlap_score_credit_decay: 0.6 } },
}

const extras = combinations<{ requestWeight: number; affinity: number; taints: boolean; tiers: boolean }>({
  requestWeight: [0, 0.7],
  affinity: [0, 0.25],
  taints: [false, true],
  tiers: [false, true],
})

describe('the SIMD kernel and the loop over known rows equal the general loop bit for bit', () => {
  it.each(Object.entries(modes))('%s: every term, 1 to 33 rows', (_name, mode) => {
    const random = new WyRand(1n)
    for (let count = 1; count <= 33; count++) {
      for (const [index, { requestWeight, affinity, taints, tiers }] of extras.entries()) {
        // Every combination meets every third count, odd and even ones.
        if ((index + count) % 3 !== 0) continue
        const weights = {
          decode_active_request_weight: requestWeight,
          ...(affinity === 0 ? {} : { prefix_affinity_weight: affinity }),
          ...mode.weights,
        }
        check({ ...mode, count, weights, appliesTaints: taints, hasTierMatches: tiers }, random)
      }
    }
  })

  it.each(Array.from({ length: 64 }, (_, index) => index + 1))('block size %i', (blockSize) => {
    const random = new WyRand(BigInt(blockSize))
    for (const overlap_score_credit_decay of [0, 1]) {
      for (const hasUnknown of [false, true]) {
        for (const tracks of [true, false]) {
          for (const promptTokens of [0, blockSize, blockSize * 8, 999, 4096]) {
            const count = 1 + random.below(33)
            const weights = { overlap_score_credit_decay, prefill_load_scale: random.unit() * 3 }
            check({ count, blockSize, promptTokens, hasUnknown, tracks, weights }, random)
          }
        }
      }
    }
  })

  it('block sizes and prompts that no 32-bit integer holds', () => {
    const random = new WyRand(5n)
    const powers = Array.from({ length: 32 }, (_, power) => 2 ** power)
    // The lower halves of these are powers of two, or 0.
    const wide = [...powers.map((power) => 2 ** 32 + power), 2 ** 31, 2 ** 32, 3 * 2 ** 32, 2 ** 52]
    for (const blockSize of wide)
      for (const overlap_score_credit_decay of [0, 1])
        check(
          {
            count: 33,
            blockSize,
            promptTokens: 2 ** 53 - 1 - random.below(9999),
            weights: { overlap_score_credit_decay },
          },
          random,
        )
    const weights = { overlap_score_credit_decay: 1e6 }
    for (const promptTokens of wide) check({ count: 33, blockSize: 1, promptTokens, weights }, random)
  })

  it('values near the largest double, and the infinities and NaN that they end in', () => {
    const random = new WyRand(6n)
    const weights = [0, 0.25, 1, 1e300, Number.MAX_VALUE]
    let overflows = 0
    for (let round = 0; round < 1500; round++) {
      const weight = (): number => weights[random.below(weights.length)]!
      const one: Case = {
        count: 1 + random.below(9),
        shape: 'huge',
        blockSize: [16, 17][random.below(2)]!,
        hasUnknown: random.below(3) === 0,
        tracks: random.below(3) !== 0,
        appliesTaints: random.below(2) === 0,
        weights: {
          overlap_score_credit: 1 + weight(),
          overlap_score_credit_decay: weight(),
          prefill_load_scale: weight(),
          decode_active_request_weight: weight(),
          host_cache_hit_weight: weight(),
          disk_cache_hit_weight: weight(),
          prefix_affinity_weight: weight(),
        },
      }
      check(one, random)
      if (fleet.doubles.costs.subarray(0, one.count).some((cost) => !Number.isFinite(cost))) overflows++
    }
    expect(overflows).toBeGreaterThan(150)
  })

  it('rows that tie stay tied', () => {
    const random = new WyRand(7n)
    for (let count = 1; count <= 33; count++) check({ count, shape: 'tied' }, random)
  })
})

describe('SimdKernel.score', () => {
  it('reads nothing past the rows: each column in turn at the very end of the memory', () => {
    const inPlace = fleet.doubles
    const weights = {
      overlap_score_credit_decay: 1,
      decode_active_request_weight: 1,
      prefix_affinity_weight: 1,
    }
    const cases = combinations<{
      name: keyof typeof inPlace
      count: number
      tracks: boolean
      tiers: boolean
    }>({
      name: Object.keys(inPlace) as (keyof typeof inPlace)[],
      count: [1, 2, 3, 4, 5],
      tracks: [true, false],
      tiers: [true, false],
    })
    for (const { name, count, tracks, tiers: hasTierMatches } of cases) {
      fleet.fill(count, new WyRand(9n), 'ordinary', false, NaN)
      const flags = { appliesTaints: true, hasTierMatches }
      const candidates = fleet.candidates(count, flags)
      const terms = termsOf(candidates, { tracks, weights })
      const expected = new Float64Array(count)
      scoreRows(terms, candidates, minimumActivePrefill(candidates), 0, expected)

      const { buffer } = memory
      const last = new Float64Array(buffer, buffer.byteLength - count * 8, count)
      last.set(inPlace[name].subarray(0, count))
      fleet.doubles = { ...inPlace, [name]: last }
      const moved = fleet.candidates(count, flags)
      const { costs } = fleet.doubles
      fleet.doubles = inPlace
      const at = new ColumnPlaces()
      expect(at.locate(moved, costs)).toBe(true)
      simd.score(terms, moved, at, costs)
      expect([...costs.subarray(0, count)], name).toEqual([...expected])
    }
  })
})

describe('SimdKernel.canScore', () => {
  it('leaves load-only decode, a prefill label without tracking, and shared hits to the plain loop', () => {
    fleet.fill(1, new WyRand(1n), 'ordinary', false, NaN)
    const candidates = fleet.candidates(1)
    const can = (options: TermsOptions): boolean =>
      SimdKernel.canScore(termsOf(candidates, options), candidates)
    expect(can({})).toBe(true)
    expect(can({ tracks: false })).toBe(true)
    expect(can({ weights: { overlap_score_credit: 0 } })).toBe(false)
    expect(can({ role: 'prefill', tracks: false })).toBe(false)
    const loadOnly = { overlap_score_credit: 0, prefix_affinity_weight: 1 }
    expect(can({ tracks: false, weights: loadOnly })).toBe(false)
    const shared = { ...candidates, cache: { ...candidates.cache!, sharedHits: sharedHitsFrom([[0, 2]]) } }
    expect(SimdKernel.canScore(termsOf(shared), shared)).toBe(false)
  })
})

describe('SimdKernel.over', () => {
  it('is undefined without a WebAssembly memory', () => {
    expect(SimdKernel.over(new TestMemory({ webAssembly: false }))).toBeUndefined()
  })

  it('reads only costs that lie in its memory', () => {
    expect(simd.canRead(fleet.doubles.costs)).toBe(true)
    expect(simd.canRead(fleet.doubles.costs)).toBe(true)
    expect(simd.canRead(new Float64Array(4))).toBe(false)
    expect(simd.canRead(new Float64Array(new TestMemory().buffer, 0, 4))).toBe(false)
  })
})

describe('ColumnPlaces', () => {
  it('finds nothing in a view of separate arrays, or without the cache group', () => {
    const fresh = new ColumnPlaces()
    const separate = handMadeView([{ workerId: 1n }]) as never
    expect(fresh.locate(separate, new Float64Array(1))).toBe(false)
    const { costs } = fleet.doubles
    const candidates = fleet.candidates(1)
    const elsewhere = new ColumnFleet(new TestMemory(), capacity).candidates(1)
    expect(fresh.locate({ ...candidates, cache: undefined } as never, costs)).toBe(false)
    expect(fresh.locate(separate, costs)).toBe(false)
    for (const group of ['load', 'cache', 'preferredTaint'] as const)
      expect(fresh.locate({ ...candidates, [group]: elsewhere[group] } as never, costs), group).toBe(false)
    expect(fresh.locate(candidates, costs)).toBe(true)
  })

  it('follows the costs to another column of the same rows', () => {
    const at = new ColumnPlaces()
    const { costs, taints } = fleet.doubles
    const candidates = fleet.candidates(1)
    at.locate(candidates, costs)
    at.locate(candidates, taints)
    expect(at.costs).toBe(taints.byteOffset)
  })

  it('follows columns that moved with their memory', () => {
    const own = new TestMemory({ pages: 1 })
    const kernel = SimdKernel.over(own)!
    const moving = new ColumnFleet(own, 7)
    const at = new ColumnPlaces()
    const costsOf = (): number[] => {
      moving.fill(7, new WyRand(3n), 'ordinary', false, NaN)
      const candidates = moving.candidates(7)
      const { costs } = moving.doubles
      expect(at.locate(candidates, costs) && kernel.canRead(costs)).toBe(true)
      kernel.score(termsOf(candidates), candidates, at, costs)
      return [...costs]
    }
    const first = costsOf()
    own.allocate(1000)
    moving.place()
    expect(costsOf()).toEqual(first)
    own.grow()
    moving.place()
    expect(costsOf()).toEqual(first)
  })
})

describe('the WebAssembly module', () => {
  it('is what its source compiles to', async () => {
    const built = await buildSimd(fileURLToPath(new URL('../..', import.meta.url)))
    expect(built.map(({ file }) => file)).toEqual([
      fileURLToPath(new URL('kernel-module.ts', import.meta.url)),
    ])
    const hex = built[0]!.text.match(/'[0-9a-f]+'/gu)!.map((line) => line.slice(1, -1))
    expect(moduleHex).toBe(hex.join(''))
  })

  it('stays below 4,096 bytes, beyond which browsers refuse to compile it synchronously', () => {
    expect(moduleHex.length / 2).toBeLessThan(4096)
  })
})
