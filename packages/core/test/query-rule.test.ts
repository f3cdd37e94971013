import { defaultPolicy } from '@router/policy-default'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { SelectionRequest } from '../src/index.js'
import { codeOf } from './support/caught.js'
import { type Host, hostOf, request, tinyHost } from './support/hosts.js'
import { costsBy } from './support/policies.js'

/** A random picker with two streams, one of which draws in the scorer. */
function randomHost(): Host {
  return tinyHost((_parameters, scope) => {
    const scoring = scope.random(7n)
    const picking = scope.random()
    return {
      scorers: [
        {
          name: 'noise',
          score: (_context, { count }, costs) => {
            for (let row = 0; row < count; row++) costs[row] = scoring.unit()
          },
        },
      ],
      picker: { name: 'any', pick: (_context, { count }) => picking.below(count) },
    }
  })
}

/** Ten equal ranks of the real default policy; a temperature makes every pick a draw. */
function defaultHost(temperature: number): Host {
  return hostOf(defaultPolicy, {
    workers: Array.from({ length: 10 }, (_, id) => ({ workerId: BigInt(id) })),
    role: 'aggregated',
    parameters: { seed: 42, router_temperature: temperature },
  })
}

const subjects: readonly [string, () => Host][] = [
  ['a policy with streams of its own', randomHost],
  ['the default policy, ties', () => defaultHost(0)],
  ['the default policy, temperature 0.7', () => defaultHost(0.7)],
]

describe.each(subjects)('queries of %s', (_name, build) => {
  const picks = (host: Host, count: number): string[] => Array.from({ length: count }, () => host.select())

  it('return what a tracked selection would, and leave no trace in the sequence', () => {
    const expected = picks(build(), 60)
    expect(new Set(expected).size).toBeGreaterThan(1)
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 3 }), { minLength: 60, maxLength: 60 }), (queries) => {
        const host = build()
        const found = queries.map((count) => {
          const asked = Array.from({ length: count }, (_, index) =>
            index === 1
              ? host.selector.explain(request()).chosen!.workerId
              : host.selector.select(request({ mode: 'query' })).workerId,
          )
          const tracked = host.select()
          expect(new Set(asked.map((id) => `${id}.0`)).size).toBeLessThanOrEqual(1)
          if (count > 0) expect(`${asked[0]}.0`).toBe(tracked)
          return tracked
        })
        expect(found).toEqual(expected)
      }),
      { seed: 5, numRuns: 8 },
    )
  })

  it('that fail leave no trace either', () => {
    const expected = picks(build(), 20)
    const host = build()
    const failing: Partial<SelectionRequest>[] = [
      { mode: 'query', allowedWorkerIds: [] },
      { mode: 'query', promptTokens: -1 },
      { mode: 'query', pinnedWorker: { workerId: 99n, dpRank: 0 } },
    ]
    const found = expected.map(() => {
      for (const overrides of failing) expect(codeOf(() => host.select(overrides))).toMatch(/^ROUTER_/u)
      return host.select()
    })
    expect(found).toEqual(expected)
  })
})

describe('a query that fails in the policy', () => {
  it('rewinds the streams that were drawn before the failure', () => {
    let fails = false
    const build = () =>
      tinyHost((_parameters, scope) => {
        const random = scope.random(3n)
        return {
          scorers: [
            costsBy(() => random.unit()),
            {
              name: 'fragile',
              score: (_context, { count }, costs) => {
                if (fails) throw new Error('no')
                costs.fill(0, 0, count)
              },
            },
          ],
          picker: { name: 'any', pick: (_context, { count }) => random.below(count) },
        }
      })
    const expected = Array.from(
      { length: 12 },
      (
        (host) => () =>
          host.select()
      )(build()),
    )
    const host = build()
    const found = expected.map(() => {
      fails = true
      expect(codeOf(() => host.select({ mode: 'query' }))).toBe('ROUTER_POLICY_FAILED')
      expect(host.selector.explain(request()).error?.code).toBe('ROUTER_POLICY_FAILED')
      fails = false
      return host.select()
    })
    expect(found).toEqual(expected)
  })
})

describe('a failed tracked selection', () => {
  it('may have moved state up to the component that failed, so that a retry is a new selection', () => {
    const draws: number[] = []
    const host = tinyHost((_parameters, scope) => {
      const random = scope.random(3n)
      return {
        picker: {
          name: 'any',
          pick: () => {
            draws.push(random.below(1000))
            return draws.length === 1 ? -1 : 0
          },
        },
      }
    })
    expect(codeOf(() => host.select())).toBe('ROUTER_INVALID_PICKER_ROW')
    expect(host.select()).toBe('1.0')
    expect(draws[0]).not.toBe(draws[1])
  })
})

describe('random streams', () => {
  it("without a seed take the host's entropy; all seeds are told, in order", () => {
    const host = tinyHost((_parameters, scope) => {
      scope.random()
      scope.random(99n)
      scope.random()
      return {}
    })
    expect(host.selector.seeds).toEqual([1n, 99n, 2n])
  })

  it('are opened in create, not per selection', () => {
    const host = tinyHost((_parameters, scope) => ({
      picker: { name: 'late', pick: () => scope.random(1n).below(1) },
    }))
    expect(codeOf(() => host.select())).toBe('ROUTER_POLICY_FAILED')
    expect(host.selector.seeds).toEqual([])
  })
})
