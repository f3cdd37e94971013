import { afterEach, expect, it, vi } from 'vitest'
import type * as ZeroMq from 'zeromq'
import { SocketWorker, numbered } from './support/socket-worker.js'
import { TestEngine, until } from './support/test-engine.js'

const limit = vi.hoisted(() => ({ isReached: false }))
vi.mock('zeromq', async (importOriginal) => {
  const zeromq = await importOriginal<typeof ZeroMq>()
  const check = (): void => {
    if (limit.isReached) throw new Error('Too many open file descriptors')
  }
  return {
    ...zeromq,
    Dealer: class extends zeromq.Dealer {
      constructor(...options: ConstructorParameters<typeof ZeroMq.Dealer>) {
        check()
        super(...options)
      }
    },
    Subscriber: class extends zeromq.Subscriber {
      constructor(...options: ConstructorParameters<typeof ZeroMq.Subscriber>) {
        check()
        super(...options)
      }
    },
  }
})

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  limit.isReached = false
  for (const close of closing.splice(0)) await close()
})

function worker(): SocketWorker {
  const one = new SocketWorker()
  closing.unshift(() => one.close())
  return one
}

it('follows as many ranks as a large fleet has', () => {
  const one = worker()
  for (let socketRank = 0; socketRank < 400; socketRank++)
    one.open({ socketRank, endpointOffset: 0, endpoint: 'tcp://127.0.0.1:9' })
  expect(one.worker.reports).toHaveLength(400)
})

it('refuses a rank for which there is no socket, and takes it when there is one', () => {
  const one = worker()
  limit.isReached = true
  expect(() => one.open({ endpoint: 'tcp://127.0.0.1:9' })).toThrow('Too many open file descriptors')
  limit.isReached = false
  one.open({ endpoint: 'tcp://127.0.0.1:9' })
  expect(one.worker.reports).toHaveLength(1)
})

it('lives on without a socket to ask for a replay', async () => {
  const engine = new TestEngine()
  closing.push(() => engine.stop())
  const { events, replay } = await engine.start()
  let atMs = 0
  const one = worker()
  one.open({ endpoint: events, replayEndpoint: replay, nowMs: () => atMs })
  limit.isReached = true
  await until('asked for', () => one.state === 'recovering')
  atMs = 6000
  await engine.publish(3, numbered(3))
  await until('given up', () => one.log.length === 1)
  expect(one.worker.reports).toMatchObject([{ state: 'rebuilding' }])
})

it('leaves a publisher that sends what would not fit into memory, and comes back', async () => {
  const engine = new TestEngine()
  closing.push(() => engine.stop())
  const { events } = await engine.start()
  const one = worker()
  one.open({ endpoint: events })
  await until('subscribed', () => engine.subscriptions === 1)
  await engine.publish(0, new Uint8Array(33 * 2 ** 20))
  await until('subscribed again', () => engine.subscriptions === 2)
  await engine.publish(1, numbered(1))
  await until('applied', () => one.log.length === 1)
})
