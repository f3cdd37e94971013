import { describe, expect, test } from 'vitest'
import { simulatedVersions } from '../../src/http/info.js'
import { type Json, ask, chat, serverForTests, until } from '../support/mock-server.js'

const vllm = await serverForTests({
  model: ['base', 'alias'],
  loraAdapters: ['adapter-a', { name: 'b', path: '/adapters/b' }],
  ranks: 2,
})
const sglang = await serverForTests({
  flavour: 'sglang',
  ranks: 2,
  blocksPerRank: 100,
  maxModelTokens: 1000,
  maxPassTokens: 512,
  events: { endpoint: 'tcp://*:0', replayEndpoint: 'tcp://*:0', topic: 'kv' },
})

/** Value of each sample of a metric by its labels. */
function samples(text: string, name: string): Record<string, number> {
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
  return Object.fromEntries(
    lines.map((line) => {
      const [, labels = '', value] = /^[^{ ]+(?:\{(.*)\})? (.*)$/u.exec(line)!
      return [labels.replaceAll('"', ''), Number(value)]
    }),
  )
}

describe('/v1/models', () => {
  test('lists names of the base model, and adapters with root and parent', async () => {
    const { data, object } = (await ask(vllm, '/v1/models')).json
    expect(object).toBe('list')
    expect(
      data.map(({ id, root, parent, max_model_len }: Json) => [id, root, parent, max_model_len]),
    ).toEqual([
      ['base', 'base', null, 32_768],
      ['alias', 'base', null, 32_768],
      ['adapter-a', 'adapter-a', 'base', null],
      ['b', '/adapters/b', 'base', null],
    ])
    expect(data[0]).toMatchObject({
      object: 'model',
      owned_by: 'vllm',
      permission: [{ object: 'model_permission' }],
    })
    const [model] = (await ask(sglang, '/v1/models')).json.data
    expect(model).toMatchObject({ owned_by: 'sglang', max_model_len: 1000 })
    expect(model).not.toHaveProperty('permission')
  })

  test('has names that requests can ask for; an alias answers as the first', async () => {
    const modelOf = async (model?: string) =>
      (await ask(vllm, '/v1/chat/completions', { ...chat('x'), model })).json.model
    expect(await modelOf('alias')).toBe('base')
    expect(await modelOf()).toBe('base')
    expect(await modelOf('adapter-a')).toBe('adapter-a')
  })
})

describe('/metrics', () => {
  test('of vLLM agree with what was answered, rank by rank', async () => {
    const say = (rank: string, max_tokens: number) =>
      ask(
        vllm,
        '/v1/completions',
        { prompt: 'count me. '.repeat(20), max_tokens },
        { headers: { 'x-data-parallel-rank': rank } },
      )
    const before = (await ask(vllm, '/metrics')).text
    const usages = [await say('1', 3), await say('1', 100)].map(({ json }) => json.usage)
    const { text, headers } = await ask(vllm, '/metrics')
    expect(headers.get('content-type')).toContain('version=0.0.4')
    const grown = (name: string, labels = 'model_name=base,engine=1') =>
      samples(text, name)[labels]! - samples(before, name)[labels]!
    const sum = (read: (usage: Json) => number) => usages.reduce((total, usage) => total + read(usage), 0)
    expect(grown('vllm:prompt_tokens_total')).toBe(sum((usage) => usage.prompt_tokens))
    expect(grown('vllm:generation_tokens_total')).toBe(35)
    expect(grown('vllm:prefix_cache_queries_total')).toBe(sum((usage) => usage.prompt_tokens))
    const hits = sum((usage) => usage.prompt_tokens_details.cached_tokens)
    expect(grown('vllm:prefix_cache_hits_total')).toBe(hits)
    expect(hits).toBeGreaterThan(0)
    const success = 'vllm:request_success_total'
    expect(grown(success, 'model_name=base,engine=1,finished_reason=length')).toBe(1)
    expect(grown(success, 'model_name=base,engine=1,finished_reason=stop')).toBe(1)
    expect(grown(success, 'model_name=base,engine=0,finished_reason=stop')).toBe(0)
    expect(samples(text, 'vllm:time_to_first_token_seconds_count')['model_name=base,engine=1']).toBe(2)
    expect(samples(text, 'vllm:num_preemptions_total')).toEqual({
      'model_name=base,engine=0': 0,
      'model_name=base,engine=1': 0,
    })
    for (const gauge of ['num_requests_running', 'num_requests_waiting', 'kv_cache_usage_perc'])
      expect(samples(text, `vllm:${gauge}`)['model_name=base,engine=0']).toBe(0)
    expect(text).toMatch(
      /vllm:cache_config_info\{block_size="16".*enable_prefix_caching="True",engine="1".*num_gpu_blocks="2048".*\} 1/u,
    )
    expect(text).toContain('# TYPE vllm:prefix_cache_hits_total counter')
    expect(text).toContain('# TYPE vllm:kv_cache_usage_perc gauge')
    expect(samples(text, 'process_start_time_seconds')['']).toBeGreaterThan(1e9)
  })

  test('of vLLM name the adapters that run or wait', async () => {
    const own = await serverForTests({
      loraAdapters: ['adapter-a', 'adapter-b'],
      maxRunning: 1,
      speedup: 1,
      timing: { type: 'fixed', prefill_ms: 5, decode_ms: 20 },
    })
    const adapters = async () => {
      const { text } = await ask(own, '/metrics')
      const [, running, waiting] =
        /vllm:lora_requests_info\{max_lora="2",running_lora_adapters="(.*)",waiting_lora_adapters="(.*)"\}/u.exec(
          text,
        )!
      return [running, waiting]
    }
    const run = (model: string) => {
      const abort = new AbortController()
      const body = { model, prompt: 'x', max_tokens: 5000, ignore_eos: true }
      const done = ask(own, '/v1/completions', body, { signal: abort.signal }).catch(() => 'aborted')
      return { abort, done }
    }
    const first = run('adapter-a')
    await until('one runs', async () => (await adapters())[0] === 'adapter-a')
    const second = run('adapter-b')
    await until('one waits', async () => (await adapters())[1] === 'adapter-b')
    first.abort.abort()
    await until('the other runs', async () => (await adapters())[0] === 'adapter-b')
    second.abort.abort()
    await until('none runs', async () => (await adapters()).join('') === '')
    expect(await Promise.all([first.done, second.done])).toEqual(['aborted', 'aborted'])
    const plain = await serverForTests()
    expect((await ask(plain, '/metrics')).text).not.toContain('lora_requests_info')
  })

  test('of SGLang have its names', async () => {
    const body = { prompt: 'count me. '.repeat(20), max_tokens: 2 }
    for (let index = 0; index < 2; index++)
      await ask(sglang, '/v1/completions', body, { headers: { 'x-data-parallel-rank': '0' } })
    const { text } = await ask(sglang, '/metrics')
    const rank = 'model_name=mock-model,dp_rank=0'
    expect(samples(text, 'sglang:num_requests_total')[rank]).toBe(2)
    expect(samples(text, 'sglang:generation_tokens_total')[rank]).toBe(4)
    const scheduler = `${rank},engine_type=unified,pp_rank=0,tp_rank=0`
    expect(samples(text, 'sglang:cache_hit_rate')[scheduler]).toBeGreaterThan(0)
    expect(samples(text, 'sglang:max_total_num_tokens')[scheduler]).toBe(1600)
    for (const gauge of ['num_running_reqs', 'num_queue_reqs', 'token_usage', 'num_used_tokens'])
      expect(samples(text, `sglang:${gauge}`)[scheduler]).toBe(0)
    expect(text).not.toContain('vllm:')
  })
})

test('SGLang says what it is', async () => {
  const { json } = await ask(sglang, '/get_server_info')
  expect(json).toMatchObject({
    served_model_name: 'mock-model',
    dp_size: 2,
    page_size: 16,
    max_total_num_tokens: 1600,
    max_prefill_tokens: 512,
    chunked_prefill_size: 512,
    context_length: 1000,
    disable_radix_cache: false,
    status: 'ready',
    version: simulatedVersions.sglang,
  })
  expect(json.internal_states).toHaveLength(2)
  expect(JSON.parse(json.kv_events_config)).toEqual({
    publisher: 'zmq',
    topic: 'kv',
    endpoint: sglang.kvEventsEndpoints[0],
    replay_endpoint: sglang.replayEndpoints[0],
  })
  expect((await ask(sglang, '/server_info')).json).toEqual(json)
  expect((await ask(sglang, '/get_model_info')).json).toMatchObject({
    model_path: 'mock-model',
    is_generation: true,
  })
  expect((await ask(sglang, '/model_info')).status).toBe(200)
  expect((await ask(vllm, '/get_server_info')).status).toBe(404)
  const refusal = (await ask(sglang, '/v1/completions', { prompt: 'x', model: 'no' })).json
  expect(refusal).toMatchObject({ object: 'error', code: 404, type: 'NotFoundError' })
  const rank = await ask(sglang, '/v1/completions', { prompt: 'x', data_parallel_rank: 7 })
  expect(rank.status).toBe(400)
})

test('health, ping and version', async () => {
  for (const path of ['/health', '/ping'])
    expect(await ask(vllm, path)).toMatchObject({ status: 200, text: '' })
  expect((await ask(vllm, '/ping', '')).status).toBe(200)
  expect((await ask(vllm, '/version')).json).toEqual({ version: simulatedVersions.vllm })
})

test('/health_generate of SGLang waits for a token', async () => {
  expect((await ask(sglang, '/health_generate')).status).toBe(200)
  sglang.addFault({ kind: 'health_lies', says: 200 })
  const before = sglang.stats().tokens.generated
  const pending = ask(sglang, '/health_generate')
  const waiting = () => sglang.stats().ranks.reduce((sum, rank) => sum + rank.waitingRequests, 0)
  await until('it waits', () => waiting() === 1)
  expect((await ask(sglang, '/health')).status).toBe(200)
  sglang.removeFaults()
  expect((await pending).status).toBe(200)
  expect(sglang.stats().tokens.generated).toBe(before + 1)
})

test('unknown paths and methods are refused as FastAPI does', async () => {
  expect(await ask(vllm, '/nope')).toMatchObject({
    status: 404,
    json: { error: { message: 'Not Found', code: 404 } },
  })
  expect((await ask(vllm, '/v1/chat/completions')).status).toBe(405)
  expect((await ask(vllm, '/health', {})).status).toBe(405)
})

test('the prefix cache can be emptied', async () => {
  const prompt = 'forget me. '.repeat(20)
  const cached = async (engine: typeof vllm) => {
    const { json } = await ask(
      engine,
      '/v1/completions',
      { prompt, max_tokens: 1 },
      { headers: { 'x-data-parallel-rank': '0' } },
    )
    return json.usage.prompt_tokens_details.cached_tokens
  }
  for (const [engine, path] of [
    [vllm, '/reset_prefix_cache'],
    [sglang, '/flush_cache'],
  ] as const) {
    await cached(engine)
    expect(await cached(engine)).toBeGreaterThan(0)
    expect((await ask(engine, path, '')).status).toBe(200)
    expect(await cached(engine)).toBe(0)
  }
})

describe('tokens', () => {
  test('of a text, and the text again', async () => {
    const prompt = 'Grüße, 東京 and 🎉!'
    const { json } = await ask(vllm, '/tokenize', { prompt, return_token_strs: true })
    expect(json).toMatchObject({ count: json.tokens.length, max_model_len: 32_768 })
    expect(json.token_strs).toHaveLength(json.count)
    expect((await ask(vllm, '/detokenize', { tokens: json.tokens })).json).toEqual({ prompt })
    expect((await ask(vllm, '/tokenize', { prompt })).json.token_strs).toBeNull()
  })

  test('of a conversation are those of its chat', async () => {
    const body = chat('hello', { model: 'base', tools: [{ type: 'function', function: { name: 'f' } }] })
    const { count } = (await ask(vllm, '/tokenize', body)).json
    expect((await ask(vllm, '/v1/chat/completions', body)).json.usage.prompt_tokens).toBe(count)
  })

  test('that do not exist are refused', async () => {
    for (const tokens of [[1e9], [-1], ['a']])
      expect((await ask(vllm, '/detokenize', { tokens })).status).toBe(400)
    expect((await ask(vllm, '/tokenize', {})).status).toBe(400)
    expect((await ask(vllm, '/tokenize', { prompt: 'x', model: 'no' })).status).toBe(404)
  })
})
