import { describe, expect, it } from 'vitest'
import { PolicyInstance, type RouterWarning, WorkerTable, createSelector } from '../src/index.js'
import { codeOf } from './support/caught.js'
import { request } from './support/hosts.js'
import { resolved } from './support/policies.js'
import { type ObjectLog, weightedPolicy } from './support/weighted-policy.js'

/** Costs of workers 1 and 2 are weight x id, and one more with each selection. */
function setUp(veto?: Parameters<typeof weightedPolicy>[1]) {
  const log: ObjectLog[] = []
  const warnings: RouterWarning[] = []
  const instance = new PolicyInstance(resolved(weightedPolicy(log, veto), { parameters: { weight: 2 } }))
  const table = new WorkerTable()
  for (const workerId of [1n, 2n]) table.upsertWorker({ workerId })
  const selector = createSelector({
    table,
    policy: instance,
    role: 'decode',
    entropy: () => 1n,
    nowMs: () => 0,
    onWarning: (warning) => warnings.push(warning),
  })
  const weights = () => log[0]!.reconfigured.map(({ weight }) => weight)
  const costs = (parameterOverrides?: Record<string, unknown>) => {
    const before = log[0]!.selections
    const { rows } = selector.explain({ ...request(), parameterOverrides })
    return rows.map(({ total }) => total! - before - 1)
  }
  return { instance, selector, costs, weights, warnings }
}

describe('parameters for one selection', () => {
  it('are in force for it alone, in explanations and selections', () => {
    const { instance, selector, costs, weights } = setUp()
    expect([costs(), costs({ weight: 5 }), costs()]).toEqual([
      [2, 4],
      [5, 10],
      [2, 4],
    ])
    selector.select({ ...request(), parameterOverrides: { weight: 0 } })
    expect(weights()).toEqual([5, 2, 0, 2])
    expect([instance.revision, instance.configured]).toEqual([1, { weight: 2 }])
  })

  it('that cannot change while running are left out, and nothing is touched when none is left', () => {
    const { costs, weights, warnings } = setUp()
    expect([costs({ seed: 7, nonsense: 1 }), weights()]).toEqual([[2, 4], []])
    expect([costs({ seed: 7, weight: 3 }), weights()]).toEqual([
      [3, 6],
      [3, 2],
    ])
    expect(warnings).toEqual([])
  })

  it.each([
    ['values that are none', { weight: 11 }],
    ['inputs that were not declared', { weight: 3, cache_weight: 1 }],
  ])('with %s are ignored, with one warning', (_what, parameterOverrides) => {
    const { selector, costs, warnings } = setUp()
    expect(costs(parameterOverrides)).toEqual([2, 4])
    for (const _time of [1, 2]) selector.select({ ...request(), mode: 'tracked', parameterOverrides })
    expect(warnings.map(({ code }) => code)).toEqual(['overrides_refused'])
  })

  it('that the policy throws at are ignored, and its own are in force again', () => {
    const { costs, weights } = setUp((_object, { weight }) => {
      if (weight === 7) throw new Error('seven')
    })
    expect([costs({ weight: 7 }), costs(), weights()]).toEqual([
      [2, 4],
      [2, 4],
      [7, 2],
    ])
  })

  it('are gone after a selection that fails', () => {
    const { selector, costs } = setUp()
    const nobody = { ...request(), allowedWorkerIds: [], parameterOverrides: { weight: 9 } }
    expect(codeOf(() => selector.select(nobody))).toBe('ROUTER_NO_ENDPOINTS')
    expect(costs()).toEqual([2, 4])
  })
})
