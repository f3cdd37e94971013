import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { testClassifier, testKvHintPolicy, testPolicy } from '../test/support/policies.js'
import { secondCopy } from '../test/support/second-copy.js'
import { classifierMarker, defineClassifier, isClassifierDefinition } from './classifier.js'
import { defineKvHintPolicy, isKvHintPolicyDefinition, kvHintPolicyMarker } from './kv-hint.js'
import { contractVersion } from './stamp.js'

const source = { type: 'x', version: '1.0.0', parameters: z.strictObject({}) }
const kinds = [
  {
    name: 'defineClassifier',
    define: (more: object) => defineClassifier({ ...source, create: () => ({}), ...more }),
    marker: classifierMarker,
    isDefinition: isClassifierDefinition,
    other: testKvHintPolicy('x'),
    foreign: async () => (await secondCopy()).defineClassifier({ ...source, create: () => ({}) }),
  },
  {
    name: 'defineKvHintPolicy',
    define: (more: object) =>
      defineKvHintPolicy({ ...source, create: () => ({ hints: async () => [] }), ...more }),
    marker: kvHintPolicyMarker,
    isDefinition: isKvHintPolicyDefinition,
    other: testClassifier('x'),
    foreign: async () =>
      (await secondCopy()).defineKvHintPolicy({ ...source, create: () => ({ hints: async () => [] }) }),
  },
]

describe.each(kinds)('$name', ({ define, marker, isDefinition, other, foreign }) => {
  it('stamps marker and contract version, fills in what was left out, and freezes', () => {
    const definition = define({})
    expect(definition).toMatchObject({ [marker]: true, contractVersion, aliases: [], package: undefined })
    expect(Object.isFrozen(definition)).toBe(true)
  })

  it('keeps what was given', () => {
    const given = {
      aliases: ['y'],
      package: '@acme/x',
      version: '2.0.0',
      create: () => ({ hints: async () => [] }),
    }
    const definition = define(given)
    expect(definition).toMatchObject({ type: 'x', ...given })
    expect(definition.parameters).toBe(source.parameters)
    expect(definition.create).toBe(given.create)
  })

  it('is recognised across two installed copies, and from other kinds', async () => {
    expect(isDefinition(define({}))).toBe(true)
    expect(isDefinition(await foreign())).toBe(true)
    for (const value of [other, testPolicy('x'), source, { [marker]: 1 }, undefined, null, 'x']) {
      expect(isDefinition(value)).toBe(false)
    }
  })
})
