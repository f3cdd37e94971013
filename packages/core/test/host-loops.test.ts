import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Column, ColumnMemory, type ColumnType } from '../src/column-memory.js'
import { type HostLoops, hostLoopsFor } from '../src/host-loops.js'

const capacity = 40
const guard = 4

/** Columns of one memory, and its loops. */
class Bench {
  readonly loops: HostLoops
  readonly contributions: Column<Float64Array>
  readonly totals: Column<Float64Array>
  readonly reuse: Column<Float64Array>
  readonly out: Column<Float64Array>
  readonly rows: Column<Uint32Array>
  readonly #memory: ColumnMemory

  constructor(webAssembly: boolean) {
    this.#memory = new ColumnMemory(webAssembly)
    this.#memory.reserve(capacity)
    const doubles = (): Column<Float64Array> => this.#memory.column('float64')
    this.contributions = doubles()
    this.totals = doubles()
    this.reuse = doubles()
    this.out = doubles()
    this.rows = this.#memory.column('uint32')
    this.loops = hostLoopsFor(this.#memory)
  }

  column(type: ColumnType): Column {
    return this.#memory.columns([type])[0]!
  }
}

const simd = new Bench(true)
const plain = new Bench(false)
const both = [simd, plain]

const special = fc.constantFrom(
  0,
  -0,
  1,
  -1,
  Number.NaN,
  Infinity,
  -Infinity,
  Number.MAX_VALUE,
  -Number.MAX_VALUE,
  5e-324,
)
const number = fc.oneof(
  { weight: 3, arbitrary: fc.double({ noNaN: true, min: -1e6, max: 1e6 }) },
  { weight: 1, arbitrary: special },
)
const finite = fc.double({ noNaN: true, noDefaultInfinity: true })
const count = fc.nat({ max: 17 })
const list = (value: fc.Arbitrary<number>): fc.Arbitrary<number[]> =>
  fc.array(value, { minLength: capacity, maxLength: capacity })

/** Entries as text, so that -0 differs from 0 and NaN equals NaN. */
const bits = (column: Column): string[] =>
  [...column.view].map((value) => (Object.is(value, -0) ? '-0' : String(value)))

/** Whether both memories hold the same in these columns. */
function expectSame(columns: (bench: Bench) => readonly Column[]): void {
  const [first, second] = both.map((bench) => columns(bench).map(bits))
  expect(first).toEqual(second)
}

it('runs in WebAssembly here, and not without', () => {
  expect(String(simd.loops.maximumReuse)).toContain('kernel')
  expect(String(plain.loops.maximumReuse)).not.toContain('kernel')
})

describe('loops in WebAssembly equal the plain ones bit for bit', () => {
  const property = (name: string, values: fc.Arbitrary<number>) =>
    it(`accumulate and accumulateWithReuse, ${name}`, () => {
      fc.assert(
        fc.property(
          count,
          fc.boolean(),
          list(values),
          list(values),
          list(values),
          fc.boolean(),
          (rows, first, costs, totals, reuse, reuses) => {
            const found = both.map((bench) => {
              bench.contributions.view.set(costs)
              bench.totals.view.set(totals)
              bench.reuse.view.set(reuse)
              bench.out.view.fill(-3)
              const { loops, contributions, out } = bench
              return reuses
                ? loops.accumulateWithReuse(contributions, bench.totals, rows, bench.reuse, out)
                : loops.accumulate(contributions, bench.totals, rows, first)
            })
            expect(found[0]).toBe(found[1])
            expectSame(({ contributions, totals: sums, out }) => [contributions, sums, out])
            // Against the definition, row by row.
            const sums = costs.map((cost, row) => (first || reuses ? 0 : totals[row]!) + cost)
            const bad = sums.slice(0, rows).findIndex((sum) => !Number.isFinite(sum))
            expect(found[0]).toBe(bad)
            expect([...plain.totals.view.subarray(0, capacity)]).toEqual([
              ...sums.slice(0, rows),
              ...totals.slice(rows),
            ])
            expect([...plain.contributions.view.subarray(rows, capacity)]).toEqual(costs.slice(rows))
            expect(plain.contributions.view.subarray(0, rows).every(Number.isNaN)).toBe(true)
          },
        ),
        { seed: 31, numRuns: 300 },
      )
    })
  property('finite columns', finite)
  property('columns with NaN, infinities and -0', number)

  it('maximumReuse', () => {
    fc.assert(
      fc.property(count, list(number), (rows, reuse) => {
        for (const bench of both) {
          bench.reuse.view.set(reuse)
          bench.out.view.fill(-3)
          bench.loops.maximumReuse(rows, bench.reuse, bench.out)
        }
        expectSame(({ out }) => [out])
        const expected = reuse.slice(0, rows).reduce((best, blocks) => (blocks > best ? blocks : best), 0)
        expect(Object.is(plain.out.view[0], expected)).toBe(true)
      }),
      { seed: 32, numRuns: 500 },
    )
  })

  it.each(['float64', 'uint32', 'uint8'] as const)('gather and copyRun of %s columns', (type) => {
    const pairs = both.map((bench) => ({ bench, source: bench.column(type), target: bench.column(type) }))
    const value = type === 'float64' ? number : fc.nat({ max: type === 'uint8' ? 255 : 2 ** 32 - 1 })
    const run = fc.nat({ max: capacity - 17 })
    fc.assert(
      fc.property(
        count,
        list(fc.nat({ max: capacity - 1 })),
        list(value),
        run,
        run,
        (length, rows, values, from, to) => {
          for (const { bench, source, target } of pairs) {
            bench.rows.view.set(rows)
            source.view.set(values)
            target.view.fill(7)
            bench.loops.gather(bench.rows, length, source, target)
          }
          expectTargets(length, 0, rows)
          for (const { bench, source, target } of pairs) {
            target.view.fill(7)
            bench.loops.copyRun(source, from, target, to, length)
          }
          expectTargets(
            length,
            to,
            Array.from({ length }, (_, index) => from + index),
          )
        },
      ),
      { seed: 33, numRuns: 150 },
    )

    function expectTargets(length: number, to: number, rows: readonly number[]): void {
      const [first, second] = pairs.map(({ target }) => bits(target))
      expect(first).toEqual(second)
      const { source, target } = pairs[1]!
      const untouched = [...target.view.subarray(0, to), ...target.view.subarray(to + length)]
      expect(untouched.every((entry) => entry === 7)).toBe(true)
      for (let index = 0; index < length; index++)
        expect(Object.is(target.view[to + index], source.view[rows[index]!])).toBe(true)
    }
  })

  it('leave everything past the last row alone', () => {
    for (let rows = 0; rows <= 17; rows++) {
      for (const bench of both) {
        for (const column of [bench.contributions, bench.totals, bench.reuse]) {
          column.view.fill(Number.MAX_VALUE)
          column.view.fill(1, 0, rows)
        }
        bench.out.view.fill(0)
        expect(
          bench.loops.accumulateWithReuse(bench.contributions, bench.totals, rows, bench.reuse, bench.out),
        ).toBe(-1)
        expect(bench.out.view[0]).toBe(rows === 0 ? 0 : 1)
        expect([...bench.totals.view.subarray(rows, rows + guard)]).toEqual(
          Array.from({ length: guard }, () => Number.MAX_VALUE),
        )
      }
    }
  })
})
