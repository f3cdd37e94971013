import type { MockEngine } from 'router-mock-engine'
import { describe, expect, test } from 'vitest'
import { until } from '../until.js'
import { ask, chat, chatPath, engineOf, eventsOf, proxyOf } from './support/proxies.js'

const long = (topic: string) => `${topic}: routers send a prompt where its blocks are. `.repeat(20)

async function toldBy(engines: readonly MockEngine[], proxy = {}) {
  const tokenizerOf = () => engines[0]!.modelFolder
  const router = await proxyOf([], { fleet: { usesKvEvents: true }, proxy: { tokenizerOf, ...proxy } })
  for (const engine of engines) router.add(engine, { kvEventsEndpoint: engine.kvEventsEndpoints[0] })
  await until('following', () =>
    engines.every((_, index) => router.fleet.workers.eventReports(BigInt(index + 1)).length > 0),
  )
  return router
}

const events = { endpoint: 'tcp://127.0.0.1:0', replayEndpoint: 'tcp://127.0.0.1:0' }

describe('A7: what a request is routed on', () => {
  test('exact tokens, as the engine itself finds them in its cache', async () => {
    const engines = await Promise.all([engineOf({ events }), engineOf({ events })])
    const router = await toldBy(engines)
    const first = await ask(router, chatPath, chat(long('one'), { max_tokens: 1 }))
    const worker = first.headers.get('x-router-worker')
    const known = () => router.fleet.partitions[0]!.router.index.currentSize
    await until('told', () => known() > 10)
    const again = await ask(router, chatPath, chat(long('one'), { max_tokens: 1 }))
    expect(again.headers.get('x-router-worker')).toBe(worker)
    const blocks = Number(again.headers.get('x-router-overlap-blocks'))
    expect(16 * blocks).toBe(again.json.usage.prompt_tokens_details.cached_tokens)
    expect(blocks).toBeGreaterThan(10)
    expect(router.finished[1]).toMatchObject({
      exactness: 'exact',
      cause: undefined,
      isEstimated: false,
      promptTokens: again.json.usage.prompt_tokens,
      predictedTokens: 16 * blocks,
      usage: { cachedTokens: 16 * blocks },
    })
  })

  test('G3: chunks of messages, and blocks or chunks of media, on ranks with events and without', async () => {
    const engines = await Promise.all([engineOf({ events }), engineOf({ events })])
    const router = await toldBy(engines)
    router.add(await engineOf())
    const message = { model: 'mock-model', max_tokens: 1, messages: [{ role: 'user', content: long('two') }] }
    const pin = (id: number) => ({ headers: { 'x-dynamo-worker-instance-id': String(id) } })
    for (const id of [2, 3]) await ask(router, '/v1/messages', message, pin(id))
    const overlapAt = async (path: string, body: object, id: number) =>
      Number((await ask(router, path, body, pin(id))).headers.get('x-router-overlap-blocks'))
    expect(await overlapAt('/v1/messages', message, 2)).toBeGreaterThan(10)
    expect(await overlapAt('/v1/messages', message, 3)).toBeGreaterThan(10)
    expect(await overlapAt('/v1/messages', message, 1)).toBe(0)
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(400)}` } }
    const picture = chat(
      [{ type: 'text', text: long('three') }, image, { type: 'text', text: long('four') }],
      { max_tokens: 1 },
    )
    await ask(router, chatPath, picture, pin(2))
    expect(await overlapAt(chatPath, picture, 2)).toBeGreaterThan(25)
    const exactness = router.finished.map((facts) => facts.exactness)
    expect(exactness.slice(0, 5)).toEqual(Array.from({ length: 5 }, () => 'approximate'))
    expect(exactness.slice(5)).toEqual(['exact_before_media', 'exact_before_media'])
    expect(router.booked()).toBe(0)
  })

  test('token ids, lists of prompts by the first, and a salt that sets them apart', async () => {
    const router = await proxyOf([await engineOf()])
    const ids = Array.from({ length: 64 }, (_, id) => id + 100)
    const overlap = async (body: object, headers = {}) => {
      const answer = await ask(
        router,
        '/v1/completions',
        { model: 'mock-model', max_tokens: 1, ...body },
        { headers },
      )
      expect(answer.status).toBe(200)
      return Number(answer.headers.get('x-router-overlap-blocks'))
    }
    expect(await overlap({ prompt: ids })).toBe(0)
    expect(await overlap({ prompt: ids })).toBe(4)
    expect(await overlap({ prompt: [ids, [1, 2, 3]], n: 2 })).toBe(4)
    expect(await overlap({ prompt: [[1, 2, 3], ids] })).toBe(0)
    expect(await overlap({ prompt: ids }, { 'x-tenant-id': 'a' })).toBe(0)
    expect(await overlap({ prompt: ids, nvext: { cache_salt: 'a' }, cache_salt: 'b' })).toBe(4)
    expect(await overlap({ prompt: ids, nvext: { cache_salt: 'b' } }, { 'x-tenant-id': 'a' })).toBe(4)
    expect(await overlap({ prompt: ids, cache_salt: 'dynamo-cache-salt:a' })).toBe(4)
    expect(await overlap({ prompt: ids, cache_salt: 'a' })).toBe(0)
    expect(await overlap({ prompt: ids, cache_salt: 'a' })).toBe(4)
    const facts = router.finished.map(({ exactness, promptTokens }) => [exactness, promptTokens])
    expect(facts.slice(1, 4)).toEqual([
      ['exact', 64],
      ['exact', 67],
      ['exact', 67],
    ])
  })

  test('a salt is found again in the events of its blocks, and prompts of other salts find nothing', async () => {
    const engine = await engineOf({ events })
    const router = await toldBy([engine])
    const { index } = router.fleet.partitions[0]!.router
    const ids = Array.from({ length: 64 }, (_, id) => id + 100)
    let turn = 0
    /** Blocks that were predicted, and that the engine had; each prompt is longer than those before. */
    const found = async (more: object, tenant?: string) => {
      const prompt = [...ids, ...Array.from({ length: 16 }, () => 1000 + turn)]
      turn++
      const body = { model: 'mock-model', max_tokens: 1, prompt, ...more }
      const known = index.currentSize
      const answer = await ask(router, '/v1/completions', body, {
        headers: tenant === undefined ? {} : { 'x-tenant-id': tenant },
      })
      await until('told of its blocks', () => index.currentSize > known)
      const { cached_tokens: cached } = answer.json.usage.prompt_tokens_details
      return [Number(answer.headers.get('x-router-overlap-blocks')), cached / 16]
    }
    expect(await found({}, 'a')).toEqual([0, 0])
    expect(await found({}, 'a')).toEqual([4, 4])
    expect(await found({ nvext: { cache_salt: 'a' } })).toEqual([4, 4])
    expect(await found({ cache_salt: 'dynamo-cache-salt:a' })).toEqual([4, 4])
    expect(await found({}, 'b')).toEqual([0, 0])
    expect(await found({})).toEqual([0, 0])
    expect(await found({})).toEqual([4, 4])
    // No event shows a client's own salt: its prompts find nothing that is not theirs, in the router as in the engine.
    expect(await found({ cache_salt: 'a' })).toEqual([0, 0])
    expect(await found({ cache_salt: 'b' })).toEqual([0, 0])
  })

  test('nvext reaches the engines that take it, and no other', async () => {
    const engine = await engineOf()
    const router = await proxyOf([engine])
    const body = chat('hello', { nvext: { annotations: ['a'] }, max_tokens: 1 })
    const sent = () => JSON.parse(Buffer.from(engine.requests().at(-1)!.bodyBase64, 'base64').toString())
    await ask(router, chatPath, body)
    expect(sent().nvext).toBeUndefined()
    router.fleet.workers.patch(1n, { acceptsNvext: true })
    await ask(router, chatPath, body)
    expect(sent().nvext).toEqual({ annotations: ['a'] })
  })

  test('hints that nothing acts on are counted; that a request must not wait is none: none waits', async () => {
    const router = await proxyOf([await engineOf()])
    const ignored = async (nvext: object, headers = {}) => {
      const answer = await ask(router, chatPath, chat('hello', { nvext, max_tokens: 1 }), { headers })
      return [answer.status, ...(router.finished.at(-1)?.ignoredHints ?? [])]
    }
    expect(await ignored({ do_not_queue: true })).toEqual([200])
    expect(await ignored({}, { 'x-router-do-not-queue': 'true' })).toEqual([200])
    expect(await ignored({ do_not_queue: 'yes' })).toEqual([400])
    expect(await ignored({ agent_hints: { speculative_prefill: true } })).toEqual([
      200,
      'speculative_prefill',
    ])
    expect(await ignored({ moon: 1, agent_hints: { sun: 2 } })).toEqual([200, 'unknown'])
    const off = await proxyOf([await engineOf()], { proxy: { readsNvext: false } })
    expect((await ask(off, chatPath, chat('hello', { nvext: { moon: 1 }, max_tokens: 1 }))).status).toBe(200)
    expect(off.finished[0]!.ignoredHints).toEqual([])
  })

  test('an answer tells in nvext what was asked for', async () => {
    const engine = await engineOf()
    const router = await proxyOf([engine])
    const body = (nvext: object) => chat('hello', { nvext, max_tokens: 1 })
    const told = await ask(router, chatPath, body({ extra_fields: ['worker_id', 'timing', 'moon'] }))
    expect(told.json.choices).toHaveLength(1)
    expect(told.json.nvext).toEqual({
      worker_id: { prefill_worker_id: 1, prefill_dp_rank: 0, decode_worker_id: 1, decode_dp_rank: 0 },
      timing: { ttft_ms: expect.any(Number), itl_ms: null, total_ms: expect.any(Number), queue_ms: 0 },
    })
    expect((await ask(router, chatPath, body({}))).json.nvext).toBeUndefined()
    for (const path of [chatPath, '/v1/completions']) {
      const asked = { model: 'mock-model', messages: [], prompt: [1, 2, 3], max_tokens: 4, stream: true }
      const plain = eventsOf((await ask(router, path, asked)).text)
      const nvext = { extra_fields: ['worker_id', 'timing'] }
      const streamed = eventsOf((await ask(router, path, { ...asked, nvext })).text)
      expect(streamed).toHaveLength(plain.length + 1)
      expect(streamed.at(-1)).toBe('[DONE]')
      expect(streamed.at(-2)).toMatchObject({
        object: plain[0].object,
        choices: [],
        nvext: { worker_id: { decode_worker_id: 1 }, timing: { itl_ms: expect.any(Number) } },
      })
      expect(plain.some((event) => event.nvext !== undefined)).toBe(false)
    }
    const silent = await proxyOf([engine], { proxy: { tellsPlacement: false } })
    expect((await ask(silent, chatPath, body({ extra_fields: ['worker_id'] }))).json.nvext).toBeUndefined()
    const off = await proxyOf([engine], { proxy: { readsNvext: false } })
    expect((await ask(off, chatPath, body({ extra_fields: ['timing'] }))).json.nvext).toBeUndefined()
  })

  test('by a client that goes while its tokens are found: nothing is booked', async () => {
    const engine = await engineOf()
    const router = await proxyOf([engine], { proxy: { tokenizerOf: () => engine.modelFolder } })
    const leaver = new AbortController()
    const left = ask(router, chatPath, chat(long('five')), { signal: leaver.signal })
    await until('arrived', () => router.proxy.sizes.bodyBytes > 0)
    leaver.abort()
    await expect(left).rejects.toThrow()
    await until('over', () => router.finished.length === 1)
    expect(router.finished[0]!.ending).toBe('client_gone')
    expect([router.booked(), router.proxy.inFlight]).toEqual([0, 0])
  })
})
