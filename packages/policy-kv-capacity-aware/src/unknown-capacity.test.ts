import { type HandMadeRow, type HandMadeViewOptions, handMadeView } from '@router/conformance'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { type BuiltPolicy, build } from '../test/built-policy.js'
import { kvCapacityAwareParameters } from './index.js'

const rank = (worker: number, dpRank: number, totalKvBlocks = 0): HandMadeRow => ({
  workerId: BigInt(worker),
  dpRank,
  totalKvBlocks,
})
const nameOf = ({ workerId, dpRank = 0 }: HandMadeRow): string => `capacity_unknown ${workerId}.${dpRank}`
const announce = (built: BuiltPolicy, rows: readonly HandMadeRow[]): void =>
  built.policy.onWorkersChanged!([...new Set(handMadeView(rows).workers)].map((worker) => worker!))
const patch = (built: BuiltPolicy, parameters: object): void =>
  built.policy.reconfigure!(kvCapacityAwareParameters.parse(parameters) as never)

// The first rank of each worker, from which its record takes the capacity here, advertises one.
const mixed = [rank(0, 3, 10), rank(0, 4), rank(0, 5, 10), rank(1, 0, 10), rank(1, 1), rank(1, 2)]
const ofMixed = ['capacity_unknown 0.4', 'capacity_unknown 1.1', 'capacity_unknown 1.2']
const canonicalRows: HandMadeViewOptions = { writesCanonicalRows: true }

describe.each([
  ['announced', true],
  ['never announced', false],
])('workers with ranks of unlike capacity, %s', (_name, isAnnounced) => {
  let built: BuiltPolicy
  beforeEach(() => {
    built = build()
    if (isAnnounced) announce(built, mixed)
  })

  it.each([
    ['canonical', mixed, {}],
    ['canonical, with canonicalRows', mixed, canonicalRows],
    ['reversed', mixed.toReversed(), {}],
    ['shuffled', [3, 1, 5, 0, 4, 2].map((at) => mixed[at]!), {}],
  ])('each unknown rank is warned of once, rows %s', (_order, rows, options) => {
    for (let selection = 0; selection < 3; selection++) built.run(rows, {}, options)
    expect(built.warnings).toEqual(ofMixed)
  })

  it('an order that changes repeats no warning', () => {
    for (const rows of [mixed, mixed.toReversed(), mixed.toSpliced(1, 1), [mixed[5]!, mixed[3]!]])
      built.run(rows)
    expect(built.warnings).toEqual(ofMixed)
  })

  it('a part of the fleet first, then the rest', () => {
    built.run([mixed[5]!, mixed[0]!])
    expect(built.warnings).toEqual(['capacity_unknown 1.2'])
    built.run(mixed)
    expect(built.warnings.toSorted()).toEqual(ofMixed)
  })

  it('a capacity that is lost without notice is warned of', () => {
    built.run(mixed)
    built.run(mixed.with(0, rank(0, 3)))
    expect(built.warnings).toEqual([...ofMixed, 'capacity_unknown 0.3'])
  })

  it('a query marks nothing, whether it comes first or among others', () => {
    built.run(mixed, { queryOnly: true })
    built.run(mixed.slice(0, 3), { queryOnly: true })
    expect(built.warnings).toEqual([])
    built.run(mixed)
    expect(built.warnings).toEqual(ofMixed)
  })

  it.each([
    ['turns the filter on', { capacity_fraction: null }],
    ['removes capacity_blocks', { capacity_blocks: 5 }],
  ])('a patch that %s warns of ranks that never were', (_what, quiet) => {
    patch(built, quiet)
    built.run(mixed)
    expect(built.warnings).toEqual([])
    for (const parameters of [{}, quiet, {}]) {
      patch(built, parameters)
      built.run(mixed)
    }
    expect(built.warnings).toEqual(ofMixed)
  })
})

