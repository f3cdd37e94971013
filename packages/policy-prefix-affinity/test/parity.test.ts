import { WorkerTable, createSelector } from '@router/core'
import {
  type ParityImplementation,
  defineParitySuite,
  hostImplementation,
} from '@router/reference-selector/parity'
import { describe, it } from 'vitest'
import { prefixAffinityParameters, prefixAffinityPolicy } from '../src/index.js'

// All parameters are given, so that every weight of the oracle's cases is met, 0 included.
const implementation: ParityImplementation = hostImplementation(
  { createTable: () => new WorkerTable(), createSelector },
  (options) => ({
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
  }),
)

// Kernel and loops are held against each other in policy-default.
defineParitySuite({ describe, it }, implementation, { runs: 200 })
