import { afterEach, describe, expect, it, vi } from 'vitest'
import { takeFigure } from '../src/harness/figure-take.js'
import type { FigureRow, FigureTake, TimedRow } from '../src/harness/figure.js'
import { medianOf, middleTake, runFigures } from '../src/harness/figures-run.js'

const effort = { warmUpMs: 1, timedMs: 5, countedMs: 1, rounds: 3 }

let nowMs = 0
const stopsTheClock = (): void => {
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
}
afterEach(() => vi.restoreAllMocks())

/** A call takes 50 us of the stopped clock and is a hundred units of work. */
const known = (unit: TimedRow['unit']): TimedRow => ({
  group: 'known',
  name: unit,
  unit,
  setup: () => ({ perCall: 100, body: () => (nowMs += 0.05) | 0 }),
})

const computed = (name: string, value: number): FigureRow => ({
  group: 'given',
  name,
  unit: 'bytes',
  compute: () => ({ value, note: 'as given' }),
})

describe('takeFigure', () => {
  it.each([
    ['ns', 500],
    ['us', 0.5],
    ['ms', 0.0005],
    ['M calls/s', 2],
  ] as const)('divides by the units of work and converts to %s', async (unit, expected) => {
    stopsTheClock()
    const { value, p99 } = await takeFigure(known(unit), effort)
    expect(value).toBeCloseTo(expected, 9)
    if (unit === 'M calls/s') expect(p99).toBeUndefined()
    else expect(p99).toBeCloseTo(expected, 9)
  })

  it('takes the median of times and the mean of rates', async () => {
    stopsTheClock()
    let call = 0
    const body = (): number => (nowMs += ++call % 4 === 0 ? 0.5 : 0.1) | 0
    const row = { group: 'g', name: 'n', setup: () => ({ perCall: 1, body, afterwards: () => {} }) }
    expect((await takeFigure({ ...row, unit: 'us' }, { ...effort, timedMs: 80 })).value).toBeCloseTo(100, 6)
    const rate = await takeFigure({ ...row, unit: 'M calls/s' }, { ...effort, timedMs: 80 })
    expect(rate.value).toBeCloseTo(1 / 200, 4)
  })

  it('runs afterwards once after every call and leaves its time out', async () => {
    stopsTheClock()
    let isDone = false
    let calls = 0
    const body = (): number => {
      if (isDone) throw new Error('not undone')
      isDone = true
      nowMs += 0.001
      return ++calls
    }
    const afterwards = (): void => {
      isDone = false
      nowMs += 2
    }
    const row = { group: 'g', name: 'n', setup: async () => ({ perCall: 1, body, afterwards }) }
    expect((await takeFigure({ ...row, unit: 'us' }, effort)).value).toBeCloseTo(1, 6)
    expect((await takeFigure({ ...row, unit: 'M calls/s' }, effort)).value).toBeCloseTo(1, 6)
    expect(calls).toBeGreaterThan(1)
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
    ['no work', { ...known('ns'), setup: () => ({ perCall: 0, body: () => 1 }) }],
    [
      'bytes that afterwards would add to',
      {
        ...known('ns'),
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
