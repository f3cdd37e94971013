import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { commands } from './support/commands.js'
import { modelRun } from './support/model-run.js'
import { NaiveIndex } from './support/naive-index.js'
import { exact } from './support/subjects.js'
import { Counting, wrongIndexes } from './support/wrong-indexes.js'

describe.each([exact])('I1: the %s index answers as the naive one', (_, create) => {
  test('after each of a few commands', () => modelRun(create, { runs: 400, commands: 30 }))
  test('after each of a hundred commands', () => modelRun(create, { runs: 60, commands: 300 }))
  test('after each of thousands of commands', () => modelRun(create, { runs: 4, commands: 4000 }))
  test('with many ranks that hold the same', () =>
    modelRun(create, { runs: 30, commands: 60, kind: 'crowd' }))
  test('with runs of thousands of blocks', () => modelRun(create, { runs: 10, commands: 40, kind: 'long' }))
})

test.each(wrongIndexes)('I1: an index that %s is found out', (_, create) => {
  expect(() => modelRun(create, { runs: 100, commands: 100, endOnFailure: true })).toThrow(
    /the naive index says|the columns say/,
  )
})

test('the commands reach what they are for', () => {
  const index = new Counting()
  const drawn = fc.sample(fc.commands(commands, { maxCommands: 3000, size: 'max' }), { seed: 1, numRuns: 5 })
  let longest = 0
  for (const sequence of drawn) {
    fc.modelRun(() => ({ model: new NaiveIndex({ blockSize: 16 }), real: index.restart() }), sequence)
    longest = Math.max(longest, [...sequence].length)
  }
  expect(longest).toBeGreaterThan(1000)
  expect(Object.entries(index.counts).filter(([, count]) => count < 50)).toEqual([])
})
