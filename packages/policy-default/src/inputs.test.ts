import { type InputScope, type RouterDefaults, routerDefaults, workerRoles } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { combinations } from '../test/column-fleet.js'
import { defaultCostInputs } from './inputs.js'
import { defaultPolicy } from './policy.js'

const loadOnly = ['load', 'preferredTaint']
const withCache = ['load', 'preferredTaint', 'cache']

interface Case extends Omit<InputScope, 'routerDefaults'> {
  readonly credit: number
  readonly affinity: number
  /** Where the two numbers come from. */
  readonly from: 'parameters' | 'router'
}

function inputsOf({ credit, affinity, from, ...scope }: Case): readonly string[] {
  const numbers: Partial<RouterDefaults> = { overlap_score_credit: credit, prefix_affinity_weight: affinity }
  // The other source says the opposite and must not matter.
  const opposite = { overlap_score_credit: 1 - credit, prefix_affinity_weight: 4 - affinity }
  return from === 'parameters'
    ? defaultCostInputs(numbers, { ...scope, routerDefaults: { ...routerDefaults, ...opposite } })
    : defaultCostInputs({}, { ...scope, routerDefaults: { ...routerDefaults, ...numbers } })
}

const cases = combinations<Case>({
  role: workerRoles,
  conditionalDisaggregation: [false, true],
  reservesRuntimeInputs: [false, true],
  credit: [0, 1],
  affinity: [0, 4],
  from: ['parameters', 'router'],
})

describe('inputs', () => {
  it('are load and taints, and the cache where it is used or reserved', () => {
    expect(cases).toHaveLength(128)
    for (const one of cases) {
      const plainDecode = one.role === 'decode' && !one.conditionalDisaggregation
      const asksForCache = one.reservesRuntimeInputs || one.credit > 0 || one.affinity > 0
      const expected = !plainDecode && asksForCache ? withCache : loadOnly
      expect(inputsOf(one), JSON.stringify(one)).toEqual(expected)
    }
  })

  it('never depend on another parameter', () => {
    const scope: InputScope = {
      role: 'aggregated',
      conditionalDisaggregation: false,
      reservesRuntimeInputs: false,
      routerDefaults,
    }
    const others = { host_cache_hit_weight: 1, disk_cache_hit_weight: 1, shared_cache_multiplier: 1 }
    expect(defaultCostInputs({ ...others, overlap_score_credit: 0 }, scope)).toEqual(loadOnly)
    expect(defaultPolicy.inputs({ ...others, overlap_score_credit: 0 }, scope)).toEqual(loadOnly)
    expect(defaultPolicy.inputs({}, scope)).toEqual(withCache)
  })
})
