import { WorkerTable, createSelector } from '@router/core'
import {
  type ParityImplementation,
  defineParitySuite,
  hostImplementation,
} from '@router/reference-selector/parity'
import { describe, it } from 'vitest'
import { prefixAffinityParameters, prefixAffinityPolicy } from '../src/index.js'

// All parameters are given, so that every weight of the oracle's cases is met, 0 included.
const implementationOn = (webAssembly: boolean): ParityImplementation =>
  hostImplementation({ createTable: () => new WorkerTable({ webAssembly }), createSelector }, (options) => ({
    policy: {
      definition: prefixAffinityPolicy,
      name: 'affinity',
      configured: { ...options.parameters },
      parameters: prefixAffinityParameters.parse(options.parameters),
      runtime: options.reservesRuntimeInputs ?? false,
    },
    role: options.role,
    conditionalDisaggregation: options.conditionalDisaggregation,
    seed: options.seed,
  }))

describe.each([
  ['WebAssembly memory', true],
  ['plain memory', false],
])('parity on %s', (_name, webAssembly) => {
  defineParitySuite({ describe, it }, implementationOn(webAssembly), { runs: 1000 })
})
