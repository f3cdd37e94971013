import { describe, expect, test } from 'vitest'
import { Faults, faultLimit } from '../../src/http/faults.js'
import { type Fault, startMockEngine } from '../../src/index.js'
import { type Json, ask, chat, eventsOf, serverForTests, until } from '../support/mock-server.js'
import { RawClient } from '../support/raw-client.js'

const path = '/v1/chat/completions'
const engine = await serverForTests()
const say = (more: object = {}) => ask(engine, path, chat('hi', more))

/** Runs something under a fault, which is gone afterwards. */
async function under<Result>(fault: Fault, run: () => Promise<Result>): Promise<Result> {
  engine.addFault(fault)
  try {
    return await run()
  } finally {
    engine.removeFaults()
  }
}

describe('a fault', () => {
  test('refuses with a status, in the shape of the endpoint', async () => {
    for (const status of [400, 429, 500, 503] as const)
      await under({ kind: 'error', status }, async () => {
        const refusal = await say()
        expect([refusal.status, refusal.json.error.code]).toEqual([status, status])
        expect(refusal.headers.get('retry-after')).toBe(status === 429 ? '1' : null)
      })
    await under({ kind: 'error', status: 503, retry_after_seconds: 7 }, async () => {
      expect((await say()).headers.get('retry-after')).toBe('7')
      const messages = await ask(engine, '/v1/messages', { model: 'mock-model' })
      expect(messages.json).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } })
    })
  })

  test('hangs until the client leaves', () =>
    under({ kind: 'hang' }, async () => {
      const before = engine.stats().aborts.held
      const client = new RawClient(engine).post(path, chat('hi'))
      await until('held', () => engine.stats().in_flight === 1)
      expect(client.received).toBe('')
      client.leave()
      await until('counted', () => engine.stats().aborts.held === before + 1)
    }))

  test('hangs in the middle of a stream', () =>
    under({ kind: 'hang', after_chunks: 2 }, async () => {
      const client = new RawClient(engine).post(path, chat('hi', { stream: true }))
      await until(
        'all is generated',
        () => engine.stats().ranks[0]!.runningRequests === 0 && client.received.includes('data:'),
      )
      await until('two chunks', () => client.received.split('data:').length === 3)
      expect(client.ending).toBeUndefined()
      client.leave()
      await until('left', () => engine.stats().in_flight === 0)
    }))

  test('delays', () =>
    under({ kind: 'slow', delay_ms: 3_600_000 }, async () => {
      const client = new RawClient(engine).post(path, chat('hi'))
      await until('held', () => engine.stats().in_flight === 1)
      client.leave()
      await until('left', () => engine.stats().in_flight === 0)
      engine.removeFaults()
      engine.addFault({ kind: 'slow', delay_ms: 1 })
      expect((await say()).status).toBe(200)
      expect(engine.faults()[0]!.applied).toBe(1)
    }))

  test('resets the connection before the headers', () =>
    under({ kind: 'reset_before_headers' }, async () => {
      const client = new RawClient(engine).post(path, chat('hi'))
      await until('reset', () => client.ending === 'reset')
      expect(client.received).toBe('')
    }))

  test.each([true, false])('resets the connection after the headers, stream: %s', (stream) =>
    under({ kind: 'reset_after_headers' }, async () => {
      const client = new RawClient(engine).post(path, chat('hi', { stream }))
      // A client that reads late may find the connection closed in order.
      await until('ended', () => client.ending !== undefined)
      expect(client.received).toMatch(/^HTTP\/1.1 200 OK\r\n/u)
      expect(client.received.split('\r\n\r\n')[1]).toBe('')
    }),
  )

  test('cuts a stream after some chunks, and an answer in its middle', () =>
    under({ kind: 'cut', after_chunks: 3 }, async () => {
      const client = new RawClient(engine).post(path, chat('hi', { stream: true }))
      await until('cut', () => client.ending !== undefined)
      expect(client.received.split('data:')).toHaveLength(4)
      expect(client.received).not.toMatch(/0\r\n\r\n$/u)
      const whole = new RawClient(engine).post(path, chat('hi'))
      await until('cut', () => whole.ending !== undefined)
      const [head, body] = whole.received.split('\r\n\r\n')
      expect(body!.length).toBeLessThan(Number(/content-length: (\d+)/u.exec(head!)![1]))
      expect(body!.length).toBeGreaterThan(0)
    }))

  test('garbles an answer, or one event of a stream', () =>
    under({ kind: 'garbage', after_chunks: 1 }, async () => {
      expect(await say()).toMatchObject({ status: 200, json: undefined })
      const events = eventsOf((await say({ stream: true })).text)
      expect(events.map((event) => typeof event).slice(0, 3)).toEqual(['object', 'string', 'object'])
      expect(events.at(-1)).toBe('[DONE]')
    }))

  test.each([undefined, 2])('crashes, after chunks: %s', async (after_chunks) => {
    const own = await startMockEngine({ speedup: 1000 })
    own.addFault(after_chunks === undefined ? { kind: 'crash' } : { kind: 'crash', after_chunks })
    const idle = new RawClient(own)
    const client = new RawClient(own).post(path, chat('hi', { stream: true }))
    expect(await own.ended).toBe('crashed')
    await until('both ended', () => client.ending !== undefined && idle.ending !== undefined)
    expect(client.received.split('data:')).toHaveLength((after_chunks ?? 0) + 1)
    await expect(fetch(own.url)).rejects.toThrow('fetch failed')
    await own.close()
  })

  test('lets /health lie, in both directions', async () => {
    await under({ kind: 'health_lies', says: 503 }, async () => {
      expect([(await ask(engine, '/health')).status, (await say()).status]).toEqual([503, 200])
    })
    const answer = await under({ kind: 'health_lies', says: 200 }, async () => {
      const pending = say()
      await until('it waits', () => engine.stats().ranks[0]!.waitingRequests === 1)
      expect((await ask(engine, '/health')).status).toBe(200)
      return { pending }
    })
    expect((await answer.pending).status).toBe(200)
  })

  test('keeps events back, all or a share', async () => {
    const own = await serverForTests({ events: { endpoint: 'tcp://127.0.0.1:0' } })
    const batches = () => {
      const [{ eventBatches, suppressedEventBatches } = { eventBatches: 0, suppressedEventBatches: 0 }] =
        own.stats().ranks
      return [eventBatches, suppressedEventBatches]
    }
    const store = (word: string) => ask(own, path, chat(`${word} `.repeat(100), { max_tokens: 1 }))
    await store('one')
    const [sent] = batches()
    expect([sent! > 0, batches()[1]]).toEqual([true, 0])
    own.addFault({ kind: 'silent_events' })
    await store('two')
    expect([batches()[0], batches()[1]! > 0]).toEqual([sent, true])
    own.removeFaults()
    const kept = batches()[1]!
    own.addFault({ kind: 'lost_events', fraction: 1 })
    await store('three')
    expect(batches()[1]).toBeGreaterThan(kept)
  })

  test('tells the engine what holds of it as a whole', () => {
    const told: Json[] = []
    const faults = new Faults(
      {
        setHang: (hangs: boolean) => told.push({ hangs }),
        setSlowness: (factor: number) => told.push({ factor }),
        setEventFault: (fault: object) => told.push(fault),
      } as never,
      0,
    )
    faults.add({ kind: 'slow_engine', factor: 4 })
    faults.add({ kind: 'slow_engine', factor: 2 })
    faults.add({ kind: 'lost_events', fraction: 0.5 })
    faults.add({ kind: 'silent_events' })
    expect(told.slice(-3)).toEqual([{ hangs: false }, { factor: 4 }, { silent: true, lossFraction: 0.5 }])
    faults.remove()
    expect(told.slice(-3)).toEqual([{ hangs: false }, { factor: 1 }, { silent: false, lossFraction: 0 }])
  })
})

