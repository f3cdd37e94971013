import { expect, it } from 'vitest'
import { TokenEstimator } from '../../src/content/token-estimator.js'
import { errorOf } from '../body/support.js'

it('thinks of 4 bytes a token until it has learned better', () => {
  const estimator = new TokenEstimator()
  expect([estimator.ratio('m'), estimator.tokens('m', 4001), estimator.tokens('m', 0)]).toEqual([4, 1001, 0])
  expect(estimator.overlapBlocks('m', 7)).toBe(7)
  expect(estimator.size).toBe(0)
})

it('learns by model, the first counts most', () => {
  const estimator = new TokenEstimator()
  estimator.learn('m', 3000, 1000)
  expect(estimator.ratio('m')).toBe(3.5)
  estimator.learn('m', 3000, 1000)
  expect(estimator.ratio('m')).toBeCloseTo(3.5 - 0.5 / 3, 12)
  for (let count = 0; count < 200; count++) estimator.learn('m', 3000, 1000)
  expect(estimator.ratio('m')).toBeCloseTo(3, 3)
  expect(estimator.ratio('other')).toBe(4)
  estimator.learn('other', 2000, 1000)
  expect(estimator.tokens('m', 3000)).toBe(1000)
})

it('counts overlap in whole blocks, floor(chunks x 4 / ratio)', () => {
  const estimator = new TokenEstimator()
  for (let count = 0; count < 400; count++) {
    estimator.learn('dense', 2000, 1000)
    estimator.learn('loose', 6000, 1000)
  }
  expect([estimator.overlapBlocks('dense', 10), estimator.overlapBlocks('loose', 10)]).toEqual([19, 6])
  expect(estimator.overlapBlocks('loose', 1)).toBe(0)
})

it('is moved little by a count that cannot be right', () => {
  const estimator = new TokenEstimator()
  for (let count = 0; count < 100; count++) estimator.learn('m', 4000, 1000)
  estimator.learn('m', 4000, 100_000)
  estimator.learn('m', 60_000, 1000)
  expect(Math.abs(estimator.ratio('m') - 4)).toBeLessThan(0.25)
  const ratio = estimator.ratio('m')
  for (const [bytes, tokens] of [
    [100, 31],
    [4000, 0],
    [4000, -5],
    [4000, NaN],
    [0, 1000],
    [1e9, 1000],
    [NaN, 100],
  ] as const)
    estimator.learn('m', bytes, tokens)
  expect(estimator.ratio('m')).toBe(ratio)
})

it('forgets the model that was used longest ago', () => {
  const estimator = new TokenEstimator({ capacity: 2 })
  for (const model of ['a', 'b']) estimator.learn(model, 2000, 1000)
  estimator.ratio('a')
  estimator.learn('c', 2000, 1000)
  expect(estimator.size).toBe(2)
  expect(['a', 'b', 'c'].map((model) => estimator.ratio(model))).toEqual([3, 4, 3])
  for (let model = 0; model < 3000; model++) estimator.learn(`model ${model}`, 2000, 1000)
  expect(estimator.size).toBe(2)
  const error = errorOf(() => new TokenEstimator({ capacity: 0 }))
  expect([error.code, error.details]).toEqual(['PROMPT_OPTION_INVALID', { key: 'capacity', value: 0 }])
})
