import { WorkerTable, createSelector } from '@router/core'
import {
  type ParityImplementation,
  ParityMismatch,
  type ParityOutcome,
  type ParitySubject,
  defineParitySuite,
  hostImplementation,
  printed,
} from '@router/reference-selector/parity'
import { describe, it } from 'vitest'
import { defaultParameters, defaultPolicy } from '../src/index.js'

/** Parameters are those of a configured instance, or all taken from the router as the built-in does. */
const implementationOn = (webAssembly: boolean, inherits: boolean): ParityImplementation =>
  hostImplementation({ createTable: () => new WorkerTable({ webAssembly }), createSelector }, (options) => {
    const configured = inherits ? {} : { ...options.parameters }
    return {
      policy: {
        definition: defaultPolicy,
        name: 'examined',
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

/** The SIMD kernel and the plain loops side by side, so that the slow oracle decides each case once for both. */
const bothKernels: ParityImplementation = {
  create: (options): ParitySubject => {
    const simd = implementationOn(true, false).create(options)
    const plain = implementationOn(false, true).create(options)
    return {
      select: (snapshot) => {
        const outcome = simd.select(snapshot)
        const difference = differenceOf(plain.select(snapshot), outcome)
        if (difference === undefined) return outcome
        throw new ParityMismatch(`plain loops against SIMD, ${difference}\n${printed({ options, snapshot })}`)
      },
      explain: (snapshot) => {
        const [explained, other] = [simd.explain!(snapshot), plain.explain!(snapshot)]
        if (printed(explained) === printed(other)) return explained
        throw new ParityMismatch(`plain loops: ${printed(other)}\nSIMD: ${printed(explained)}`)
      },
    }
  },
}

function differenceOf(plain: ParityOutcome, simd: ParityOutcome): string | undefined {
  const costs = plain.costs ?? []
  const row = costs.findIndex((cost, index) => !Object.is(cost, simd.costs?.[index]))
  if (row >= 0) return `cost of row ${row}: ${printed(costs[row])}, ${printed(simd.costs?.[row])}`
  for (const part of ['result', 'error', 'warnings'] as const)
    if (printed(plain[part]) !== printed(simd[part]))
      return `${part}: ${printed(plain[part])}, ${printed(simd[part])}`
  return undefined
}

describe('parity of both kernels', () => {
  defineParitySuite({ describe, it }, bothKernels, { runs: 150, seed: 3 })
})