describe('another fleet', () => {
  it.each([
    ['of the same size', mixed.map((row) => ({ ...row, workerId: row.workerId + 7n }))],
    ['that is smaller', mixed.slice(3)],
    ['that is larger', [...mixed, rank(2, 0)]],
  ])('%s starts over', (_size, others) => {
    const built = build()
    for (const rows of [mixed, others]) {
      announce(built, rows)
      for (let selection = 0; selection < 2; selection++) built.run(rows)
    }
    const unknown = others.filter(({ totalKvBlocks }) => totalKvBlocks === 0)
    expect(built.warnings).toEqual([...ofMixed, ...unknown.map(nameOf)])
  })

  it('all of whose ranks were warned of is looked through no longer', () => {
    const rows = [rank(1, 0), rank(1, 1)]
    const built = build()
    announce(built, rows)
    built.run(rows)
    const view = handMadeView(rows)
    const spied = new Proxy(view, {
      get: (target, key) => {
        if (key === 'workerIdLow' || key === 'workerId') throw new Error(`${key} was read`)
        return Reflect.get(target, key)
      },
    })
    const pick = () =>
      built.policy.picker.pick({ queryOnly: false } as never, spied as never, new Float64Array(2))
    expect(pick).not.toThrow()
    announce(built, [...rows, rank(2, 0)])
    expect(pick).toThrow('workerIdLow was read')
  })
})

const fleetArbitrary: fc.Arbitrary<HandMadeRow[]> = fc
  .uniqueArray(
    fc.record({
      workerId: fc.constantFrom(0n, 1n, 2n ** 32n, 2n ** 32n + 1n, 2n ** 64n - 1n),
      firstRank: fc.constantFrom(0, 3),
      capacities: fc.array(fc.constantFrom(0, 0, 10, 20), { minLength: 1, maxLength: 4 }),
    }),
    { minLength: 1, selector: ({ workerId }) => workerId },
  )
  .map((workers) =>
    workers.flatMap(({ workerId, firstRank, capacities }) =>
      capacities.map((totalKvBlocks, at) => ({ workerId, dpRank: firstRank + at, totalKvBlocks })),
    ),
  )

/** Another fleet, or a selection: over which rows in which order, of which capacity anew, as a query, with the filter off. */
const stepsArbitrary = fc.array(
  fc.oneof(
    { weight: 1, arbitrary: fc.record({ fleet: fleetArbitrary }) },
    {
      weight: 5,
      arbitrary: fc.record({
        keys: fc.array(fc.nat(1000), { minLength: 20, maxLength: 20 }),
        keepsAll: fc.boolean(),
        lost: fc.option(fc.nat(19)),
        queryOnly: fc.boolean(),
        isOff: fc.boolean(),
        options: fc.constantFrom({}, canonicalRows),
      }),
    },
  ),
  { minLength: 4, maxLength: 14 },
)

describe('warnings of random fleets', () => {
  it('are those of a set of names', () => {
    const property = fc.property(
      fleetArbitrary,
      fc.boolean(),
      stepsArbitrary,
      (first, isAnnounced, steps) => {
        const built = build()
        const expected: string[] = []
        const warned = new Set<string>()
        let fleet = first
        if (isAnnounced) announce(built, fleet)
        for (const step of steps) {
          if ('fleet' in step) {
            fleet = step.fleet
            warned.clear()
            announce(built, fleet)
            continue
          }
          if (step.lost !== null)
            fleet = fleet.map((row, at) => (at === step.lost ? { ...row, totalKvBlocks: 0 } : row))
          const rows = Array.from(fleet, (row, at) => ({ row, key: step.keys[at]! }))
            .filter(({ key }, at) => at === 0 || step.keepsAll || key % 3 > 0)
            .toSorted((a, b) => a.key - b.key)
            .map(({ row }) => row)
          patch(built, step.isOff ? { capacity_fraction: null } : {})
          built.run(rows, { queryOnly: step.queryOnly }, step.options)
          if (step.isOff || step.queryOnly) continue
          const ordered = rows.toSorted((a, b) =>
            a.workerId === b.workerId ? a.dpRank! - b.dpRank! : a.workerId < b.workerId ? -1 : 1,
          )
          for (const row of ordered) {
            if (row.totalKvBlocks !== 0 || warned.has(nameOf(row))) continue
            warned.add(nameOf(row))
            expected.push(nameOf(row))
          }
        }
        expect(built.warnings).toEqual(expected)
      },
    )
    fc.assert(property, { numRuns: 1000, seed: 20_250 })
  })
})
