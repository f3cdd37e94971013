import { describe, expect, it } from 'vitest'
import {
  type EngineParameters,
  EngineSimError,
  type TimingTable,
  VllmEngine,
  engineSettings,
  engineSimErrorCodes,
} from '../src/index.js'
import { Recorder, keys, timingTable } from './support/timeline.js'

const [errorsPage = ''] = Object.values(
  import.meta.glob(['../../../docs/errors.md'], { query: '?raw', import: 'default', eager: true }),
)

const codeOf = (work: () => unknown): string | undefined => {
  try {
    work()
    return undefined
  } catch (error) {
    if (!EngineSimError.isInstance(error)) throw error
    return error.code
  }
}

describe('the error codes', () => {
  it('have one row each in docs/errors.md, in the order of the source', () => {
    const rows = [...errorsPage.matchAll(/^\| `(ENGINE_SIM_\w+)` \| \S.* \| \S.* \|$/gmu)].map(
      ([, code]) => code,
    )
    expect(rows).toEqual([...engineSimErrorCodes])
  })

  it('are recognised by their marker', () => {
    const copy = { [Symbol.for('@router/engine-sim.error')]: true }
    const others = [undefined, null, 'x', new Error('x'), { code: 'ENGINE_SIM_PASS_ORDER' }]
    const error = new EngineSimError('ENGINE_SIM_PASS_ORDER', 'x')
    expect([error, copy, ...others].map(EngineSimError.isInstance)).toEqual([
      true,
      true,
      ...others.map(() => false),
    ])
  })
})

describe('parameters', () => {
  it.each<[string, unknown]>([
    ['another engine', { backend: 'sglang' }],
    ['an unknown key', { num_blocks: 5 }],
    ['no blocks', { num_gpu_blocks: 0 }],
    ['half a block', { num_gpu_blocks: 1.5 }],
    ['blocks beyond any pool', { num_gpu_blocks: 2 ** 25 }],
    ['blocks as text', { num_gpu_blocks: '16' }],
    ['blocks of one token', { block_size: 1 }],
    ['no running request', { max_num_seqs: 0 }],
    ['no budget', { max_num_batched_tokens: 0 }],
    ['a length of nothing', { max_model_len: 0 }],
    ['caching as text', { enable_prefix_caching: 'no' }],
    ['chunking as a number', { enable_chunked_prefill: 1 }],
    ['a negative speed', { speedup_ratio: -1 }],
    ['no speed', { decode_speedup_ratio: Number.NaN }],
    ['speeds beyond a double', { speedup_ratio: 1e300, decode_speedup_ratio: 1e300 }],
    ['another order', { preemption_mode: 'random' }],
    ['null for no blocks', { num_gpu_blocks: null }],
    ['no model', { timing_model: null }],
    ['another model', { timing_model: { type: 'linear' } }],
    ['a model with more', { timing_model: { type: 'polynomial', prefill_ms: 1 } }],
    ['a fixed model with less', { timing_model: { type: 'fixed', prefill_ms: 1 } }],
    ['a cadence of prefill', { prefill_schedule_interval: 2 }],
    ['another role', { worker_type: 'decode' }],
    ['several ranks', { dp_size: 2 }],
    ['events at another time', { event_visibility: 'immediate' }],
    ['nothing', null],
    ['functions that are none', { timing_model: { type: 'external', prefillMs: 1, decodeMs: () => 1 } }],
  ])('%s', (_name, parameters) => {
    expect(codeOf(() => new VllmEngine(parameters as EngineParameters))).toBe('ENGINE_SIM_PARAMETER_INVALID')
  })

  it.each<[string, object, RegExp]>([
    [
      'no lists',
      { prefill_isl: undefined },
      /timing_model.prefill_isl: expected a list of at least 2 numbers, got u/,
    ],
    ['one point', { prefill_isl: [1] }, /prefill_isl: .* got a list of 1/],
    [
      'points out of order',
      { decode_context_length: [8, 8] },
      /decode_context_length\[1\]: expected more than 8/,
    ],
    ['a point that is none', { decode_active_kv_tokens: [0, 'x'] }, /decode_active_kv_tokens\[1\]: .* got x/],
    ['fewer times than points', { prefill_ttft_ms: [1] }, /prefill_ttft_ms: expected a list of 2 numbers/],
    [
      'a negative time',
      { prefill_ttft_ms: [1, -1] },
      /prefill_ttft_ms\[1\]: expected a finite number >= 0, got -1/,
    ],
    [
      'fewer rows than points',
      { decode_itl: [[1, 2]] },
      /decode_itl: expected a list of 2 lists, got a list of 1/,
    ],
    ['rows that are none', { decode_itl: [1, 2] }, /decode_itl\[0\]: expected a list of 2 numbers/],
    [
      'a row that is too long',
      {
        decode_itl: [
          [1, 2],
          [1, 2, 3],
        ],
      },
      /decode_itl\[1\]: expected a list of 2 numbers/,
    ],
    [
      'no time in a row',
      {
        decode_itl: [
          [1, 2],
          [1, null],
        ],
      },
      /decode_itl\[1\]\[1\]: .* got null/,
    ],
    ['more', { decode_ms: 1 }, /unknown parameter timing_model.decode_ms; known: type, prefill_isl/],
  ])('a table with %s', (_name, change, message) => {
    const table = { ...timingTable, ...change } as TimingTable
    const build = (): unknown => new VllmEngine({ timing_model: table })
    expect(codeOf(build)).toBe('ENGINE_SIM_PARAMETER_INVALID')
    expect(build).toThrow(message)
    expect(codeOf(() => new VllmEngine({ timing_model: timingTable }))).toBe(undefined)
  })

  it('may say what is so anyway', () => {
    const said = {
      worker_type: 'aggregated',
      dp_size: 1,
      prefill_schedule_interval: 1,
      event_visibility: 'pass_end',
    }
    expect(engineSettings(said as EngineParameters)).toEqual(engineSettings({ backend: 'vllm' }))
  })

  it('have defaults, and null for no limit', () => {
    expect(engineSettings({})).toMatchObject({
      poolBlocks: 16_384,
      blockSize: 64,
      maxModelTokens: Infinity,
      maxRunning: 256,
      maxPassTokens: 8192,
      cachesPrefixes: true,
      chunksPrefill: true,
    })
    expect(engineSettings({ max_num_seqs: null, max_num_batched_tokens: null })).toMatchObject({
      maxRunning: Infinity,
      maxPassTokens: Infinity,
    })
    expect(engineSettings({ speedup_ratio: 4, decode_speedup_ratio: 2 })).toMatchObject({
      prefillRatio: 4,
      decodeRatio: 8,
    })
  })
})

