import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { lowOf, highOf } from '@router/kv-index'
import { afterEach, describe, expect, it } from 'vitest'
import { SocketWorker } from './support/socket-worker.js'
import { until } from './support/test-engine.js'

const hasPython = spawnSync('python3', ['-c', 'import zmq, msgpack']).status === 0
const why = hasPython ? '' : ' (skipped: no python3 with pyzmq and msgpack)'

/** An engine in another language and another process. */
class PythonEngine {
  readonly asked: number[] = []
  ports: readonly number[] = []
  readonly #process: ChildProcessWithoutNullStreams

  constructor() {
    this.#process = spawn('python3', [fileURLToPath(new URL('support/engine.py', import.meta.url))])
    createInterface(this.#process.stdout).on('line', (line) => {
      const { ports, asked } = JSON.parse(line)
      if (ports !== undefined) this.ports = ports
      if (asked !== undefined) this.asked.push(asked)
    })
  }

  batch(events: readonly object[], more: object = {}): void {
    this.#process.stdin.write(`${JSON.stringify({ ts: 1700000000.5, events, ...more })}\n`)
  }

  async stop(): Promise<void> {
    const exited = new Promise((resolve) => this.#process.once('exit', resolve))
    this.#process.stdin.end()
    await exited
  }
}

const stored = (hashes: readonly number[], parent: number | null = null) => ({
  type: 'stored',
  hashes,
  parent,
  block_size: 4,
  tokens: hashes.flatMap((hash) => [hash % 1000, 151_643, 2, 3]),
})

describe.skipIf(!hasPython)(`a publisher in Python${why}`, () => {
  let engine: PythonEngine
  const one = { current: new SocketWorker() }
  afterEach(async () => {
    await one.current.close()
    await engine.stop()
  })
  const holds = (hash: number, rank = 0) =>
    one.current.index.holds(rank, 0, lowOf(BigInt(hash)), highOf(BigInt(hash)))

  async function open(): Promise<void> {
    one.current = new SocketWorker()
    engine = new PythonEngine()
    await until('started', () => engine.ports.length === 2)
  }

  function connect(): void {
    const [events, replay] = engine.ports.map((port) => `tcp://127.0.0.1:${port}`)
    one.current.open({ endpoint: events!, replayEndpoint: replay })
  }

  it('is followed from its first batch on, also when we come late', async () => {
    await open()
    engine.batch([stored([1, 2])])
    engine.batch([stored([2 ** 53 - 1], 2)])
    engine.batch([stored([7])], { rank: 3 })
    connect()
    await until('caught up', () => one.current.state === 'live' && holds(7, 3))
    expect([holds(1), holds(2), holds(2 ** 53 - 1)]).toEqual([true, true, true])
    engine.batch([{ type: 'removed', hashes: [2 ** 53 - 1] }])
    // A live batch that comes before the subscription is known shows as a gap of the next one.
    await until('removed', () => {
      engine.batch([])
      return !holds(2 ** 53 - 1)
    })
    engine.batch([{ type: 'cleared' }], { rank: 3 })
    await until('cleared', () => !holds(7, 3))
    expect([holds(1), one.current.state]).toEqual([true, 'live'])
  })

  it('fills a gap when asked, once', async () => {
    await open()
    connect()
    await until('connected', () => one.current.state === 'live')
    await until('subscribed', () => {
      engine.batch([])
      return one.current.worker.reports[0]!.cursor !== undefined
    })
    await until('settled', () => one.current.state === 'live')
    const before = engine.asked.length
    engine.batch([stored([1])], { lose: true })
    engine.batch([stored([2], 1)], { lose: true })
    engine.batch([stored([3], 2)])
    await until('filled', () => holds(3) && one.current.state === 'live')
    expect([holds(1), holds(2)]).toEqual([true, true])
    expect(engine.asked.length).toBe(before + 1)
  })
})
