import { describe, expect, it } from 'vitest'
import { takeFigure } from '../src/harness/figure-take.js'
import type { FigureRow, FigureTake, TimedRow } from '../src/harness/figure.js'
import { medianOf, middleTake, runFigures } from '../src/harness/figures-run.js'

const effort = { warmUpMs: 1, timedMs: 5, countedMs: 1, rounds: 3 }

/** A body that takes a known time, whose call is a hundred units of work. */
const spin = (unit: TimedRow['unit'], microseconds = 50): TimedRow => ({
  group: 'spin',
  name: unit,
  unit,
  setup: () => ({
    perCall: 100,
    body: () => {
      const end = performance.now() + microseconds / 1000
      while (performance.now() < end);
      return 1
    },
  }),
})

const computed = (name: string, value: number): FigureRow => ({
  group: 'given',
  name,
  unit: 'bytes',
  compute: () => ({ value, note: 'as given' }),
})

describe('takeFigure', () => {
  it('divides by the units of work and converts to the unit of the row', async () => {
    const [ns, us, rate] = [
      await takeFigure(spin('ns'), effort),
      await takeFigure(spin('us'), effort),
      await takeFigure(spin('M calls/s'), effort),
    ]
    expect(ns.value).toBeGreaterThanOrEqual(500)
    expect(ns.value).toBeLessThan(50_000)
    expect(ns.p99).toBeGreaterThanOrEqual(ns.value)
    expect(us.value).toBeGreaterThanOrEqual(0.5)
    expect(us.value).toBeLessThan(50)
    expect(rate.value).toBeLessThanOrEqual(2)
    expect(rate.value).toBeGreaterThan(0.02)
    expect(rate).not.toHaveProperty('p99')
  })

  it('runs afterwards once after every call and leaves its time out', async () => {
    let isDone = false
    let calls = 0
    const take = await takeFigure(
      {
        group: 'g',
        name: 'n',
        unit: 'ms',
        setup: async () => ({
          perCall: 1,
          body: () => {
            if (isDone) throw new Error('not undone')
            isDone = true
            return ++calls
          },
          afterwards: () => {
            isDone = false
            const end = performance.now() + 2
            while (performance.now() < end);
          },
        }),
      },
      { ...effort, timedMs: 0.01 },
    )
    expect(calls).toBeGreaterThan(1)
    expect(take.value).toBeLessThan(2)
  })

  it('counts the bytes of a unit of work where the row asks for it', async () => {
    const kept: number[][] = []
    const body = (): number => {
      for (let index = 0; index < 10; index++) kept[index] = Array.from({ length: 1000 }, () => index)
      return kept.length
    }
    const row = { group: 'g', name: 'n', unit: 'ns', setup: () => ({ perCall: 10, body }) } as const
    expect(await takeFigure(row, effort)).not.toHaveProperty('bytes')
    const { bytes } = await takeFigure({ ...row, countsBytes: true }, effort)
    expect(bytes).toBeGreaterThan(8000)
    expect(bytes).toBeLessThan(40_000)
  })

  it('passes on what a row computes', async () => {
    expect(await takeFigure(computed('a', 7), effort)).toEqual({ value: 7, note: 'as given' })
  })

  it.each<[string, FigureRow]>([
    ['no number', computed('a', Number.NaN)],
    ['an infinite one', computed('a', Infinity)],
    ['no work', { ...spin('ns'), setup: () => ({ perCall: 0, body: () => 1 }) }],
    [
      'bytes that afterwards would add to',
      {
        ...spin('ns'),
        countsBytes: true,
        setup: () => ({ perCall: 1, body: () => 1, afterwards: () => {} }),
      },
    ],
  ])('refuses a figure of %s', async (_what, row) => {
    await expect(takeFigure(row, effort)).rejects.toThrow()
  })
})

describe('runFigures', () => {
  it('takes the rows in turns and leaves out one that failed', async () => {
    const order: string[] = []
    const rows = ['a', 'b', 'c'].map((name) => computed(name, 1))
    const results = await runFigures(
      rows,
      effort,
      async ({ name }) => {
        order.push(name)
        if (name === 'b' && order.length > 3) throw new Error('b is gone')
        return { value: order.length }
      },
      () => {},
    )
    expect(order.join('')).toBe('abcabcac')
    expect(results.map(({ takes }) => takes.map(({ value }) => value))).toEqual([[1, 4, 7], [], [3, 6, 8]])
    expect(results.map(({ failure }) => failure)).toEqual([undefined, 'b is gone', undefined])
  })
})

describe('medians of rounds', () => {
  const takes: FigureTake[] = [
    { value: 5, p99: 9, note: 'five' },
    { value: 1, p99: 3, note: 'one' },
    { value: 2, p99: 8, note: 'two' },
  ]

  it('are taken of each property', () => {
    expect([medianOf(takes, 'value'), medianOf(takes, 'p99'), medianOf(takes, 'bytes')]).toEqual([
      2,
      8,
      undefined,
    ])
  })

  it('keep the note of the round in the middle', () => {
    expect(middleTake(takes)?.note).toBe('two')
    expect(middleTake([])).toBeUndefined()
  })
})
