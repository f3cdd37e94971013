import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LifetimeRetention } from '../src/approximate/lifetime-retention.js'
import { hashWords, PrefixIndex } from '../src/index.js'
import { LifetimeModel, blocksOf } from './support/approximate-models.js'
import { MatchTable } from './support/match-table.js'

const ranks = [0, 1, 5]
const path = fc.array(fc.bigInt({ min: 1n, max: 2n }), { maxLength: 6 })
const rank = fc.constantFrom(...ranks)

const command = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ op: fc.constant('insert'), rank, path, wait: fc.constantFrom(0, 0, 1, 37, 100) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ op: fc.constant('advance'), by: fc.constantFrom(1, 63, 100, 250, 1000) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant('jump'), by: fc.constantFrom(-1, -150, -5000, Number.NaN) }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('removeRank'), rank }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('expire'), budget: fc.nat({ max: 4 }) }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('query'), path }) },
)

interface Command {
  readonly op: string
  readonly rank?: number
  readonly path?: readonly bigint[]
  readonly wait?: number
  readonly by?: number
  readonly budget?: number
}

function play(commands: readonly Command[], options: { maxBlocks: number; pruneTargetRatio: number }): void {
  const index = new PrefixIndex({ blockSize: 16 })
  const real = new LifetimeRetention(index, { ttlMs: 330, ...options })
  const model = new LifetimeModel({ ttlMs: 330, ...options })
  const table = new MatchTable(6)
  let nowMs = 12
  for (const { op, rank: who = 0, path: blocks = [], wait = 0, by = 0, budget = 0 } of commands) {
    if (op === 'insert') {
      nowMs += wait
      real.insert(who, blocksOf(blocks), nowMs)
      model.insert(who, blocks, nowMs)
    } else if (op === 'advance') nowMs += by
    else if (op === 'jump') {
      // The clock of the machine was set back, and is right again later; the model never hears of it.
      real.expire(nowMs + by)
      real.insert(who, blocksOf([]), nowMs + by)
    } else if (op === 'removeRank') {
      real.removeRank(who)
      model.removeRank(who)
    } else if (op === 'expire') real.expire(nowMs, budget)
    real.lookup(hashWords(blocks), blocks.length, nowMs, table)
    model.expire(nowMs)
    const expected = ranks.map((one) => model.match(one, blocks))
    expect(
      ranks.map((one) => table.all()[one]![0]),
      'matches',
    ).toEqual(expected)
    expect(real.size, 'size').toBe(model.size)
    expect(index.currentSize, 'the index holds what is retained').toBe(model.size)
    expect(
      ranks.map((one) => real.sizeOf(one)),
      'sizes of ranks',
    ).toEqual(ranks.map((one) => model.sizeOf(one)))
  }
}

describe('I4: retention by lifetime equals its rules over random histories', () => {
  test.each([
    ['without a bound that is reached', 1000, 0.8, 300],
    ['with prunes all the time', 10, 0.8, 300],
    ['with prunes to half', 7, 0.5, 150],
    ['with prunes to nothing', 3, 0, 100],
  ])('%s', (_, maxBlocks, pruneTargetRatio, numRuns) => {
    const history = fc.array(command, { maxLength: 60, size: 'max' })
    fc.assert(
      fc.property(history, (commands) => play(commands, { maxBlocks, pruneTargetRatio })),
      { seed: 4_001, numRuns },
    )
  })
})
