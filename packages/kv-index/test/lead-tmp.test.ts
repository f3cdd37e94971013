import { describe, test } from 'vitest'
import { PrefixIndex } from '../src/index.js'
import { modelRun } from './support/model-run.js'

const create = () => new PrefixIndex({ blockSize: 16 })
describe('mine', () => {
  test('few', () => modelRun(create, { runs: 400, commands: 30 }))
  test('hundred', () => modelRun(create, { runs: 100, commands: 300 }))
  test('thousands', () => modelRun(create, { runs: 6, commands: 5000 }))
  test('crowd', () => modelRun(create, { runs: 30, commands: 60, kind: 'crowd' }))
  test('long', () => modelRun(create, { runs: 10, commands: 40, kind: 'long' }))
})