describe('a fault meets', () => {
  const statuses = async (count: number, more: object = {}) => {
    const list: number[] = []
    for (let index = 0; index < count; index++) list.push((await say(more)).status)
    return list
  }

  test('so many requests, and is gone', () =>
    under({ kind: 'error', status: 500, times: 2 }, async () => {
      expect(await statuses(3)).toEqual([500, 500, 200])
      expect(engine.faults()).toEqual([])
    }))

  test('a share of them that follows from the seed', async () => {
    const run = async (seed: number) => {
      const own = await startMockEngine({
        speedup: 1000,
        seed,
        faults: [{ kind: 'error', status: 500, fraction: 0.5 }],
      })
      const list: number[] = []
      for (let index = 0; index < 16; index++)
        list.push((await ask(own, path, chat('x', { max_tokens: 1 }))).status)
      await own.close()
      return list
    }
    const first = await run(1)
    expect(new Set(first)).toEqual(new Set([200, 500]))
    expect(await run(1)).toEqual(first)
    expect(await run(2)).not.toEqual(first)
  })

  test('one path, also one that it would leave alone', () =>
    under({ kind: 'error', status: 500, path: '/metrics' }, async () => {
      expect([(await ask(engine, '/metrics')).status, (await say()).status]).toEqual([500, 200])
      expect((await ask(engine, '/health')).status).toBe(200)
    }))

  test('one model', () =>
    under({ kind: 'error', status: 500, model: 'mock-model' }, async () => {
      const unnamed = await ask(engine, path, { messages: [{ role: 'user', content: 'x' }] })
      expect([(await say()).status, unnamed.status]).toEqual([500, 200])
    }))

  test('only the API of the model unless told otherwise', () =>
    under({ kind: 'error', status: 500 }, async () => {
      const info = await Promise.all(
        ['/health', '/metrics', '/v1/models', '/stats'].map((each) => ask(engine, each)),
      )
      expect(info.map(({ status }) => status)).toEqual([200, 200, 200, 200])
      expect((await ask(engine, '/tokenize', { prompt: 'x' })).status).toBe(500)
    }))
})

