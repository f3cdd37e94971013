import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { PromptTokenizer } from '../../src/tokenizer/prompt-tokenizer.js'
import { checkProperties } from '../tokenizers/properties.js'
import { differingCases } from '../tokenizers/recorded.js'
import { qwen3Folder } from './support/qwen3.js'

it('ids and rendered chats of Qwen3 are those of the Rust library and of Jinja in Python', () => {
  const recorded = readFileSync(new URL('../tokenizers/digests/qwen3.json', import.meta.url), 'utf8')
  const tokenizer = PromptTokenizer.load(qwen3Folder)
  expect(tokenizer.wholeReason).toBeUndefined()
  expect(tokenizer.vocabularySize).toBe(151_669)
  expect(differingCases(tokenizer, JSON.parse(recorded) as string[])).toEqual([])
  // And once more, now from the cache.
  expect(differingCases(tokenizer, JSON.parse(recorded) as string[])).toEqual([])
})

it('ids of prompts that are put together from cached parts are those of the whole text', () => {
  const counts = checkProperties(qwen3Folder, { numRuns: 60, seed: 5 })
  expect(counts.refused).toBeLessThan(counts.prompts / 10)
  expect(counts.reusedTokens / counts.tokens).toBeGreaterThan(0.1)
})
