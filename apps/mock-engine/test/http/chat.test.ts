import { describe, expect, test } from 'vitest'
import { type Json, ask, chat, eventsOf, serverForTests } from '../support/mock-server.js'

const engine = await serverForTests({ loraAdapters: ['adapter-a'], ranks: 2 })
const path = '/v1/chat/completions'
const say = (body: object, headers: Record<string, string> = {}) => ask(engine, path, body, { headers })
const stream = async (body: object) => eventsOf((await say({ ...body, stream: true })).text)

describe('a whole answer', () => {
  test('has the fields of vLLM and no others', async () => {
    const { status, headers, json } = await say(chat('hello', { max_tokens: 4 }))
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/json')
    expect(json).toEqual({
      id: expect.stringMatching(/^chatcmpl-[0-9a-f]{32}$/u),
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'mock-model',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: expect.stringMatching(/^\w+( \w+){3}$/u),
            refusal: null,
            annotations: null,
            audio: null,
            function_call: null,
            tool_calls: [],
            reasoning_content: null,
          },
          logprobs: null,
          finish_reason: 'length',
          stop_reason: null,
          token_ids: null,
        },
      ],
      service_tier: null,
      system_fingerprint: null,
      usage: {
        prompt_tokens: expect.any(Number),
        total_tokens: json.usage.prompt_tokens + 4,
        completion_tokens: 4,
        prompt_tokens_details: { cached_tokens: 0 },
      },
      prompt_logprobs: null,
      prompt_token_ids: null,
      kv_transfer_params: null,
    })
  })

  test('follows from the prompt, the seed and the number of the choice', async () => {
    const texts = async (body: object) =>
      (await say(body)).json.choices.map((choice: Json) => choice.message.content)
    const [first] = await texts(chat('same'))
    expect(await texts(chat('same'))).toEqual([first])
    expect(await texts(chat('other'))).not.toEqual([first])
    expect(await texts(chat('same', { seed: 5 }))).not.toEqual([first])
    const three = await texts(chat('same', { n: 3 }))
    expect(three[0]).toBe(first)
    expect(new Set(three).size).toBe(3)
  })

  test('finds the earlier turns of its conversation in the cache, whole blocks of them', async () => {
    const question = { role: 'user', content: 'Tell me about routers and their caches. '.repeat(5) }
    const headers = { 'x-data-parallel-rank': '1' }
    const one = await say({ messages: [question] }, headers)
    const answer = one.json.choices[0].message
    const messages = [
      question,
      { role: 'assistant', content: answer.content },
      { role: 'user', content: 'go on' },
    ]
    const two = await say({ messages }, headers)
    const { prompt_tokens: prompt, completion_tokens: completion } = one.json.usage
    // The last token was said, but never read by the model.
    expect(two.json.usage.prompt_tokens_details.cached_tokens).toBe(
      Math.floor((prompt + completion - 1) / 16) * 16,
    )
    const elsewhere = await say({ messages }, { 'x-data-parallel-rank': '0' })
    expect(elsewhere.json.usage.prompt_tokens_details.cached_tokens).toBe(0)
  })

  test('of an adapter or with a salt has a cache of its own', async () => {
    const content =
      'One prompt that is long enough for some blocks of the cache, said again and again. '.repeat(4)
    const headers = { 'x-data-parallel-rank': '0' }
    const cached = async (more: object) => {
      const { json } = await say(chat(content, { max_tokens: 1, ...more }), headers)
      return json.usage.prompt_tokens_details.cached_tokens
    }
    expect(await cached({})).toBe(0)
    expect(await cached({})).toBeGreaterThan(0)
    expect(await cached({ model: 'adapter-a' })).toBe(0)
    expect(await cached({ model: 'adapter-a' })).toBeGreaterThan(0)
    expect(await cached({ cache_salt: 'tenant' })).toBe(0)
    expect(await cached({ cache_salt: 'tenant' })).toBeGreaterThan(0)
  })
})

