import { describe, expect, test } from 'vitest'
import { type MockEngine, startMockEngine } from '../../src/index.js'
import { chat, until } from '../support/mock-server.js'
import { RawClient } from '../support/raw-client.js'

const path = '/v1/chat/completions'

/** Runs a test on a server of its own that is slow enough to be caught in the act. */
async function withServer(run: (engine: MockEngine) => Promise<void>): Promise<void> {
  const engine = await startMockEngine({
    maxPassTokens: 16,
    maxRunning: 1,
    timing: { type: 'fixed', prefill_ms: 40, decode_ms: 40 },
  })
  try {
    await run(engine)
  } finally {
    await engine.close()
  }
}

/** The engine is free again, and so are its blocks. */
async function isIdle(engine: MockEngine): Promise<void> {
  await until('idle', () => {
    const [rank] = engine.stats().ranks
    return rank!.runningRequests === 0 && rank!.waitingRequests === 0 && rank!.usedBlocks === 0
  })
  expect(engine.stats()).toMatchObject({ in_flight: 0, open_streams: 0 })
}

describe.each([false, true])('a client that goes away, stream: %s,', (stream) => {
  test('before its prompt was looked at ends its generation', () =>
    withServer(async (engine) => {
      engine.addFault({ kind: 'health_lies', says: 200 })
      const client = new RawClient(engine).post(path, chat('hi', { stream }))
      await until('arrived', () => engine.stats().ranks[0]!.waitingRequests === 1)
      client.leave()
      await until('counted', () => engine.stats().aborts.queued === 1)
      engine.removeFaults()
      await isIdle(engine)
      expect(engine.stats()).toMatchObject({
        aborts: { held: 0, queued: 1, prefill: 0, decode: 0 },
        requests: { [path]: { cut: 1 } },
        tokens: { generated: 0 },
      })
    }))

  test('in a silent prefill ends its generation', () =>
    withServer(async (engine) => {
      const client = new RawClient(engine).post(path, chat('word '.repeat(2000), { stream }))
      await until('admitted', () => engine.stats().ranks[0]!.prefixCacheQueriedTokens > 0)
      client.leave()
      await until('counted', () => engine.stats().aborts.prefill === 1)
      expect(client.received).not.toContain('data:')
      await isIdle(engine)
      expect(engine.stats().tokens.generated).toBe(0)
    }))

  test('in the only pass of its prompt was in its prefill', () =>
    withServer(async (engine) => {
      engine.addFault({ kind: 'slow_engine', factor: 1e6 })
      const client = new RawClient(engine).post(path, chat('hi', { stream }))
      await until('admitted', () => engine.stats().ranks[0]!.runningRequests === 1)
      client.leave()
      await until('counted', () => engine.stats().aborts.prefill === 1)
      engine.removeFaults()
      expect(engine.stats().aborts.queued).toBe(0)
    }))

  test('while its tokens are made ends its generation', () =>
    withServer(async (engine) => {
      const client = new RawClient(engine).post(
        path,
        chat('hi', { stream, max_tokens: 2000, ignore_eos: true }),
      )
      await until('some tokens', () => engine.stats().ranks[0]!.generatedTokens > 2)
      if (stream) await until('some chunks', () => client.received.split('data:').length > 3)
      client.leave()
      await until('counted', () => engine.stats().aborts.decode === 1)
      await isIdle(engine)
      expect(engine.stats().tokens.generated).toBeLessThan(2000)
      const { metrics } = { metrics: await (await fetch(`${engine.url}/metrics`)).text() }
      expect(metrics).toContain(
        'vllm:request_success_total{model_name="mock-model",engine="0",finished_reason="abort"} 1',
      )
    }))
})

test('one that goes away lets the next one run', () =>
  withServer(async (engine) => {
    const first = new RawClient(engine).post(path, chat('hi', { max_tokens: 2000, ignore_eos: true }))
    await until('the first runs', () => engine.stats().ranks[0]!.runningRequests === 1)
    const second = new RawClient(engine).post(path, chat('ho', { max_tokens: 1 }))
    await until('the second waits', () => engine.stats().ranks[0]!.waitingRequests === 1)
    first.leave()
    await until('answered', () => second.received.includes('"finish_reason":"length"'))
    second.leave()
  }))
