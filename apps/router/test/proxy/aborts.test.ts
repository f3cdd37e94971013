import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { until } from '../until.js'
import { type ProxyHost, afterTest, ask, chat, chatPath, engineOf, proxyOf } from './support/proxies.js'

/** A client that says when it goes. */
function rawClient({ port }: ProxyHost, body: object, path = chatPath) {
  const socket = connect({ host: '127.0.0.1', port })
  const text = JSON.stringify(body)
  const client = {
    received: '',
    send: (part = text) => {
      const head = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n`
      socket.write(`${head}content-length: ${Buffer.byteLength(text)}\r\n\r\n${part}`)
      return client
    },
    leave: () => socket.destroy(),
    halfClose: () => socket.end(),
  }
  socket.on('data', (chunk) => (client.received += chunk.toString()))
  socket.on('error', () => undefined)
  afterTest(() => socket.destroy())
  return client
}

const slow = {
  speedup: 1,
  maxPassTokens: 16,
  maxRunning: 1,
  timing: { type: 'fixed', prefill_ms: 40, decode_ms: 40 },
} as const

describe.each([false, true])('F3, U39, U41: a client that goes away, stream: %s,', (stream) => {
  test('before the engine looked at its prompt, cancels upstream and frees its booking', async () => {
    const engine = await engineOf(slow)
    const router = await proxyOf([engine])
    engine.addFault({ kind: 'health_lies', says: 200 })
    const client = rawClient(router, chat('hi', { stream })).send()
    await until('arrived', () => engine.stats().ranks[0]!.waitingRequests === 1)
    expect(router.booked()).toBe(1)
    client.leave()
    await until('freed', () => router.booked() === 0)
    await until('cancelled', () => engine.stats().aborts.queued === 1)
    expect(router.finished).toMatchObject([{ ending: 'client_gone', status: 0, attempts: 1 }])
  })

  test('in a silent prefill', async () => {
    const engine = await engineOf(slow)
    const router = await proxyOf([engine])
    const client = rawClient(router, chat('word '.repeat(2000), { stream })).send()
    await until('admitted', () => engine.stats().ranks[0]!.prefixCacheQueriedTokens > 0)
    client.leave()
    await until('freed', () => router.booked() === 0)
    await until('cancelled', () => engine.stats().aborts.prefill === 1)
    expect(client.received).toBe('')
    expect(engine.stats().tokens.generated).toBe(0)
  })

  test('in the middle of the answer', async () => {
    const engine = await engineOf(slow)
    const router = await proxyOf([engine])
    const client = rawClient(router, chat('hi', { stream, max_tokens: 2000, ignore_eos: true })).send()
    await until('some tokens', () => engine.stats().ranks[0]!.generatedTokens > 2)
    if (stream) await until('some chunks', () => client.received.split('data:').length > 3)
    client.leave()
    await until('freed', () => router.booked() === 0)
    await until('cancelled', () => engine.stats().aborts.decode === 1)
  })
})

test('a client that only closes its half has gone too', async () => {
  const engine = await engineOf(slow)
  const router = await proxyOf([engine])
  const client = rawClient(router, chat('word '.repeat(2000))).send()
  await until('admitted', () => engine.stats().ranks[0]!.prefixCacheQueriedTokens > 0)
  client.halfClose()
  await until('cancelled', () => engine.stats().aborts.prefill === 1)
  await until('freed', () => router.booked() === 0)
})

test('a client that goes while it sends its body leaves nothing', async () => {
  const router = await proxyOf([await engineOf()])
  const client = rawClient(router, chat('hi')).send('{"model":')
  await until('arrived', () => router.proxy.inFlight === 1)
  expect(router.proxy.sizes.bodyBytes).toBeGreaterThan(0)
  client.leave()
  await until('over', () => router.proxy.inFlight === 0)
  expect(router.proxy.sizes.bodyBytes).toBe(0)
  expect(router.finished).toMatchObject([{ ending: 'client_gone', attempts: 0, model: undefined }])
})

test('U40: a stream is booked until its last chunk, its prefill until the first', async () => {
  const engine = await engineOf(slow)
  const router = await proxyOf([engine])
  const client = rawClient(
    router,
    chat('word '.repeat(10), { stream: true, max_tokens: 30, ignore_eos: true }),
  ).send()
  const load = () => {
    const partition = router.fleet.partitions[0]!.router
    return partition.ledger.loadOf(partition.slotOf(1n, 0))
  }
  await until('booked', () => router.booked() === 1)
  expect(load().activePrefillTokens).toBeGreaterThan(0)
  await until('some chunks', () => client.received.split('"content"').length > 3)
  expect(load().activePrefillTokens).toBe(0)
  expect(router.booked()).toBe(1)
  await until('done', () => client.received.includes('[DONE]'))
  await until('freed', () => router.booked() === 0)
})

test('U42: of two requests with one client id, one is cancelled', async () => {
  const engine = await engineOf({ speedup: 1, timing: { type: 'fixed', prefill_ms: 20, decode_ms: 20 } })
  const router = await proxyOf([engine])
  const headers = { 'x-request-id': 'same' }
  const leaver = new AbortController()
  const left = ask(router, chatPath, chat('a', { max_tokens: 500, ignore_eos: true }), {
    headers,
    signal: leaver.signal,
  })
  const stays = ask(router, chatPath, chat('b', { max_tokens: 20 }), { headers })
  await until('both arrived', () => engine.stats().in_flight === 2)
  leaver.abort()
  await expect(left).rejects.toThrow()
  expect((await stays).status).toBe(200)
  expect(Object.values(engine.stats().aborts).reduce((sum, count) => sum + count)).toBe(1)
  expect(router.booked()).toBe(0)
})

test('U17, U38: 1,000 aborts at random points leave no booking, no body and no request', async () => {
  const timing = { type: 'fixed', prefill_ms: 10, decode_ms: 5 } as const
  const engines = await Promise.all([engineOf({ speedup: 1, timing }), engineOf({ speedup: 1, timing })])
  const router = await proxyOf(engines)
  engines[0]!.addFault({ kind: 'error', status: 503, fraction: 0.2 })
  engines[1]!.addFault({ kind: 'cut', after_chunks: 2, fraction: 0.2 })
  let seed = 5
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
  const one = async (index: number): Promise<void> => {
    const leaver = new AbortController()
    const timer = random() < 0.9 ? setTimeout(() => leaver.abort(), random() * 50) : undefined
    const body = chat(`question ${index}`, { stream: random() < 0.5, max_tokens: 20 })
    await ask(router, chatPath, body, { signal: leaver.signal }).catch(() => undefined)
    clearTimeout(timer)
  }
  const left = () => router.finished.filter(({ ending }) => ending === 'client_gone').length
  for (let next = 0; next < 10_000 && left() < 1000; next += 40)
    await Promise.all(Array.from({ length: 40 }, (_, index) => one(next + index)))
  await until('all over', () => router.proxy.inFlight === 0)
  expect(left()).toBeGreaterThanOrEqual(1000)
  expect(router.proxy.sizes.waitingRetries).toBe(0)
  expect(router.booked()).toBe(0)
  expect(router.proxy.sizes.bodyBytes).toBe(0)
  expect(router.finished.some(({ ending }) => ending === 'answered')).toBe(true)
  for (const { router: partition } of router.fleet.partitions) expect(partition.ledger.audit()).toEqual([])
  await until('engines idle', () => engines.every((engine) => engine.stats().in_flight === 0))
}, 180_000)
