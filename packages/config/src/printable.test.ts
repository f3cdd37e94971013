import { expect, test } from 'vitest'
import { parseRouterPolicy } from './parse-router-policy.js'
import { printable, printableLines } from './printable.js'

test.each([
  ['plain é 日本', 'plain é 日本'],
  ['\u001B[31m\u0007\u0000\u009B', '\\u001B[31m\\u0007\\u0000\\u009B'],
  ['a\nb\tc\r', 'a\\nb\\tc\\r'],
  ['\u202Eright to left', '\\u202Eright to left'],
])('%j is shown as %j', (text, shown) => {
  expect(printable(text)).toBe(shown)
})

test('lines stay lines', () => {
  expect(printableLines('a\n\u001Bb')).toBe('a\n\\u001Bb')
})

test.each([
  ['a value', 'worker_selection: {aggregated: "\\e[2J\\a\\0"}', "'\\u001B[2J\\u0007\\u0000'"],
  ['a key', '"\\e[2J\\nx": 1', "unknown key '\\u001B[2J\\nx'"],
  ['a key in a path', 'models: {"\\e]": {default_policy_class: 1, what: 2}}', 'models.\\u001B]'],
])('no message has a control character of %s', (_what, text, shown) => {
  let message = ''
  try {
    parseRouterPolicy(text)
  } catch (error) {
    message = (error as Error).message
  }
  expect(message).toContain(shown)
  expect(message.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
})
