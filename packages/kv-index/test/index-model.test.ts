import fc from 'fast-check'
import { describe, test } from 'vitest'
import type { BlockIndex } from '../src/index.js'
import { commands } from './support/commands.js'
import { NaiveIndex } from './support/naive-index.js'

const indexes: [string, () => BlockIndex][] = [['naive', () => new NaiveIndex({ blockSize: 16 })]]

function run(create: () => BlockIndex, numRuns: number, maxCommands: number): void {
  fc.assert(
    fc.property(fc.commands(commands, { maxCommands, size: 'max' }), (drawn) => {
      fc.modelRun(() => ({ model: new NaiveIndex({ blockSize: 16 }), real: create() }), drawn)
    }),
    { seed: 20_240_817, numRuns },
  )
}

describe.each(indexes)('I1: the %s index answers as the naive one', (_, create) => {
  test('after each of a few commands', () => run(create, 300, 30))
  test('after each of a hundred commands', () => run(create, 40, 200))
  test('after each of thousands of commands', () => run(create, 2, 4000))
})
