import { describe, expect, it } from 'vitest'
import { learn } from '../../src/workers/learning/learn.js'
import { metricSamples } from '../../src/workers/learning/metric-samples.js'
import { readModels, readSglangInfo, readVllmMetrics } from '../../src/workers/learning/read-facts.js'
import { readKvUsage } from '../../src/workers/learning/read-usage.js'
import { type FakeEngine, late, vllm } from './support.js'

describe('samples of metrics', () => {
  it('are those of the name, with their labels', () => {
    const text = [
      '# HELP up help of up 1',
      'up_total 5',
      'up{a="1",b="x,y}\\"\\n"} 2.5 1700000000',
      'not_up 7',
      'up 3e2',
      'up{a="2"} NaN',
      'up{a="unclosed',
      'up',
    ].join('\n')
    expect(metricSamples(text, 'up')).toEqual([
      {
        labels: new Map([
          ['a', '1'],
          ['b', 'x,y}"\n'],
        ]),
        value: 2.5,
      },
      { labels: new Map(), value: 300 },
    ])
  })

  it('are at most 4,096', () => {
    expect(metricSamples('up{a="1"} 1\n'.repeat(5000), 'up')).toHaveLength(4096)
  })
})

describe('the share of the KV pool that is used', () => {
  it.each([
    [
      'vLLM',
      'vllm:kv_cache_usage_perc{engine="2"} 0.25\nvllm:kv_cache_usage_perc{engine="3"} 1.0',
      [
        [2, 0.25],
        [3, 1],
      ],
    ],
    ['an older vLLM', 'vllm:gpu_cache_usage_perc{model_name="m"} 0.5', [[0, 0.5]]],
    [
      'SGLang',
      'sglang:token_usage{dp_rank="1",tp_rank="0"} 0.1\nsglang:token_usage{dp_rank="1",tp_rank="1"} 0.2',
      [[1, 0.2]],
    ],
    ['nobody', 'vllm:kv_cache_usage_perc{engine="0"} 1.5\nsglang:token_usage{dp_rank="-1"} 0.1\nup 1', []],
  ] as const)('as %s tells it', (_engine, metrics, shares) => {
    expect([...readKvUsage(metrics)]).toEqual(shares)
  })
})

describe('models', () => {
  it('come before their adapters, with root, parent and length', () => {
    const data = [
      { id: 'sql', root: '/a/sql', parent: 'llama' },
      { id: 'llama', root: '/m', parent: null, max_model_len: 8192 },
      { id: 'alias', max_model_len: -1 },
      { id: '' },
      { id: 5 },
      null,
    ]
    expect(readModels(JSON.stringify({ data }))).toEqual([
      { id: 'llama', root: '/m', parent: undefined, maxModelLen: 8192 },
      { id: 'alias', root: undefined, parent: undefined, maxModelLen: undefined },
      { id: 'sql', root: '/a/sql', parent: 'llama', maxModelLen: undefined },
    ])
  })

  it.each(['', '[]', '{"data":{}}', 'null', '{'])('%j is no list', (body) => {
    expect(readModels(body)).toBeUndefined()
  })

  it('are at most 4,096', () => {
    const data = Array.from({ length: 5000 }, (_, index) => ({ id: `m${index}` }))
    expect(readModels(JSON.stringify({ data }))).toHaveLength(4096)
  })
})

describe('vLLM', () => {
  const info = (engine: number, blocks: string) =>
    `vllm:cache_config_info{block_size="16",engine="${engine}",num_gpu_blocks="${blocks}"} 1.0\n`

  it('tells block size, blocks and ranks, the fewest blocks of any rank', () => {
    expect(readVllmMetrics(info(3, '100') + info(2, '90'))).toEqual({
      engine: 'vllm',
      blockSize: 16,
      totalKvBlocks: 90,
      dataParallelStartRank: 2,
      dataParallelSize: 2,
    })
  })

  it('unknown is absent, never 0', () => {
    expect(readVllmMetrics(info(0, 'None'))).toMatchObject({ totalKvBlocks: undefined })
    expect(readVllmMetrics(info(0, '0'))).toMatchObject({ totalKvBlocks: undefined })
    expect(readVllmMetrics(info(0, '5') + info(2, '5'))).toEqual({
      engine: 'vllm',
      blockSize: 16,
      totalKvBlocks: 5,
    })
    for (const [size, blockSize] of [
      ['65536', 65_536],
      ['65537', undefined],
    ] as const)
      expect(readVllmMetrics(info(0, '5').replace('16', size))).toMatchObject({ blockSize })
    expect(readVllmMetrics('up 1\n')).toBeUndefined()
  })
})

