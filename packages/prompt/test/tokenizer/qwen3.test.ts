import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { PromptTokenizer } from '../../src/tokenizer/prompt-tokenizer.js'
import { checkProperties } from '../tokenizers/properties.js'
import { differingCases } from '../tokenizers/recorded.js'
import { qwen3Folder } from './support/qwen3.js'
import { read } from './support/small-tokenizer.js'

const tokenizer = PromptTokenizer.load(qwen3Folder)

it('ids and rendered chats of Qwen3 are those of the Rust library and of Jinja in Python', () => {
  const recorded = readFileSync(new URL('../tokenizers/digests/qwen3.json', import.meta.url), 'utf8')
  expect(tokenizer.wholeReason).toBeUndefined()
  expect(tokenizer.vocabularySize).toBe(151_669)
  expect(differingCases(tokenizer, JSON.parse(recorded) as string[])).toEqual([])
  // And once more, now from the cache.
  expect(differingCases(tokenizer, JSON.parse(recorded) as string[])).toEqual([])
})

it('lone surrogates and bytes that are no UTF-8 have tokens, the same from the cache', () => {
  const surrogate = '{"prompt": "a\\ud83d b\\udc00"}'
  const first = read(tokenizer, 'completions', surrogate)
  expect(read(tokenizer, 'completions', surrogate)).toEqual({ ...first, reusedTokens: first.tokens.length })
  const replaced = read(tokenizer, 'completions', { prompt: 'a\ufffd b\ufffd' })
  expect([...first.tokens]).toEqual([...replaced.tokens])
  const bytes = Uint8Array.from(
    [...'{"prompt": "a'].map((one) => one.charCodeAt(0)).concat(0xff, 0x20, 0x62, 0xc3, 0x22, 0x7d),
  )
  expect([...read(tokenizer, 'completions', bytes).tokens]).toEqual([...replaced.tokens])
})

it('ids of prompts that are put together from cached parts are those of the whole text', () => {
  const counts = checkProperties(qwen3Folder, { numRuns: 40, seed: 5 })
  expect(counts.refused).toBeLessThan(counts.prompts / 10)
  expect(counts.reusedTokens / counts.tokens).toBeGreaterThan(0.1)
})