describe('/admin/faults', () => {
  test('adds, lists, counts and deletes', async () => {
    const added = await ask(engine, '/admin/faults', { kind: 'error', status: 503, times: 5 })
    expect(added).toMatchObject({
      status: 201,
      json: { fault: { kind: 'error', status: 503, times: 5 }, applied: 0, remaining: 5 },
    })
    const several = await ask(engine, '/admin/faults', [
      { kind: 'silent_events' },
      { kind: 'slow_engine', factor: 2 },
    ])
    expect(several.json.faults).toHaveLength(2)
    await say()
    const { faults } = (await ask(engine, '/admin/faults')).json
    expect(faults.map(({ applied, remaining }: Json) => [applied, remaining])).toEqual([
      [1, 4],
      [0, null],
      [0, null],
    ])
    const one = await ask(engine, `/admin/faults/${added.json.id}`, undefined, { method: 'DELETE' })
    expect(one.json.faults).toHaveLength(2)
    expect((await ask(engine, '/admin/faults/nope', undefined, { method: 'DELETE' })).status).toBe(404)
    const all = await ask(engine, '/admin/faults', undefined, { method: 'DELETE' })
    expect(all.json.faults).toEqual([])
    expect((await ask(engine, '/stats')).json.faults_applied.error).toBeGreaterThan(0)
  })

  test('refuses what it does not know, says what it does, and then takes nothing', async () => {
    const refusal = async (fault: unknown) => {
      const { status, json } = await ask(engine, '/admin/faults', fault)
      expect(status).toBe(400)
      return json.error.message
    }
    expect(await refusal({ kind: 'explode' })).toMatch(/got "explode", accepted: hang, slow, error,/u)
    expect(await refusal({ kind: 'slow', delay: 5 })).toMatch(
      /delay_ms.*fields of slow: kind, delay_ms, path, model, times, fraction/u,
    )
    expect(await refusal({ kind: 'error', status: 418 })).toContain('status')
    expect(await refusal({ kind: 'hang', fraction: 2 })).toContain('fraction')
    expect(await refusal({ kind: 'silent_events', times: 1 })).toContain('times')
    expect(await refusal([{ kind: 'hang' }, { kind: 'nope' }])).toContain('nope')
    expect(engine.faults()).toEqual([])
  })

  test('keeps so many at most', async () => {
    const silence = { kind: 'silent_events' } as const
    const tooMany = Array.from({ length: faultLimit + 1 }, () => silence)
    expect((await ask(engine, '/admin/faults', tooMany)).status).toBe(409)
    expect(engine.faults()).toEqual([])
    await expect(startMockEngine({ faults: tooMany })).rejects.toMatchObject({
      code: 'MOCK_ENGINE_OPTION_INVALID',
    })
    for (let index = 0; index < faultLimit; index++) engine.addFault(silence)
    expect((await ask(engine, '/admin/faults', { kind: 'silent_events' })).status).toBe(409)
    engine.removeFaults()
  })
})

describe('/admin/restart', () => {
  test('empties the cache, may change the facts, and ends what runs', async () => {
    const own = await serverForTests({ ranks: 1 })
    const long = chat('word '.repeat(100), { max_tokens: 1 })
    await ask(own, path, long)
    expect((await ask(own, path, long)).json.usage.prompt_tokens_details.cached_tokens).toBeGreaterThan(0)
    own.addFault({ kind: 'health_lies', says: 200 })
    const pending = ask(own, path, chat('x', { stream: true }))
    await until('it waits', () => own.stats().ranks[0]!.waitingRequests === 1)
    const restarted = await ask(own, '/admin/restart', { block_size: 32, num_gpu_blocks: 500 })
    expect(restarted.json).toMatchObject({ block_size: 32, num_gpu_blocks: 500 })
    const events = eventsOf((await pending).text)
    expect(events).toMatchObject([{ error: { code: 500, type: 'InternalServerError' } }, '[DONE]'])
    // The fault holds of the new incarnation as well.
    const held = new RawClient(own).post(path, long)
    await until('it waits', () => own.stats().ranks[0]!.waitingRequests === 1)
    own.removeFaults()
    await until('it is answered', () => held.received.includes('"cached_tokens":0'))
    held.leave()
    const metrics = (await ask(own, '/metrics')).text
    expect(metrics).toContain('num_gpu_blocks="500"')
    expect(metrics).toContain('vllm:prefix_cache_hits_total{model_name="mock-model",engine="0"} 0')
    // Those before the restart are not counted any more.
    expect(metrics).toContain('finished_reason="length"} 1')
    expect(own.stats().restarts).toBe(1)
    expect((await ask(own, '/admin/restart', { block_sizes: 32 })).status).toBe(400)
    expect((await ask(own, '/admin/restart', { block_size: 1 })).status).toBe(400)
    expect((await ask(own, '/admin/restart', {}, {})).status).toBe(200)
  })
})