describe('a streamed answer', () => {
  test('is a role, pieces, an end, usage and [DONE]', async () => {
    const events = await stream(chat('hello', { stream_options: { include_usage: true } }))
    expect(events.at(-1)).toBe('[DONE]')
    const chunks = events.slice(0, -1)
    expect(
      new Set(chunks.map(({ id, object, created, model }) => `${id} ${object} ${created} ${model}`)).size,
    ).toBe(1)
    expect(chunks[0]).toMatchObject({
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }],
    })
    const pieces = chunks.slice(1, -2)
    expect(pieces).toHaveLength(32)
    // As vLLM: fields that were set are there even where they are null, the ids of the prompt in the first chunk only.
    expect(chunks[0].prompt_token_ids).toBeNull()
    const head = ['id', 'object', 'created', 'model', 'choices']
    expect(Object.keys(pieces[0])).toEqual(head)
    expect(pieces.every(({ choices }) => choices[0].finish_reason === null)).toBe(true)
    expect(chunks.at(-2)!.choices).toEqual([
      {
        index: 0,
        delta: { content: '' },
        logprobs: null,
        finish_reason: 'stop',
        stop_reason: null,
        token_ids: null,
      },
    ])
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 32 } })
    const whole = await say(chat('hello'))
    const text = pieces.map(({ choices }) => choices[0].delta.content).join('')
    expect(text).toBe(whole.json.choices[0].message.content)
    expect(chunks.at(-1)!.usage.prompt_tokens).toBe(whole.json.usage.prompt_tokens)
  })

  test('ends with its last token where the limit is reached', async () => {
    const events = await stream(chat('hello', { max_tokens: 2 }))
    expect(events.map((event) => event.choices?.[0].finish_reason)).toEqual([null, null, 'length', undefined])
    expect(events[2].choices[0].delta.content).not.toBe('')
  })

  test('counts as it goes with continuous_usage_stats', async () => {
    const options = { include_usage: true, continuous_usage_stats: true }
    const events = await stream(chat('hello', { max_tokens: 2, stream_options: options }))
    const counts = events.slice(0, -1).map(({ usage }) => usage.completion_tokens)
    expect(counts).toEqual([0, 1, 2, 2])
    expect(events[1].usage).not.toHaveProperty('prompt_tokens_details')
    expect(events[3].usage).toHaveProperty('prompt_tokens_details')
    const two = await stream(chat('hello', { n: 2, max_tokens: 2, stream_options: options }))
    // Of its own choice; the last chunk counts all.
    expect(Math.max(...two.slice(0, -2).map(({ usage }) => usage.completion_tokens))).toBe(2)
    expect(two.at(-2).usage.completion_tokens).toBe(4)
  })

  test('has the tokens of every choice, each in order', async () => {
    const body = chat('hello', { n: 3, max_tokens: 5 })
    const chunks = (await stream(body)).slice(0, -1)
    const whole = (await say(body)).json.choices
    for (const index of [0, 1, 2]) {
      const own = chunks.flatMap(({ choices }) => choices).filter((choice: Json) => choice.index === index)
      expect(own[0].delta.role).toBe('assistant')
      expect(own.map((choice: Json) => choice.delta.content).join('')).toBe(whole[index].message.content)
    }
  })
})

