import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BlockHasher, BlockHashes, hashesOf } from '@router/kv-index'
import { describe, expect, it } from 'vitest'
import { PromptError } from '../../src/errors.js'
import { JobRunner, type ThreadTokenizer, transferable } from '../../src/threads/job-runner.js'
import type { PromptLayout, ThreadAnswer, ThreadRequest } from '../../src/threads/messages.js'
import type { TokenizedPrompt } from '../../src/tokenizer/tokenized-prompt.js'
import { temporaryFolder } from '../support/stand-in.js'

const plain: PromptLayout = { blockSize: 4, isEagle: false, seed: { low: 1337, high: 0 } }
const tokens = Uint32Array.from({ length: 11 }, (_, index) => 7 * index)

function request(folder: string, layout: PromptLayout | undefined = plain): ThreadRequest {
  return { id: 5, folder, prompt: { endpoint: 'chat', body: new Uint8Array(0), layout } }
}

function tokenizer(prompt: Partial<TokenizedPrompt> | Error): ThreadTokenizer {
  return {
    vocabularySize: 99,
    read: () => {
      if (prompt instanceof Error) throw prompt
      return { tokens, exactTokens: 11, allTokens: 11, reusedTokens: 0, isWhole: false, ...prompt }
    },
  }
}

function promptOf(answer: ThreadAnswer): (ThreadAnswer & { kind: 'done' })['prompt'] {
  if (answer.kind !== 'done') throw new Error(`expected a prompt, got ${answer.kind}`)
  return answer.prompt
}

describe('the hashes of a prompt', () => {
  it.each([
    ['plain', plain, 11, 2],
    ['of another seed', { ...plain, seed: { low: 1, high: 2 } }, 11, 2],
    ['of the speculative layout', { ...plain, isEagle: true }, 9, 2],
    ['of the speculative layout, where the next token is missing', { ...plain, isEagle: true }, 8, 1],
    ['before media', plain, 5, 1],
    ['of no complete block', plain, 3, 0],
  ] as const)('%s', async (_name, layout, exactTokens, blocks) => {
    const runner = new JobRunner(async () => tokenizer({ exactTokens }), 1)
    const prompt = promptOf(await runner.answer(request('', layout)))
    const expected = new BlockHashes()
    new BlockHasher().hash(tokens.subarray(0, exactTokens), layout, expected)
    expect(prompt).toMatchObject({ exactTokens, blockCount: blocks, tokens })
    expect(hashesOf(prompt.local)).toEqual(hashesOf(expected.local, blocks))
    expect(hashesOf(prompt.sequence)).toEqual(hashesOf(expected.sequence, blocks))
  })

  it('and its tokens are given away, while the tokenizer keeps its own', async () => {
    const runner = new JobRunner(async () => tokenizer({}), 1)
    const answer = await runner.answer(request(''))
    structuredClone(answer, { transfer: transferable(answer) })
    expect(promptOf(answer).tokens).toHaveLength(0)
    expect(tokens).toHaveLength(11)
    expect(promptOf(await runner.answer(request(''))).blockCount).toBe(2)
  })
})

describe('what goes wrong', () => {
  it.each([
    [new PromptError('PROMPT_TEMPLATE_FAILED', 'no such role'), 'PROMPT_TEMPLATE_FAILED'],
    [new TypeError('no such thing'), undefined],
  ])('in a prompt: %s', async (error, code) => {
    const runner = new JobRunner(async () => tokenizer(error), 1)
    expect(await runner.answer(request(''))).toEqual({ id: 5, kind: 'failed', code, message: error.message })
  })

  it('in loading is told with a code and a stamp that changes with the files', async () => {
    const folder = temporaryFolder()
    const errors = [new PromptError('PROMPT_TOKENIZER_MISSING', 'none'), new RangeError('too long')]
    const runner = new JobRunner(() => Promise.reject(errors.shift()!), 1)
    const first = await runner.answer(request(folder))
    expect(first).toMatchObject({ kind: 'unavailable', code: 'PROMPT_TOKENIZER_MISSING', message: 'none' })
    writeFileSync(join(folder, 'chat_template.jinja'), '')
    const second = await runner.answer(request(folder))
    expect(second).toMatchObject({ kind: 'unavailable', code: 'PROMPT_TOKENIZER_INVALID' })
    expect((second as { stamp: string }).stamp).not.toBe((first as { stamp: string }).stamp)
  })
})

it('keeps the tokenizers that were used last, and no more than it may', async () => {
  const loads: string[] = []
  const load = async (folder: string): Promise<ThreadTokenizer> => {
    loads.push(folder)
    return tokenizer({})
  }
  const runner = new JobRunner(load, 2)
  for (const folder of ['a', 'b', 'a', 'c', 'a', 'b']) await runner.answer(request(folder))
  expect(loads).toEqual(['a', 'b', 'c', 'b'])
  expect(await runner.answer({ id: 6, folder: 'd', prompt: undefined })).toEqual({
    id: 6,
    kind: 'loaded',
    vocabularySize: 99,
  })
})
