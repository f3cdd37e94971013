import type { MockEngine } from 'router-mock-engine'
import { describe, expect, test } from 'vitest'
import { ResponseOwners } from '../../src/proxy/response-owners.js'
import { ServedModels } from '../../src/proxy/served-models.js'
import { testFleet } from '../fleet/support.js'
import { until } from '../until.js'
import { type Json, ask, chat, chatPath, engineOf, proxyOf } from './support/proxies.js'

/** Name in the last request of an engine. */
const sentTo = (engine: MockEngine): string =>
  JSON.parse(Buffer.from(engine.requests().at(-1)!.bodyBase64, 'base64').toString()).model

const body = (model: string | undefined) => chat('hello there', { model, max_tokens: 1 })

describe('A7: models', () => {
  test('are the union of the workers that take requests, adapters with root and parent, and aliases', async () => {
    const [one, two] = await Promise.all([
      engineOf({ model: ['small', 'small-latest'], loraAdapters: [{ name: 'sql', path: '/loras/sql' }] }),
      engineOf({ model: 'large' }),
    ])
    const modelAliases = new Map([
      ['gpt-4', 'large'],
      ['gone', 'nobody'],
    ])
    const startSeconds = Math.floor(Date.now() / 1000)
    const router = await proxyOf([], { proxy: { modelAliases } })
    const first = router.add(one, { modelName: undefined })
    const second = router.add(two, { modelName: undefined })
    router.fleet.workers.learn(first, {
      models: [
        { id: 'small', root: 'org/small' },
        { id: 'small-latest', root: 'org/small' },
        { id: 'sql', root: '/loras/sql', parent: 'small' },
      ],
    })
    router.fleet.workers.learn(second, {
      models: [{ id: 'large', maxModelLen: 4096, createdSeconds: 1_700_000_000, ownedBy: 'org' }],
    })
    const { json } = await ask(router, '/v1/models')
    const facts = json.data.map(({ id, root, parent }: Record<string, unknown>) => ({ id, root, parent }))
    expect(facts).toEqual(
      expect.arrayContaining([
        { id: 'small', root: 'org/small', parent: null },
        { id: 'small-latest', root: 'org/small', parent: null },
        { id: 'sql', root: '/loras/sql', parent: 'small' },
        { id: 'large', root: 'large', parent: null },
        { id: 'gpt-4', root: 'large', parent: null },
      ]),
    )
    expect(facts).toHaveLength(5)
    const made = new Map<string, Json>(json.data.map((model: Json) => [model.id, model]))
    expect(made.get('large')).toMatchObject({ created: 1_700_000_000, owned_by: 'org', max_model_len: 4096 })
    expect(made.get('small').owned_by).toBe('router')
    expect(made.get('small').created).toBeGreaterThanOrEqual(startSeconds)
    expect(made.get('small').created).toBeLessThanOrEqual(Date.now() / 1000)
    const asked = async (model: string | undefined) => {
      const answer = await ask(router, chatPath, body(model))
      return [
        answer.status,
        answer.headers.get('x-router-worker'),
        answer.json.error?.code ?? answer.json.model,
      ]
    }
    expect(await asked('small')).toEqual([200, '1.0', 'small'])
    expect(await asked('small-latest')).toEqual([200, '1.0', 'small'])
    expect(sentTo(one)).toBe('small-latest')
    expect(await asked('sql')).toEqual([200, '1.0', 'sql'])
    expect(await asked('large')).toEqual([200, '2.0', 'large'])
    expect(await asked('gpt-4')).toEqual([200, '2.0', 'large'])
    expect(sentTo(two)).toBe('large')
    expect(await asked('none')).toEqual([404, null, 'not_found'])
    expect(await asked('gone')).toEqual([404, null, 'not_found'])
    expect(await asked(undefined)).toEqual([400, null, 'bad_request'])
    const { router: partition } = router.fleet.partitions.find(({ name }) => name.model === 'small')!
    expect(partition.ledger.live).toBe(0)
    router.fleet.workers.remove(second)
    await until('forgotten', () => router.fleet.workers.schedulable === 1)
  })

  test('whose workers take no requests now are not ready, nor is any while nobody tells; those that nobody ever offered do not exist', async () => {
    const engine = await engineOf({ loraAdapters: [{ name: 'sql', path: 'p' }] })
    let skewMs = 0
    const router = await proxyOf([], { nowMs: () => performance.now() + skewMs })
    const { workers } = router.fleet
    const asked = async (model: string | undefined) => {
      // What was known of the models is too old by then.
      skewMs += 2000
      const { status, json, headers } = await ask(router, chatPath, body(model))
      return [status, json.error?.code, headers.get('retry-after')]
    }
    const expectNotReady = async (...models: (string | undefined)[]) => {
      for (const model of ['mock-model', 'sql', undefined, ...models])
        expect(await asked(model)).toEqual([503, 'not_ready', '1'])
    }
    const expectUnknown = async () => expect(await asked('other')).toEqual([404, 'not_found', null])
    // Whoever comes may have any.
    await expectNotReady('other')
    router.add(engine, { modelName: undefined, endpoint: undefined })
    // It may be of any name, as long as nobody asked it.
    await expectNotReady('other')
    router.fleet.workers.upsert({ workerId: 1n, endpoint: engine.url, blockSize: 16 }, 'trusted')
    workers.learn(1n, { models: [{ id: 'mock-model' }, { id: 'sql', parent: 'mock-model' }] })
    expect(await asked('sql')).toEqual([200, undefined, null])
    await expectUnknown()
    workers.setHindrances(1n, [{ code: 'probe_failed', detail: 'gone', sinceMs: 0 }])
    await expectNotReady()
    await expectUnknown()
    workers.setHindrances(1n, [])
    expect(await asked(undefined)).toEqual([200, undefined, null])
    workers.drain(1n)
    await expectNotReady()
    await expectUnknown()
    workers.remove(1n)
    await expectNotReady('other')
  })

  test('are remembered up to a bound, those that left first', () => {
    const { fleet } = testFleet()
    let nowMs = 0
    const models = new ServedModels(fleet.workers, new Map(), () => (nowMs += 2000), 3)
    const codeOf = (name: string) => {
      try {
        models.resolve(name)
        return undefined
      } catch (error) {
        return (error as { code: string }).code
      }
    }
    for (const name of ['a', 'b', 'c', 'd']) {
      fleet.workers.upsert({ workerId: 1n, endpoint: 'http://w', blockSize: 16, modelName: name }, 'trusted')
      expect(codeOf(name)).toBeUndefined()
    }
    expect(['a', 'b', 'c', 'd'].map(codeOf)).toEqual([
      'not_found',
      'ROUTER_NOT_READY',
      'ROUTER_NOT_READY',
      undefined,
    ])
    expect(models.size).toBe(3)
  })

  test('the adapter sets its prompts apart, and goes to workers that serve it', async () => {
    const [with_, without] = await Promise.all([
      engineOf({ loraAdapters: [{ name: 'sql', path: 'p' }] }),
      engineOf(),
    ])
    const router = await proxyOf([])
    router.fleet.workers.learn(router.add(with_, { modelName: undefined }), {
      models: [{ id: 'mock-model' }, { id: 'sql', root: 'p', parent: 'mock-model' }],
    })
    router.fleet.workers.learn(router.add(without, { modelName: undefined }), {
      models: [{ id: 'mock-model' }],
    })
    const long = (model: string) =>
      chat('the same words again and again. '.repeat(20), { model, max_tokens: 1 })
    for (let turn = 0; turn < 4; turn++) {
      const answer = await ask(router, chatPath, long('sql'))
      expect(answer.headers.get('x-router-worker')).toBe('1.0')
      expect(Number(answer.headers.get('x-router-overlap-blocks')) > 0).toBe(turn > 0)
    }
    const base = await ask(router, chatPath, long('mock-model'))
    expect(base.headers.get('x-router-overlap-blocks')).toBe('0')
    // Nobody else serves it: a failure is final.
    with_.addFault({ kind: 'error', status: 503 })
    expect((await ask(router, chatPath, long('sql'))).status).toBe(503)
  })

  test('without a model in the body: the only one', async () => {
    const engine = await engineOf()
    const router = await proxyOf([engine])
    expect((await ask(router, '/tokenize', { prompt: 'hello' })).status).toBe(200)
    expect(router.finished).toMatchObject([{ model: 'mock-model' }])
    const nobody = await proxyOf([])
    expect((await ask(nobody, '/tokenize', { prompt: 'hello' })).status).toBe(503)
    expect((await ask(nobody, '/v1/models')).json).toEqual({ object: 'list', data: [] })
  })
})

