import { describe, expect, it } from 'vitest'
import { startedRouter } from '../clients/started-router.js'
import { until } from '../until.js'

// What a router does in front of engines, in one file, because each file loads both anew.

const slow = {
  speedup: 1,
  replyTokens: 5000,
  timing: { type: 'fixed', prefill_ms: 1, decode_ms: 20 },
} as const

const kv = await startedRouter({
  workerFields: 'model_name=mock-model,block_size=16',
  engines: [{}, {}, { faults: [{ kind: 'hang', path: '/metrics' }] }],
})
const twoOf = await startedRouter({
  settings: { ROUTER_MODE: 'power-of-two' },
  engines: [slow, slow].map((options) => ({
    ...options,
    faults: [{ kind: 'error' as const, status: 400 as const, path: '/metrics' }],
  })),
})

type Message = readonly [role: 'system' | 'user' | 'assistant', content: string]

async function chat(
  url: string,
  messages: readonly Message[],
  more: { maxTokens?: number; headers?: Record<string, string>; signal?: AbortSignal } = {},
) {
  const body = {
    model: 'mock-model',
    messages: messages.map(([role, content]) => ({ role, content })),
    max_tokens: more.maxTokens ?? 1,
  }
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...more.headers },
    body: JSON.stringify(body),
    ...(more.signal && { signal: more.signal }),
  })
  const { usage } = (await response.json()) as { usage: { prompt_tokens_details: { cached_tokens: number } } }
  return {
    status: response.status,
    worker: response.headers.get('x-router-worker')!,
    predictedBlocks: Number(response.headers.get('x-router-overlap-blocks')),
    cachedTokens: usage.prompt_tokens_details.cached_tokens,
  }
}

const words = (name: string, count: number): string =>
  Array.from({ length: count }, (_, at) => `${name} ${at}`).join(', ')

describe('what is in a cache', () => {
  it('U9: of two chats that begin alike only what they share is predicted, as their engine finds it', async () => {
    const begin: Message[] = [
      ['system', words('rule', 60)],
      ['user', words('question', 60)],
      ['assistant', words('answer', 20)],
    ]
    const ask = async (next: string) => {
      const answer = await chat(kv.url, [...begin, ['user', words(next, 40)]])
      await until('freed', () => kv.booked() === 0)
      return answer
    }
    const first = await ask('why')
    const other = await ask('how')
    const again = await ask('how')
    expect(first).toMatchObject({ status: 200, predictedBlocks: 0, cachedTokens: 0 })
    for (const { worker, predictedBlocks, cachedTokens } of [other, again])
      expect([worker, 16 * predictedBlocks]).toEqual([first.worker, cachedTokens])
    expect(other.predictedBlocks).toBeGreaterThan(10)
    expect(again.predictedBlocks).toBeGreaterThan(other.predictedBlocks + 5)
  })
})

describe('a worker that tells nothing of its load', () => {
  it('U16: gets its share of 120 prompts, though its metrics never come', async () => {
    const shares = new Map<string, number>()
    for (let batch = 0; batch < 20; batch++) {
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, at) => chat(kv.url, [['user', `${batch} and ${at} as every time`]])),
      )
      for (const { worker } of answers) shares.set(worker, (shares.get(worker) ?? 0) + 1)
    }
    expect(shares.size).toBe(3)
    for (const share of shares.values()) expect(share).toBeGreaterThanOrEqual(20)
  })

  it('U44: power of two goes by the bookings of the router, not by chance, and says what is unknown', async () => {
    const { causes } = (await (await fetch(`${twoOf.url}/health`)).json()) as {
      causes: { code: string; scope: string }[]
    }
    const assumed = causes.filter(({ code }) => code === 'block_size_assumed').map(({ scope }) => scope)
    const ids = twoOf.router.fleet.workers.list().map(({ registration }) => String(registration.workerId))
    expect(assumed.toSorted()).toEqual(ids.toSorted())
    for (const id of ids) {
      const gone = new AbortController()
      const held = chat(twoOf.url, [['user', 'hold']], {
        maxTokens: 5000,
        headers: { 'x-dynamo-worker-instance-id': id },
        signal: gone.signal,
      })
      await until('held', () => twoOf.booked() === 1)
      const workers = new Set<string>()
      for (let at = 0; at < 12; at++) {
        workers.add((await chat(twoOf.url, [['user', `short ${at}`]])).worker)
        await until('freed', () => twoOf.booked() === 1)
      }
      expect([...workers]).toEqual(ids.filter((other) => other !== id).map((other) => `${other}.0`))
      gone.abort()
      await expect(held).rejects.toThrow()
      await until('gone', () => twoOf.booked() === 0)
    }
  })
})

/** Every path that takes requests of a model, with a body for it. */
const frontDoors = {
  '/v1/chat/completions': { messages: [{ role: 'user', content: 'hi' }] },
  '/v1/completions': { prompt: 'hi' },
  '/v1/responses': { input: 'hi' },
  '/v1/messages': { messages: [{ role: 'user', content: 'hi' }], max_tokens: 5 },
  '/v1/messages/count_tokens': { messages: [{ role: 'user', content: 'hi' }] },
  '/v1/embeddings': { input: 'hi' },
  '/v1/rerank': { query: 'hi', documents: ['a'] },
  '/v1/score': { text_1: 'a', text_2: 'b' },
  '/pooling': { input: 'hi' },
  '/tokenize': { prompt: 'hi' },
  '/detokenize': { tokens: [1] },
}

it('U15: every front door books what it sends, in the books of all', async () => {
  for (const engine of kv.engines)
    for (const path of Object.keys(frontDoors)) engine.addFault({ kind: 'hang', path })
  const gone = new AbortController()
  const send = (url: string, body: object) =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: gone.signal,
    })
  const sent: Promise<unknown>[] = []
  for (const [path, body] of Object.entries(frontDoors)) {
    sent.push(send(kv.url + path, { model: 'mock-model', ...body }))
    await until(`${path} is booked`, () => kv.booked() === sent.length)
  }
  const booking = { model_name: 'mock-model', token_ids: [1, 2, 3] }
  const [worker] = kv.router.fleet.workers.list()
  const workerId = String(worker!.registration.workerId)
  const ids = ['a', 'b', 'c', 'd']
  const doors = [kv.url, kv.router.selectionUrl!]
  for (const [at, url] of doors.entries()) {
    const [selected, named] = ids.slice(2 * at)
    const select = { ...booking, selection_id: selected }
    expect((await send(`${url}/select_and_reserve`, select)).status).toBe(200)
    const reservation = { ...booking, selection_id: named, worker_id: workerId }
    expect((await send(`${url}/reservations`, reservation)).status).toBe(201)
  }
  const requests = kv.router.fleet.partitions
    .flatMap((partition) => kv.router.fleet.loads(partition))
    .reduce((sum, { activeRequests }) => sum + activeRequests, 0)
  expect([kv.booked(), requests]).toEqual([sent.length + 4, sent.length + 4])
  gone.abort()
  await Promise.allSettled(sent)
  await until('what the proxy booked is free', () => kv.booked() === 4)
  for (const id of ids)
    expect((await fetch(`${kv.url}/reservations/${id}`, { method: 'DELETE' })).status).toBe(200)
  expect(kv.booked()).toBe(0)
})
