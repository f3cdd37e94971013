import { WorkerTable, createSelector } from '@router/core'
import {
  type CapacityOptions,
  type CapacityParameters,
  ReferenceCapacitySelector,
  type Snapshot,
  builtInCapacityParameters,
  fixture,
} from '@router/reference-selector'
import {
  type ParityImplementation,
  defineRandomParity,
  hostImplementation,
} from '@router/reference-selector/parity'
import type { WorkerRank } from '@router/sdk'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { kvCapacityAwareParameters, kvCapacityAwarePolicy } from '../src/index.js'

const implementationOn = (webAssembly: boolean): ParityImplementation<CapacityOptions> =>
  hostImplementation(
    { createTable: () => new WorkerTable({ webAssembly }), createSelector },
    ({ parameters, seed }) => ({
      policy: {
        definition: kvCapacityAwarePolicy,
        name: 'capacity',
        configured: { ...parameters },
        parameters: kvCapacityAwareParameters.parse(parameters),
        runtime: false,
      },
      role: 'decode',
      conditionalDisaggregation: false,
      seed,
    }),
  )

const optionsArbitrary: fc.Arbitrary<CapacityOptions> = fc.record({
  parameters: fc.record({
    capacity_fraction: fc.oneof(
      fc.constantFrom(null, 0, 0.29, 0.9, 1, 1.1),
      fc.double({ min: 0, max: 2, noNaN: true }),
    ),
    count_priority: fc.boolean(),
    decode_active_request_weight: fc.oneof(
      fc.constantFrom(0, 5, 32),
      fc.double({ min: 0, max: 40, noNaN: true }),
    ),
    capacity_blocks: fc.constantFrom(null, null, 1, 3, 100, 20_000),
  }),
  seed: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
})

const oracleFor = (options: CapacityOptions): ReferenceCapacitySelector =>
  new ReferenceCapacitySelector(options)

describe.each([
  ['WebAssembly memory', true],
  ['plain memory', false],
])('parity on %s', (_name, webAssembly) => {
  defineRandomParity({ describe, it }, implementationOn(webAssembly), oracleFor, optionsArbitrary, {
    runs: 1000,
  })
})

const rankName = ({ workerId, dpRank }: WorkerRank): string => `${workerId}.${dpRank}`

/** Plays snapshots and returns the ranks newly warned of in each. */
function warningsOf(parameters: Partial<CapacityParameters>, snapshots: readonly Snapshot[]): string[][] {
  const options = { parameters: { ...builtInCapacityParameters, ...parameters }, seed: 7n }
  const subject = implementationOn(true).create(options)
  return snapshots.map((snapshot) => {
    const { warnings } = subject.select(snapshot)
    for (const { code } of warnings) expect(['capacity_unknown', 'role_not_intended']).toContain(code)
    return warnings.flatMap(({ rank }) => (rank === undefined ? [] : [rankName(rank)]))
  })
}

const fleet = (capacities: readonly (number | null)[]): Snapshot => {
  const snapshot = fixture(capacities.length, 127, 16)
  const workers = snapshot.workers.map((worker, id) => ({ ...worker, totalKvBlocks: capacities[id]! }))
  return { ...snapshot, workers }
}
const asQuery = (snapshot: Snapshot): Snapshot => ({
  ...snapshot,
  request: { ...snapshot.request, tracked: false },
})

describe('warnings', () => {
  it('name each rank of unknown capacity once', () => {
    const snapshot = fleet([100, null, 0])
    expect(warningsOf({}, [snapshot, snapshot, fleet([100, null, 0])])).toEqual([
      ['1.0', '1.1', '2.0', '2.1'],
      [],
      [],
    ])
  })

  it('are left out while the filter is off, or capacity_blocks stands in', () => {
    expect(warningsOf({ capacity_fraction: null }, [fleet([null])])).toEqual([[]])
    expect(warningsOf({ capacity_blocks: 100 }, [fleet([null])])).toEqual([[]])
  })

  it('a query neither raises nor spends one', () => {
    const snapshot = fleet([null])
    expect(warningsOf({}, [asQuery(snapshot), asQuery(snapshot), snapshot, asQuery(snapshot)])).toEqual([
      [],
      [],
      ['0.0', '0.1'],
      [],
    ])
  })

  it('a rank that is evaluated later is warned of then', () => {
    const both = fleet([null, null])
    const constraints = { ...both.constraints, overloadedRanks: [{ workerId: 1n, dpRank: 0 }] }
    expect(warningsOf({}, [{ ...both, constraints }, both])).toEqual([['0.0', '0.1', '1.1'], ['1.0']])
  })

  it('a worker that left and came back is warned of again', () => {
    expect(warningsOf({}, [fleet([null, null]), fleet([null]), fleet([null, null])])).toEqual([
      ['0.0', '0.1', '1.0', '1.1'],
      [],
      ['1.0', '1.1'],
    ])
  })

  it('a capacity that is lost is warned of', () => {
    expect(warningsOf({}, [fleet([100]), fleet([null])])).toEqual([[], ['0.0', '0.1']])
  })

  it('equal those of the oracle on random fleets', () => {
    const property = fc.property(
      optionsArbitrary,
      fc.array(fc.option(fc.constantFrom(0, 1, 100)), { maxLength: 6 }),
      (options, capacities) => {
        const snapshot = fleet(capacities)
        const expected = oracleFor(options).select(snapshot).warned
        expect(warningsOf(options.parameters, [snapshot])).toEqual([expected.map(rankName)])
      },
    )
    fc.assert(property, { numRuns: 200, seed: 20_250 })
  })

  it('equal those of a set of names while workers come, go and change', () => {
    const capacity = fc.option(fc.constantFrom(0, 100))
    const fleets = fc.array(fc.array(capacity, { maxLength: 5 }), { minLength: 2, maxLength: 6 })
    const property = fc.property(fleets, (capacities) => {
      const warned = new Set<number>()
      const expected = capacities.map((blocks) => {
        for (const id of warned) if (id >= blocks.length) warned.delete(id)
        const news = blocks.flatMap((value, id) => (value === 100 || warned.has(id) ? [] : [id]))
        for (const id of news) warned.add(id)
        return news.flatMap((id) => [`${id}.0`, `${id}.1`])
      })
      expect(warningsOf({}, capacities.map(fleet))).toEqual(expected)
    })
    fc.assert(property, { numRuns: 300, seed: 20_250 })
  })
})