describe('limits of an answer', () => {
  const finish = async (more: object) => {
    const { json } = await say(chat('limits', more))
    const { finish_reason: reason, stop_reason: stop, message } = json.choices[0]
    return { tokens: json.usage.completion_tokens, reason, stop, text: message.content }
  }

  test('are its natural end, max_completion_tokens, max_tokens, min_tokens and ignore_eos', async () => {
    expect(await finish({})).toMatchObject({ tokens: 32, reason: 'stop', stop: null })
    expect(await finish({ max_tokens: 32 })).toMatchObject({ tokens: 32, reason: 'length' })
    expect(await finish({ max_tokens: 9, max_completion_tokens: 3 })).toMatchObject({
      tokens: 3,
      reason: 'length',
    })
    expect(await finish({ min_tokens: 40 })).toMatchObject({ tokens: 40, reason: 'stop' })
    expect(await finish({ ignore_eos: true, max_tokens: 70 })).toMatchObject({ tokens: 70, reason: 'length' })
  })

  test('are stop strings and stop tokens, and never before min_tokens', async () => {
    const free = await finish({})
    const [first, second, third] = free.text.split(' ')
    const stop = ` ${third}`
    expect(await finish({ stop })).toMatchObject({
      text: `${first} ${second}`,
      reason: 'stop',
      stop,
      tokens: 3,
    })
    expect(await finish({ stop: ['never said', stop], include_stop_str_in_output: true })).toMatchObject({
      text: `${first} ${second} ${third}`,
      stop,
    })
    const late = await finish({ stop, min_tokens: 3 })
    expect(late.tokens).toBeGreaterThan(3)
    const { json } = await ask(engine, '/tokenize', { prompt: free.text })
    expect(await finish({ stop_token_ids: [json.tokens[1]] })).toMatchObject({
      text: first,
      stop: json.tokens[1],
      tokens: 2,
    })
    const streamed = await stream(chat('limits', { stop }))
    expect(streamed.map((event) => event.choices?.[0].delta.content ?? '').join('')).toBe(
      `${first} ${second}`,
    )
    expect(streamed.at(-2).choices[0]).toMatchObject({ finish_reason: 'stop', stop_reason: stop })
  })

  test('are refused where they contradict or exceed the context', async () => {
    const refusal = async (body: object) => (await say(body)).json.error
    expect(await refusal(chat('x', { max_tokens: 0 }))).toMatchObject({ code: 400, param: 'max_tokens' })
    expect(await refusal(chat('x', { max_tokens: 2, min_tokens: 3 }))).toMatchObject({
      code: 400,
      param: 'min_tokens',
    })
    expect(await refusal(chat('x', { max_tokens: 32_768 }))).toMatchObject({ code: 400, param: 'max_tokens' })
    expect(await refusal(chat('word '.repeat(40_000)))).toMatchObject({
      code: 400,
      type: 'BadRequestError',
      message: expect.stringContaining("This model's maximum context length is 32768 tokens."),
    })
    const truncated = await say(chat('word '.repeat(40_000), { truncate_prompt_tokens: 100 }))
    expect(truncated.json.usage.prompt_tokens).toBe(100)
  })
})

