import { expect, test } from 'vitest'
import { suggest } from './suggest.js'

const words = ['prefill_load_scale', 'overlap_score_credit', 'default', 'kvca', 'x']

test.each([
  ['prefil_load_scale', 'prefill_load_scale'],
  ['Default', 'default'],
  [' default ', 'default'],
  ['kvac', 'kvca'],
  ['overlap_score_credti', 'overlap_score_credit'],
])('%s is near %s', (typed, wanted) => {
  expect(suggest(typed, words)).toBe(wanted)
})

test.each(['temperature', 'y', '', 'kv'])('nothing is near %s', (typed) => {
  expect(suggest(typed, words)).toBeUndefined()
})

test('the nearest of several wins, the first of equals', () => {
  expect(suggest('abcdef', ['abcxyf', 'abcdxf', 'abcdef1'])).toBe('abcdxf')
})
