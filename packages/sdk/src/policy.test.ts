import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { testPolicy } from '../test/support/policies.js'
import { secondCopy } from '../test/support/second-copy.js'
import { definePolicy, isPolicyDefinition, policyMarker } from './policy.js'
import { routerDefaults } from './router-defaults.js'
import type { InputScope } from './scope.js'
import { contractVersion } from './stamp.js'

const scope: InputScope = {
  role: 'decode',
  conditionalDisaggregation: false,
  routerDefaults,
  reservesRuntimeInputs: false,
}

describe('definePolicy', () => {
  it('stamps marker and contract version, and fills in what was left out', () => {
    const policy = testPolicy('least-loaded')
    expect(policy).toMatchObject({
      [policyMarker]: true,
      contractVersion,
      type: 'least-loaded',
      aliases: [],
      package: undefined,
      occupancyAdmission: 'always',
      runtime: [],
    })
  })

  it('keeps what was given', () => {
    const parameters = z.strictObject({ weight: z.number() })
    const create = () => ({ picker: { name: 'first', pick: () => 0 } })
    const policy = definePolicy({
      type: 'a',
      aliases: ['b'],
      package: '@acme/a',
      version: '2.0.0',
      stability: 'beta',
      roles: ['prefill', 'decode'],
      affinity: 'exclusive',
      occupancyAdmission: 'unless-full-hit',
      parameters,
      runtime: ['weight'],
      inputs: ['load'],
      create,
    })
    expect(policy).toMatchObject({
      aliases: ['b'],
      package: '@acme/a',
      version: '2.0.0',
      stability: 'beta',
      roles: ['prefill', 'decode'],
      affinity: 'exclusive',
      occupancyAdmission: 'unless-full-hit',
      runtime: ['weight'],
    })
    expect(policy.parameters).toBe(parameters)
    expect(policy.create).toBe(create)
  })

  it('makes constant inputs a function, and passes parameters and scope to one that was given', () => {
    expect(definePolicy({ ...source, inputs: ['load', 'capacity'] }).inputs({}, scope)).toEqual([
      'load',
      'capacity',
    ])
    const dependent = definePolicy({
      ...source,
      parameters: z.strictObject({ credit: z.number() }),
      inputs: ({ credit }, { reservesRuntimeInputs }) =>
        credit > 0 || reservesRuntimeInputs ? ['load', 'cache'] : ['load'],
    })
    expect(dependent.inputs({ credit: 0 }, scope)).toEqual(['load'])
    expect(dependent.inputs({ credit: 1 }, scope)).toEqual(['load', 'cache'])
    expect(dependent.inputs({ credit: 0 }, { ...scope, reservesRuntimeInputs: true })).toEqual([
      'load',
      'cache',
    ])
  })

  it('is frozen', () => {
    expect(Object.isFrozen(definePolicy({ ...source, inputs: [] }))).toBe(true)
  })
})

describe('isPolicyDefinition', () => {
  it('recognises policies of a second installed copy', async () => {
    const copy = await secondCopy()
    const foreign = copy.definePolicy({ ...source, inputs: [] })
    expect(copy.definePolicy).not.toBe(definePolicy)
    expect(isPolicyDefinition(foreign)).toBe(true)
    expect(copy.isPolicyDefinition(testPolicy('x'))).toBe(true)
  })

  it.each([
    undefined,
    null,
    'policy',
    () => 0,
    {},
    { ...source, contractVersion: 1 },
    { [policyMarker]: 'true' },
  ])('refuses %s', (value) => {
    expect(isPolicyDefinition(value)).toBe(false)
  })
})

const source = {
  type: 'x',
  version: '1.0.0',
  stability: 'stable',
  roles: ['aggregated'],
  affinity: 'advisory',
  parameters: z.strictObject({}),
  create: () => ({ picker: { name: 'first', pick: () => 0 } }),
} as const
