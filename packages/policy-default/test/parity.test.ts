import { WorkerTable, createSelector } from '@router/core'
import {
  type ParityImplementation,
  defineParitySuite,
  hostImplementation,
} from '@router/reference-selector/parity'
import { describe, it } from 'vitest'
import { defaultParameters, defaultPolicy } from '../src/index.js'

/** As a configured instance, or as the built-in that takes every number from the router. */
const implementationOn = (webAssembly: boolean, inherits: boolean): ParityImplementation =>
  hostImplementation({ createTable: () => new WorkerTable({ webAssembly }), createSelector }, (options) => {
    const configured = inherits ? {} : { ...options.parameters }
    return {
      policy: {
        definition: defaultPolicy,
        name: 'default',
        configured,
        parameters: defaultParameters.parse(configured),
        runtime: options.reservesRuntimeInputs ?? false,
      },
      role: options.role,
      conditionalDisaggregation: options.conditionalDisaggregation,
      ...(inherits ? { routerDefaults: options.parameters } : {}),
      seed: options.seed,
    }
  })

describe('parity of the SIMD kernel, configured parameters', () => {
  defineParitySuite({ describe, it }, implementationOn(true, false), { runs: 250, seed: 3 })
})

describe('parity of the plain loops, inherited parameters', () => {
  defineParitySuite({ describe, it }, implementationOn(false, true), { runs: 250, seed: 4 })
})
