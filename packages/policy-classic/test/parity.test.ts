import type { HandMadeRow } from '@router/conformance'
import { SelectionError, WyRand } from '@router/sdk'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { policies } from '../src/index.js'
import { build } from './built-policy.js'
import { Oracle, type OracleRequest } from './oracle.js'

const ids = [3n, 9n, 10n, 2n ** 32n, 2n ** 32n + 3n, 2n ** 64n - 1n]

const rowArbitrary: fc.Arbitrary<HandMadeRow> = fc.record({
  workerId: fc.constantFrom(...ids),
  dpRank: fc.nat(3),
  reservations: fc.oneof({ weight: 4, arbitrary: fc.nat(4) }, { weight: 1, arbitrary: fc.nat(2 ** 32 - 1) }),
  cacheHits: fc.nat(3),
  worker: fc.constantFrom({ deviceKind: 'cpu' } as const, { deviceKind: 'accelerator' } as const, {}),
})
const rowsArbitrary = fc.uniqueArray(rowArbitrary, {
  minLength: 1,
  maxLength: 12,
  selector: ({ workerId, dpRank }) => `${workerId}.${dpRank}`,
})
const requestArbitrary: fc.Arbitrary<OracleRequest> = fc.record(
  {
    target: fc.record(
      { workerId: fc.constantFrom(...ids), dpRank: fc.nat(3) },
      { requiredKeys: ['workerId'] },
    ),
    queryOnly: fc.constantFrom(true, false),
    requiredCacheHits: fc.nat(4),
  },
  { requiredKeys: [] },
)
/** Some of the ranks are eligible; `leave` = the workers of the others left, and came back. */
const stepArbitrary = fc.record({ rows: rowsArbitrary, request: requestArbitrary, leave: fc.boolean() })

function factsOf({ target, queryOnly = false, requiredCacheHits = 0 }: OracleRequest, pins: boolean) {
  const isExact = pins && target?.dpRank !== undefined
  return {
    queryOnly,
    requiredCacheHits,
    ...(isExact ? { pinnedWorker: { dpRank: 0, ...target } } : { affinityTarget: target }),
  }
}

describe.each(policies.map((policy) => [policy.type, policy] as const))('%s', (type, policy) => {
  it('picks what the rules say, draw for draw, turn for turn', () => {
    const drawn = fc.tuple(
      fc.array(stepArbitrary, { minLength: 1, maxLength: 8 }),
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      fc.constantFrom(1, 1.5, 2, 8),
      fc.boolean(),
    )
    const property = fc.property(drawn, ([steps, seed, ratio, pins]) => {
      const [random, expectedRandom] = [new WyRand(seed), new WyRand(seed)]
      const router = { encoder_cuda_to_cpu_ratio: ratio }
      const built = build(policy, { random, router })
      const oracle = new Oracle(type, expectedRandom, ratio)
      const everybody = steps.flatMap(({ rows }) => rows)
      built.join(everybody)
      for (const { rows, request, leave } of steps) {
        for (const fleet of leave ? [rows, everybody] : []) for (const one of [built, oracle]) one.join(fleet)
        const expected = oracle.pick(rows, request)
        const facts = factsOf(request, pins)
        try {
          const { names } = built.explain(rows, facts)
          const actual = built.pick(rows, facts)
          expect(actual).toBe(expected)
          expect(names).toContain(actual)
        } catch (error) {
          if (typeof expected === 'string') throw error
          const cause = SelectionError.isInstance(error) ? error.cause : error
          expect((cause as Error).message).toBe(expected.refused)
        }
        expect(random.state).toBe(expectedRandom.state)
      }
    })
    fc.assert(property, { numRuns: 250, seed: 20_250 })
  })
})