describe('forms of an answer', () => {
  const tools = [
    {
      type: 'function',
      function: {
        name: 'weather',
        parameters: {
          type: 'object',
          properties: { city: { type: 'string', minLength: 3 } },
          required: ['city'],
        },
      },
    },
    { type: 'function', function: { name: 'time' } },
  ]

  test('are calls of tools: the first that is required, or the named one', async () => {
    const required = (await say(chat('call', { tools, tool_choice: 'required' }))).json.choices[0]
    expect(required.finish_reason).toBe('tool_calls')
    expect(required.message.content).toBe('')
    expect(required.message.tool_calls).toEqual([
      {
        id: expect.stringMatching(/^chatcmpl-tool-/u),
        type: 'function',
        function: { name: 'weather', arguments: '{"city":"aaa"}' },
      },
    ])
    const choice = { type: 'function', function: { name: 'time' } }
    const named = (await say(chat('call', { tools, tool_choice: choice }))).json.choices[0]
    expect(named).toMatchObject({
      finish_reason: 'stop',
      message: { tool_calls: [{ function: { name: 'time', arguments: '{}' } }] },
    })
    const auto = (await say(chat('call', { tools }))).json.choices[0]
    expect(auto).toMatchObject({ finish_reason: 'stop', message: { tool_calls: [] } })
    const unknown = await say(
      chat('call', { tools, tool_choice: { type: 'function', function: { name: 'no' } } }),
    )
    expect(unknown.json.error).toMatchObject({ code: 400, param: 'tool_choice' })
  })

  test('are streamed calls, whose arguments come in pieces', async () => {
    const events = (await stream(chat('call', { tools, tool_choice: 'required' }))).slice(1, -1)
    const calls = events.flatMap(({ choices }) => choices[0].delta.tool_calls ?? [])
    expect(calls[0]).toMatchObject({
      index: 0,
      id: expect.any(String),
      type: 'function',
      function: { name: 'weather' },
    })
    expect(
      calls.slice(1).every((call: Json) => call.id === undefined && call.function.name === undefined),
    ).toBe(true)
    expect(calls.map((call: Json) => call.function.arguments).join('')).toBe('{"city":"aaa"}')
    expect(calls.length).toBeGreaterThan(1)
    expect(events.at(-1)!.choices[0].finish_reason).toBe('tool_calls')
  })

  test('are JSON, choices, and nothing that is not simulated', async () => {
    const schema = { type: 'object', properties: { age: { type: 'integer', minimum: 3 } }, required: ['age'] }
    const text = async (more: object) => (await say(chat('form', more))).json.choices[0].message.content
    expect(await text({ response_format: { type: 'json_object' } })).toBe('{}')
    const format = { type: 'json_schema', json_schema: { name: 'person', schema } }
    expect(await text({ response_format: format })).toBe('{"age":3}')
    expect(await text({ guided_json: JSON.stringify(schema) })).toBe('{"age":3}')
    expect(await text({ structured_outputs: { json: schema } })).toBe('{"age":3}')
    expect(await text({ structured_outputs: { choice: ['yes', 'no'] } })).toBe('yes')
    const cut = (await say(chat('form', { response_format: format, max_tokens: 1 }))).json.choices[0]
    expect(cut.finish_reason).toBe('length')
    for (const more of [
      { structured_outputs: { regex: 'a+' } },
      { guided_grammar: 'x' },
      { response_format: { type: 'xml' } },
      { guided_json: '{' },
    ])
      expect(await say(chat('form', more))).toMatchObject({ status: 400 })
  })

  test('are log probabilities, of whole and streamed answers alike', async () => {
    const body = chat('likely', { logprobs: true, top_logprobs: 2, max_tokens: 3 })
    const { content } = (await say(body)).json.choices[0].logprobs
    expect(content).toHaveLength(3)
    expect(content[0].top_logprobs).toHaveLength(2)
    expect(content[0].top_logprobs[0]).toMatchObject({ token: content[0].token, logprob: content[0].logprob })
    expect(Buffer.from(content[0].bytes).toString()).toBe(content[0].token)
    const streamed = (await stream(body)).flatMap((event) => event.choices?.[0].logprobs?.content ?? [])
    expect(streamed).toEqual(content)
    expect((await say(chat('x', { top_logprobs: 2 }))).status).toBe(400)
    expect((await say(chat('x', { logprobs: true, top_logprobs: 21 }))).status).toBe(400)
  })

  test('are ids of tokens with return_token_ids', async () => {
    const { json } = await say(chat('ids', { return_token_ids: true, max_tokens: 3 }))
    const { json: text } = await ask(engine, '/detokenize', { tokens: json.choices[0].token_ids })
    expect(text.prompt).toBe(json.choices[0].message.content)
    expect(json.prompt_token_ids).toHaveLength(json.usage.prompt_tokens)
    const events = await stream(chat('ids', { return_token_ids: true, max_tokens: 3 }))
    expect(events[0].prompt_token_ids).toEqual(json.prompt_token_ids)
    expect(events.slice(1, -1).flatMap(({ choices }) => choices[0].token_ids)).toEqual(
      json.choices[0].token_ids,
    )
  })

  test('repeat the start of an answer that is continued, with echo', async () => {
    const messages = [
      { role: 'user', content: 'Say it' },
      { role: 'assistant', content: 'It is' },
    ]
    const open = { add_generation_prompt: false, continue_final_message: true }
    const prompt = async (more: object) => (await ask(engine, '/tokenize', { messages, ...more })).json.tokens
    const { prompt: text } = (await ask(engine, '/detokenize', { tokens: await prompt(open) })).json
    expect(text.endsWith('It is')).toBe(true)
    const { json } = await say({ messages, ...open, echo: true })
    expect(json.usage.prompt_tokens).toBe((await prompt(open)).length)
    expect(json.choices[0].message.content).toMatch(/^It is./u)
    expect((await say({ messages, continue_final_message: true })).json.error.code).toBe(400)
  })
})