describe('requests', () => {
  it.each([
    [{ promptTokens: 0, outputTokens: 1 }],
    [{ promptTokens: 1.5, outputTokens: 1 }],
    [{ promptTokens: 2 ** 31, outputTokens: 0 }],
    [{ promptTokens: 1, outputTokens: -1 }],
    [{ promptTokens: 2 ** 30, outputTokens: 1 }],
    [{ promptTokens: 8, outputTokens: Number.NaN }],
    [{ promptTokens: 8, outputTokens: 1, blockKeys: keys(1), blockKeyCount: 2 }],
    [{ promptTokens: 8, outputTokens: 1, blockKeyCount: 1 }],
    [{ promptTokens: 8, outputTokens: 1, blockKeys: keys(1), blockKeyCount: -1 }],
  ])('%o', (request) => {
    const engine = new VllmEngine({ block_size: 4 })
    expect(codeOf(() => engine.submit(request))).toBe('ENGINE_SIM_REQUEST_INVALID')
    expect([engine.waitingRequests, engine.namedBlocks]).toEqual([0, 0])
  })

  it('names of blocks that the request does not have are not looked at', () => {
    const engine = new VllmEngine({ block_size: 4 })
    engine.submit({ promptTokens: 9, outputTokens: 0, blockKeys: keys(1, 2, 3) })
    expect(engine.namedBlocks).toBe(2)
  })
})

describe('the order of calls', () => {
  const started = (): VllmEngine => {
    const engine = new VllmEngine()
    engine.submit({ promptTokens: 5, outputTokens: 3 })
    return engine
  }

  it('one pass at a time, never back in time', () => {
    const engine = started()
    expect(codeOf(() => engine.finishPass(new Recorder()))).toBe('ENGINE_SIM_PASS_ORDER')
    const { endMs } = engine.startPass(10)!
    expect([engine.isPassOpen, codeOf(() => engine.startPass(endMs))]).toEqual([
      true,
      'ENGINE_SIM_PASS_ORDER',
    ])
    engine.finishPass(new Recorder())
    for (const nowMs of [endMs - 1, Number.NaN, Infinity])
      expect(codeOf(() => engine.startPass(nowMs))).toBe('ENGINE_SIM_PASS_ORDER')
    expect(engine.startPass(endMs)).toBeDefined()
  })

  it('a sink may submit, but not start a pass', () => {
    const engine = started()
    const codes: unknown[] = []
    const recorder = new Recorder()
    recorder.token = () => {
      for (let more = 0; more < 100; more++) engine.submit({ promptTokens: 5, outputTokens: 1 })
      codes.push(codeOf(() => engine.startPass(1e9)))
    }
    engine.startPass(0)
    engine.finishPass(recorder)
    expect([codes, engine.waitingRequests]).toEqual([['ENGINE_SIM_PASS_ORDER'], 100])
  })

  it('what a sink throws is passed on, and the pass is finished', () => {
    const engine = started()
    const recorder = new Recorder()
    recorder.token = () => {
      throw new Error('of the sink')
    }
    const { endMs } = engine.startPass(0)!
    expect(() => engine.finishPass(recorder)).toThrow('of the sink')
    expect(engine.startPass(endMs)).toBeDefined()
  })

  it.each([Number.NaN, -1, Infinity])('a timing function that says %d', (ms) => {
    const engine = new VllmEngine({
      timing_model: { type: 'external', prefillMs: () => ms, decodeMs: () => 1 },
    })
    engine.submit({ promptTokens: 5, outputTokens: 3 })
    expect(codeOf(() => engine.startPass(0))).toBe('ENGINE_SIM_TIMING_INVALID')
  })
})
