import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type MockEngine, startMockEngine } from 'router-mock-engine'
import { afterEach, describe, expect, it } from 'vitest'
import { loopbackHosts } from '../../src/fleet/endpoint-rules.js'
import { readWorkerSources } from '../../src/workers/sources/read-worker-sources.js'
import { type StartWorkersOptions, startWorkers } from '../../src/workers/start-workers.js'
import { testFleet } from '../fleet/support.js'
import { until } from '../until.js'

const opened: (() => unknown)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close()
})

async function engineFor(): Promise<MockEngine> {
  const engine = await startMockEngine({ speedup: 1000 })
  opened.push(() => engine.close())
  return engine
}

async function start(sources: StartWorkersOptions['sources']) {
  const { fleet } = testFleet({ learnsFacts: true, usesKvEvents: false }, { clock: () => performance.now() })
  opened.push(() => fleet.dispose())
  const running = await startWorkers({
    fleet,
    sources,
    allowedHosts: loopbackHosts,
    settings: { probeMs: 20, suspectProbeMs: 10, probeTimeoutMs: 20_000 },
  })
  opened.push(() => running.close())
  return { ...running, fleet }
}

describe('workers of a started router', () => {
  it('swapping the worker file moves everything to the new ones: no probe goes to one that left (U37)', async () => {
    const [first, second] = [await engineFor(), await engineFor()]
    const folder = await mkdtemp(join(tmpdir(), 'workers-'))
    opened.push(() => rm(folder, { recursive: true }))
    const file = join(folder, 'workers.yaml')
    const write = async (url: string) => {
      await writeFile(`${file}.new`, `workers:\n  - endpoint: ${url}\n`)
      await rename(`${file}.new`, file)
    }
    await write(first.url)
    const { fleet, findings } = await start(readWorkerSources({ workerFile: 'workers.yaml', folder }))
    const urls = () => fleet.workers.list().map(({ registration }) => registration.endpoint)
    await until('the first serves', () => fleet.workers.schedulable === 1)
    await write(second.url)
    await until('only the second is left', () => urls().join() === second.url)
    await until('it serves', () => fleet.workers.schedulable === 1)
    const probes = (engine: MockEngine) => engine.stats().requests['/health']?.['200'] ?? 0
    const [before, secondBefore] = [probes(first), probes(second)]
    await until('the second is probed again', () => probes(second) > secondBefore + 5)
    // One may have been on its way.
    expect(before).toBeGreaterThan(5)
    expect(probes(first) - before).toBeLessThanOrEqual(1)
    await writeFile(file, 'workers: [')
    await until('the cause is there', () => findings().some(({ code }) => code === 'discovery_invalid'))
    expect(urls()).toEqual([second.url])
  })

  it('a name is looked up as the system does', async () => {
    const engine = await engineFor()
    const { fleet } = await start(readWorkerSources({ workerDns: [`localhost:${engine.port}`] }))
    await until('the engine serves', () => fleet.workers.schedulable === 1)
    const { registration } = fleet.workers.list().find(({ lifecycle }) => lifecycle === 'schedulable')!
    expect(registration).toMatchObject({ endpoint: engine.url, modelName: 'mock-model', blockSize: 16 })
  })

  it('a file that is not there is an error, and leaves nothing running', async () => {
    await expect(start({ file: join(tmpdir(), 'no-such-folder', 'workers.yaml') })).rejects.toMatchObject({
      code: 'ROUTER_CONFIG_READ',
    })
  })
})

describe('what flags and variables say', () => {
  it('flags win, kind by kind; paths are those of the folder', () => {
    const environment = {
      ROUTER_WORKER: 'http://a:1,block_size=32,api_key_file=key',
      ROUTER_WORKER_URLS: 'http://b:1, http://c:1',
      ROUTER_WORKER_FILE: 'workers.yaml',
      ROUTER_WORKER_DNS: 'one:1,two:2',
    }
    const read = (...flags: Parameters<typeof readWorkerSources>) => {
      const {
        flags: entries = [],
        file,
        dns = [],
      } = readWorkerSources({ environment, folder: '/etc', ...flags[0] })
      return [entries.map(({ registration }) => registration.endpoint), file, dns.map(({ host }) => host)]
    }
    expect(read({})).toEqual([
      ['http://a:1', 'http://b:1', 'http://c:1'],
      '/etc/workers.yaml',
      ['one', 'two'],
    ])
    expect(read({ worker: ['http://d:1'], workerFile: '/x', workerDns: ['three:3'] })).toEqual([
      ['http://d:1', 'http://b:1', 'http://c:1'],
      '/x',
      ['three'],
    ])
    expect(readWorkerSources({ environment, folder: '/etc' }).flags![0]!.apiKeyFile).toBe('/etc/key')
    expect(readWorkerSources({})).toEqual({ flags: [], file: undefined, dns: [] })
  })

  it('every fault is named, with where it stands', () => {
    const environment = { ROUTER_WORKER_DNS: 'x' }
    let message = ''
    try {
      readWorkerSources({ worker: ['a:1', 'http://b:1'], workerUrls: 'http://b:1/,c', environment })
    } catch (error) {
      message = (error as Error).message
      expect(error).toMatchObject({ code: 'ROUTER_CONFIG_INVALID' })
    }
    expect(message.split('\n').map((line) => line.split(':')[0])).toEqual([
      '--worker',
      '--worker-urls',
      'ROUTER_WORKER_DNS',
    ])
    expect(() => readWorkerSources({ worker: ['http://b:1'], workerUrls: 'http://b:1/' })).toThrow(
      'each worker once',
    )
  })
})