describe('A7: responses stay with the worker that holds them', () => {
  test('the next turn, reading and cancelling go there; unknown ids are 404', async () => {
    const engines = await Promise.all([engineOf(), engineOf(), engineOf()])
    const router = await proxyOf(engines)
    const path = '/v1/responses'
    const ask1 = (more: object) => ask(router, path, { model: 'mock-model', max_output_tokens: 2, ...more })
    const first = await ask1({ input: 'one' })
    expect(first.status).toBe(200)
    const holder = first.headers.get('x-router-worker')!
    let previous = first.json.id as string
    for (let turn = 0; turn < 4; turn++) {
      const next = await ask1({ input: 'and then?', previous_response_id: previous, stream: turn === 1 })
      expect(next.headers.get('x-router-worker')).toBe(holder)
      previous = next.json?.id ?? /"id":"(resp_[^"]+)"/.exec(next.text)![1]!
    }
    const read = await ask(router, `${path}/${previous}`)
    expect([read.status, read.json.id]).toEqual([200, previous])
    for (const seen of ['/v1/models', `${path}/${previous}`]) {
      const whole = await ask(router, seen)
      const head = await ask(router, seen, undefined, { method: 'HEAD' })
      expect([head.status, head.text, head.headers.get('content-length')]).toEqual([
        200,
        '',
        whole.headers.get('content-length'),
      ])
    }
    const background = await ask1({ input: 'slowly', background: true, store: true })
    expect(
      (await ask(router, `${path}/${background.json.id}/cancel`, undefined, { method: 'POST' })).status,
    ).toBe(200)
    const unknown = await ask(router, `${path}/resp_nobody`)
    expect([unknown.status, unknown.json.error.code]).toEqual([404, 'not_found'])
    // Nobody is known to hold it: like any other request.
    const lost = await ask1({ input: 'x', previous_response_id: 'resp_nobody' })
    expect(lost.headers.get('x-router-request-id')).not.toBeNull()
    expect(router.booked()).toBe(0)
    expect(router.proxy.sizes.responses).toBe(6)
    // Its holder has left: the others say that they do not know it.
    router.fleet.workers.remove(BigInt(holder.split('.')[0]!))
    const orphan = await ask1({ input: 'and then?', previous_response_id: previous })
    expect([orphan.status, router.finished.at(-1)!.ending]).toEqual([404, 'answered'])
    expect((await ask(router, `${path}/${previous}`)).status).toBe(404)
  })

  test('one that is still generated is read and cancelled by its id, also when its stream was left', async () => {
    const slow = { speedup: 1, replyTokens: 5000 }
    const router = await proxyOf([await engineOf(slow), await engineOf(slow)])
    const abort = new AbortController()
    const { body } = await fetch(`${router.url}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'mock-model', input: 'slowly', background: true, stream: true }),
      signal: abort.signal,
    })
    const { value } = await body!.getReader().read()
    const [, id] = /"id":"(resp_[^"]+)"/.exec(new TextDecoder().decode(value))!
    const status = async (path = '', method = 'GET') =>
      (await ask(router, `/v1/responses/${id}${path}`, undefined, { method })).json.status
    expect(await status()).toBe('in_progress')
    abort.abort()
    await until('freed', () => router.booked() === 0)
    expect(await status()).toBe('in_progress')
    expect(await status('/cancel', 'POST')).toBe('cancelled')
  })

  test('the last ids are known, however many come', () => {
    const owners = new ResponseOwners(100)
    for (let id = 0; id < 250; id++) owners.set(`resp_${id}`, BigInt(id))
    owners.set('resp_150', 7n)
    owners.set('resp_250', 250n)
    expect(owners.size).toBe(100)
    expect([owners.get('resp_149'), owners.get('resp_150'), owners.get('resp_151')]).toEqual([
      undefined,
      7n,
      undefined,
    ])
    expect(owners.get('resp_152')).toBe(152n)
  })
})
