import { expect, test } from 'vitest'
import { suggest } from './suggest.js'

const words = [
  'prefill_load_scale',
  'overlap_score_credit',
  'default',
  'kvca',
  'x',
  'ROUTER_TTL',
  'router-mode',
]

test.each([
  ['prefil_load_scale', 'prefill_load_scale'],
  ['Default', 'default'],
  [' default ', 'default'],
  ['kvac', 'kvca'],
  ['overlap_score_credti', 'overlap_score_credit'],
  ['overlap_score_credits', 'overlap_score_credit'],
  ['overlap_scores_credit', 'overlap_score_credit'],
  ['ROUTER_TTI', 'ROUTER_TTL'],
  ['ROUTR_TTL', 'ROUTER_TTL'],
  ['router-mod', 'router-mode'],
])('%s is near %s', (typed, wanted) => {
  expect(suggest(typed, words)).toBe(wanted)
})

test.each(['temperature', 'y', '', 'kv', 'ROUTER_FOO', 'router-foo', 'router-made-up'])(
  'nothing is near %s',
  (typed) => {
    expect(suggest(typed, words)).toBeUndefined()
  },
)

test('the nearest of several wins, the first of equals', () => {
  expect(suggest('abcdef', ['abcxyf', 'abcdxf', 'abcdef1'])).toBe('abcdxf')
})
