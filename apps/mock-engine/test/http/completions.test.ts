import { describe, expect, test } from 'vitest'
import { generationsLimit } from '../../src/http/prompts.js'
import { type Json, ask, eventsOf, serverForTests } from '../support/mock-server.js'

const engine = await serverForTests()
const complete = (body: object) => ask(engine, '/v1/completions', body)
const stream = async (body: object) => eventsOf((await complete({ ...body, stream: true })).text)
const idsOf = async (prompt: string) => (await ask(engine, '/tokenize', { prompt })).json.tokens as number[]

describe('a prompt', () => {
  test('is a text, ids, a list of texts or a list of lists of ids', async () => {
    const text = 'The router asks'
    const ids = await idsOf(text)
    const texts = async (prompt: unknown) =>
      (await complete({ prompt, max_tokens: 4 })).json.choices.map((choice: Json) => choice.text)
    const [said] = await texts(text)
    expect(await texts(ids)).toEqual([said])
    expect(await texts([text, text])).toEqual([said, said])
    expect(await texts([ids, await idsOf('Another')])).toEqual([said, expect.not.stringContaining(said)])
    const { json } = await complete({ prompt: [ids, ids], max_tokens: 4 })
    expect(json).toMatchObject({
      id: expect.stringMatching(/^cmpl-/u),
      object: 'text_completion',
      choices: [
        { index: 0, finish_reason: 'length', stop_reason: null, logprobs: null },
        { index: 1, finish_reason: 'length' },
      ],
      usage: { prompt_tokens: 2 * ids.length, completion_tokens: 8, total_tokens: 2 * ids.length + 8 },
    })
  })

  test('comes with so many others at most, choices counted', async () => {
    expect(generationsLimit).toBe(10_000)
    const refusal = async (path: string, body: object) => (await ask(engine, path, body)).json.error
    const many = Array.from({ length: 10_001 }, () => 'x')
    for (const [path, body] of [
      ['/v1/completions', { prompt: many }],
      ['/v1/completions', { prompt: many.slice(0, 100), n: 101 }],
      ['/v1/completions', { prompt: many.slice(0, 100), best_of: 101 }],
      ['/v1/embeddings', { input: many }],
      ['/v1/rerank', { query: 'x', documents: many }],
      ['/v1/score', { text_1: 'x', text_2: many }],
    ] as const)
      expect((await refusal(path, body)).message, path).toMatch(/^a request may have 10000 .*, got \d+$/u)
    expect((await complete({ prompt: many.slice(0, 100), n: 2, max_tokens: 1 })).json.choices).toHaveLength(
      200,
    )
  })

  test('has 16 tokens said to it unless told otherwise', async () => {
    const { json } = await complete({ prompt: 'x' })
    expect([json.usage.completion_tokens, json.choices[0].finish_reason]).toEqual([16, 'length'])
  })

  test.each([
    ['nothing', ''],
    ['no ids', []],
    ['no text among texts', ['a', '']],
    ['a negative id', [-1]],
    ['a fraction', [1.5]],
    ['an id above the vocabulary', [1e9]],
    ['ids and texts', ['a', 1]],
    ['an object', {}],
    ['null', null],
  ])('is refused where it is %s', async (_what, prompt) => {
    const { status, json } = await complete({ prompt })
    expect([status, json.error.code]).toEqual([400, 400])
  })
})

describe('options', () => {
  test('echo repeats the prompt, also with nothing behind it and with log probabilities', async () => {
    const prompt = 'The router asks'
    const ids = await idsOf(prompt)
    const { json } = await complete({ prompt, echo: true, max_tokens: 3, logprobs: 2 })
    const [choice] = json.choices
    expect(choice.text.startsWith(prompt)).toBe(true)
    expect(choice.logprobs.tokens.join('')).toBe(choice.text)
    expect(choice.logprobs.tokens).toHaveLength(ids.length + 3)
    expect(choice.logprobs.token_logprobs[0]).toBeNull()
    expect(choice.logprobs.top_logprobs[0]).toBeNull()
    expect(Object.keys(choice.logprobs.top_logprobs[1])).toHaveLength(2)
    const starts = choice.logprobs.text_offset as number[]
    expect(starts.every((at, index) => choice.text.startsWith(choice.logprobs.tokens[index], at))).toBe(true)
    const only = await complete({ prompt, echo: true, max_tokens: 0 })
    expect(only.json.choices[0]).toMatchObject({ text: prompt, finish_reason: 'length' })
    expect(only.json.usage.completion_tokens).toBe(0)
    expect((await complete({ prompt, max_tokens: 0 })).status).toBe(400)
  })

  test('n and best_of: so many are generated, so many given back', async () => {
    const { json } = await complete({ prompt: ['a', 'b'], n: 2, best_of: 3, max_tokens: 4 })
    expect(json.choices.map((choice: Json) => choice.index)).toEqual([0, 1, 2, 3])
    expect(json.usage.completion_tokens).toBe(2 * 3 * 4)
    const plain = await complete({ prompt: ['a', 'b'], n: 2, max_tokens: 4 })
    expect(json.choices).toEqual(plain.json.choices)
    expect((await complete({ prompt: 'a', n: 2, best_of: 1 })).json.error.param).toBe('best_of')
    expect((await complete({ prompt: 'a', best_of: 2, stream: true })).json.error.param).toBe('best_of')
  })

  test('suffix is refused', async () => {
    expect((await complete({ prompt: 'a', suffix: 'b' })).json.error).toMatchObject({
      code: 400,
      message: 'suffix is not currently supported',
    })
  })
})

describe('a stream', () => {
  test('says what the whole answer says, choice by choice', async () => {
    const body = { prompt: ['The router', 'A cache'], n: 2, echo: true, max_tokens: 5, logprobs: 1 }
    const events = await stream({ ...body, stream_options: { include_usage: true } })
    const whole = (await complete(body)).json
    expect(events.at(-1)).toBe('[DONE]')
    expect(events.at(-2)).toMatchObject({ choices: [], usage: { completion_tokens: 20 } })
    for (const index of [0, 1, 2, 3]) {
      const own = events
        .slice(0, -2)
        .flatMap(({ choices }) => choices.filter((each: Json) => each.index === index))
      expect(own.map((choice: Json) => choice.text).join('')).toBe(whole.choices[index].text)
      expect(own.flatMap((choice: Json) => choice.logprobs.tokens)).toEqual(
        whole.choices[index].logprobs.tokens,
      )
      expect(own.flatMap((choice: Json) => choice.logprobs.text_offset)).toEqual(
        whole.choices[index].logprobs.text_offset,
      )
      expect(own.map((choice: Json) => choice.finish_reason)).toEqual([null, null, null, null, 'length'])
    }
  })

  test('ends on its own with an empty piece', async () => {
    const events = await stream({ prompt: 'x', max_tokens: 100 })
    // As vLLM: every field of a chunk is there, null or not.
    expect(events.at(-2)).toEqual({
      id: events[0].id,
      object: 'text_completion',
      created: events[0].created,
      model: 'mock-model',
      choices: [
        {
          index: 0,
          text: '',
          logprobs: null,
          finish_reason: 'stop',
          stop_reason: null,
          prompt_token_ids: null,
          token_ids: null,
        },
      ],
      usage: null,
    })
    expect(events).toHaveLength(34)
  })
})
