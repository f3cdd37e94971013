import { Agent, request } from 'node:http'
import { expect, it } from 'vitest'
import type { RunningRouter } from '../../src/service/router-service.js'
import { parseWorkerFlag } from '../../src/workers/sources/worker-flags.js'
import { type Answer, afterTest, ask, engineOf, eventsOf } from '../proxy/support/proxies.js'
import { routerOf, toldEngine } from '../service/support.js'
import { until } from '../until.js'

const path = '/v1/completions'

const booked = ({ fleet }: RunningRouter) =>
  fleet.partitions.reduce((sum, { router }) => sum + router.ledger.live, 0)
const audited = ({ fleet }: RunningRouter) => fleet.partitions.flatMap(({ router }) => router.ledger.audit())

/** Asks with 160 token ids: ten blocks, which are others for each number. */
function askFor(router: RunningRouter, number: number, more: object = {}): Promise<Answer> {
  const prompt = Array.from({ length: 160 }, (_, at) => 1 + ((number + at * (1 + (number % 7))) % 250))
  return ask(router, path, { model: 'mock-model', prompt, max_tokens: 2, ...more })
}

it('U34, U32: workers that are added and removed while requests run keep none of them waiting, and leave clean books', async () => {
  const [stays, ...others] = await Promise.all([engineOf(), toldEngine(), toldEngine()])
  const router = await routerOf([stays!])
  const statuses: number[] = []
  let isOver = false
  const asking = Array.from({ length: 4 }, async (_, lane) => {
    for (let at = 0; !isOver || at < 5; at++) statuses.push((await askFor(router, 50 + 8 * at + lane)).status)
  })
  for (let change = 0; change < 8; change++) {
    const { url: endpoint, port, kvEventsEndpoints } = others[change % 2]!
    const record = { worker_id: port, endpoint, model_name: 'mock-model', block_size: 16 }
    const added = await ask(router, '/workers', { ...record, kv_events_endpoint: kvEventsEndpoints[0] })
    expect(added.status).toBe(201)
    const before = statuses.length
    await until('requests ended meanwhile', () => statuses.length >= before + 3)
    const drains = change === 0 ? '?drain=true' : ''
    const removed = await ask(router, `/workers/${port}${drains}`, undefined, { method: 'DELETE' })
    expect(removed.status).toBe(200)
    await until('it is gone', () => router.fleet.workers.get(BigInt(port)) === undefined)
  }
  isOver = true
  await Promise.all(asking)
  expect(new Set(statuses)).toEqual(new Set([200]))
  await until('nothing is booked', () => booked(router) === 0)
  expect(audited(router)).toEqual([])
  expect(others.every((engine) => (engine.stats().requests[path]?.['200'] ?? 0) > 0)).toBe(true)
})

it('F1: without retries a worker killed in mid-stream costs its stream one error event, and the connection nothing', async () => {
  const timing = { type: 'fixed', prefill_ms: 1, decode_ms: 10 } as const
  const [first, second] = [await engineOf({ speedup: 1, timing }), await engineOf()]
  const router = await routerOf([first], { 'retry-limit': '0' })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  afterTest(() => agent.destroy())
  const ports: (number | undefined)[] = []
  const stream = (onData: () => void): Promise<string> =>
    new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json' }
      const sent = request(router.url + path, { method: 'POST', agent, headers }, (answer) => {
        ports.push(answer.socket.localPort)
        let text = ''
        answer.on('data', (chunk) => {
          text += String(chunk)
          onData()
        })
        answer.on('end', () => resolve(text))
        answer.on('error', reject)
      })
      sent.on('error', reject)
      const body = { model: 'mock-model', prompt: 'go on', max_tokens: 500, ignore_eos: true, stream: true }
      sent.end(JSON.stringify(body))
    })
  const broken = eventsOf(await stream(() => first.crash()))
  expect(broken.length).toBeGreaterThan(1)
  expect(broken.filter((event) => event.error !== undefined)).toEqual([broken.at(-1)])
  expect(broken.at(-1).error.code).toBe('upstream_failed')
  expect(broken).not.toContain('[DONE]')
  expect(booked(router)).toBe(0)
  const { workers } = router.fleet
  const { registration } = parseWorkerFlag(second.url)
  workers.upsert(registration, 'trusted')
  await until('another serves', () => workers.get(registration.workerId)!.lifecycle === 'schedulable')
  expect(eventsOf(await stream(() => undefined)).at(-1)).toBe('[DONE]')
  expect(ports[1]).toBe(ports[0])
})

it('U35: a router that starts anew knows what its engines hold: from their replay sockets, or it says what it lacks', async () => {
  const events = { endpoint: 'tcp://127.0.0.1:0' }
  const [told, silent] = [await toldEngine(), await engineOf({ events })]
  const flagOf = ({ url, kvEventsEndpoints, replayEndpoints }: typeof told) => ({
    url: [
      url,
      ...kvEventsEndpoints.map((endpoint) => `kv_events_endpoint=${endpoint}`),
      ...replayEndpoints.map((endpoint) => `replay_endpoint=${endpoint}`),
    ].join(','),
  })
  const idOf = (engine: typeof told) => parseWorkerFlag(engine.url).registration.workerId
  const blocksOf = ({ fleet }: RunningRouter, engine: typeof told) => {
    const { router } = fleet.partitions[0]!
    return router.index.sizeOf(router.slotOf(idOf(engine), 0))
  }
  const fill = async (router: RunningRouter) => {
    for (const engine of [told, silent])
      await askFor(router, 0, { nvext: { backend_instance_id: String(idOf(engine)) } })
  }
  const first = await routerOf([flagOf(told), flagOf(silent)])
  await fill(first)
  await until('what they hold is known', () => blocksOf(first, told) === 10 && blocksOf(first, silent) === 10)
  await first.close()

  const again = await routerOf([flagOf(told), flagOf(silent)])
  await until('it was told again', () => blocksOf(again, told) === 10)
  expect(again.causes.list().filter(({ scope }) => scope === `${idOf(told)}.0`)).toEqual([])
  expect(blocksOf(again, silent)).toBe(0)
  // What the other one tells next shows that it told more before.
  const saysSo = () =>
    again.causes
      .list()
      .some(({ code, scope }) => code === 'index_started_empty' && scope === `${idOf(silent)}.0`)
  for (let number = 1; !saysSo(); number++)
    await askFor(again, number, { nvext: { backend_instance_id: String(idOf(silent)) } })
})