describe('SGLang', () => {
  const events = { publisher: 'zmq', endpoint: 'tcp://*:5557', replay_endpoint: 'tcp://0.0.0.0:5657' }
  const info = {
    page_size: 64,
    dp_size: 2,
    max_total_num_tokens: 6450,
    max_prefill_tokens: 2048,
    max_running_requests: 32,
    kv_events_config: JSON.stringify(events),
  }

  it('tells all of it, blocks by page, event sockets at the host of its URL', () => {
    expect(readSglangInfo(JSON.stringify(info), '10.0.0.7')).toEqual({
      engine: 'sglang',
      blockSize: 64,
      totalKvBlocks: 100,
      maxNumBatchedTokens: 2048,
      maxNumSeqs: 32,
      dataParallelSize: 2,
      kvEventsEndpoint: 'tcp://10.0.0.7:5557',
      replayEndpoint: 'tcp://10.0.0.7:5657',
      isCapacitySuspicious: false,
    })
  })

  it('a limit of a pass as large as the pool is suspicious, one that is missing too', () => {
    for (const max_prefill_tokens of [6450, undefined])
      expect(readSglangInfo(JSON.stringify({ ...info, max_prefill_tokens }), 'h')).toMatchObject({
        maxNumBatchedTokens: 6450,
        isCapacitySuspicious: true,
      })
  })

  it('an address that the engine connects to is no address of its own', () => {
    for (const other of [{ ...events, endpoint: 'tcp://router:5557' }, { ...events, publisher: 'null' }, {}])
      expect(
        readSglangInfo(JSON.stringify({ ...info, kv_events_config: JSON.stringify(other) }), 'h')!
          .kvEventsEndpoint,
      ).toBeUndefined()
  })

  it('what is no server information is none', () => {
    for (const body of ['', '{}', '{"page_size":0}', '{"page_size":65537}', '[1]'])
      expect(readSglangInfo(body, 'h')).toBeUndefined()
  })
})

describe('a lesson', () => {
  const asking = (engine: FakeEngine) => {
    const paths: string[] = []
    const lesson = learn(async (path) => {
      paths.push(path)
      const answer = engine[path] ?? { status: 404, body: '' }
      return typeof answer === 'string' ? { status: 200, body: answer } : answer
    }, 'h')
    return { lesson, paths }
  }

  it('takes two questions with vLLM', async () => {
    const { lesson, paths } = asking(vllm({ startedAt: 17.5 }))
    expect(await lesson).toMatchObject({
      facts: { blockSize: 16, models: [{ id: 'llama' }] },
      startedAtSeconds: 17.5,
    })
    expect(paths).toEqual(['/v1/models', '/metrics'])
  })

  it('finds the server information under its newer name too', async () => {
    const { lesson, paths } = asking({
      '/server_info': '{"page_size":32}',
      '/metrics': 'process_start_time_seconds 5',
    })
    expect(await lesson).toMatchObject({ facts: { blockSize: 32, models: [] }, startedAtSeconds: 5 })
    expect(paths.slice(2)).toEqual(['/get_server_info', '/server_info'])
  })

  it.each(['', '<html>Sign in</html>', '[]', '{"data": {}}'])(
    'fails where the models are no list: %s (another service answers there)',
    async (body) => {
      const { lesson } = asking({ ...vllm(), '/v1/models': body })
      expect(await lesson).toEqual({ why: 'GET /v1/models: the answer is no list of models' })
    },
  )

  it('of an engine that has nothing of it says just that', async () => {
    expect(await asking({}).lesson).toEqual({ facts: { models: [] }, startedAtSeconds: undefined })
  })

  it.each(['/v1/models', '/metrics', '/get_server_info'])(
    'fails when %s is not answered now',
    async (path) => {
      const engine =
        path === '/get_server_info' ? { '/server_info': { status: 503, body: '' }, [path]: late } : vllm()
      for (const answer of [
        late,
        { status: 500, body: '' },
        { status: 429, body: '' },
        { status: 401, body: '' },
      ])
        expect(await asking({ ...engine, [path]: answer }).lesson).toMatchObject({
          why: expect.stringContaining('GET /'),
        })
    },
  )
})
