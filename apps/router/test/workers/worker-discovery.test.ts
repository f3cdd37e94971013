import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { platform, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { readWatchedFile } from '../../src/workers/sources/watched-file.js'
import { WorkerDiscovery, type WorkerSources } from '../../src/workers/sources/worker-discovery.js'
import { parseWorkerFlag } from '../../src/workers/sources/worker-flags.js'
import { testFleet } from '../fleet/support.js'
import { ManualTimers, settled } from './support.js'

const path = '/etc/router/workers.yaml'
const urlOf = (id: number | string) => `http://10.0.0.${id}:8000`
const fileOf = (...ids: (number | string)[]) =>
  JSON.stringify({ workers: ids.map((id) => ({ endpoint: urlOf(id), model_name: 'm', block_size: 16 })) })

const opened: { close(): void }[] = []
afterEach(() => {
  for (const each of opened.splice(0)) each.close()
})

/** A fleet that follows sources made up: files by path, names by host. */
async function discover(
  sources: WorkerSources,
  files: Record<string, string> = {},
  names: Record<string, string[]> = {},
) {
  const { fleet, clock } = testFleet({ usesKvEvents: false })
  const timers = new ManualTimers(clock)
  const reads: { count: number; gate?: Promise<void> } = { count: 0 }
  const discovery = new WorkerDiscovery({
    workers: fleet.workers,
    timers,
    sources,
    readFile: async (file) => {
      reads.count++
      await reads.gate
      const text = files[file]
      if (text === undefined) throw new Error(`${file} is not there`)
      return text
    },
    resolve: async (host) => {
      const addresses = names[host]
      if (addresses === undefined) throw new Error('the resolver does not answer')
      return addresses
    },
  })
  opened.push({
    close: () => {
      discovery.close()
      fleet.dispose()
    },
  })
  await discovery.start()
  await settled()
  return {
    fleet,
    workers: fleet.workers,
    discovery,
    timers,
    files,
    names,
    reads,
    urls: () =>
      fleet.workers
        .list()
        .map(({ registration }) => registration.endpoint!)
        .toSorted(),
    findings: () => discovery.findings().map(({ code, scope }) => [code, scope]),
  }
}

describe('a worker file that is watched', () => {
  it('adds at the next look what is new, and removes what is gone in two looks 2 s apart', async () => {
    const { files, timers, urls } = await discover({ file: path }, { [path]: fileOf(1, 2) })
    expect(urls()).toEqual([urlOf(1), urlOf(2)])
    files[path] = fileOf(2, 3)
    await timers.advance(1000)
    expect(urls()).toEqual([urlOf(1), urlOf(2), urlOf(3)])
    await timers.advance(1999)
    expect(urls()).toHaveLength(3)
    await timers.advance(1)
    expect(urls()).toEqual([urlOf(2), urlOf(3)])
  })

  it('F4: does not remove what is back within that time', async () => {
    const { files, timers, urls } = await discover({ file: path }, { [path]: fileOf(1, 2) })
    for (let flap = 0; flap < 5; flap++) {
      files[path] = fileOf(1)
      await timers.advance(2000)
      expect(urls()).toHaveLength(2)
      files[path] = fileOf(1, 2)
      await timers.advance(1000)
    }
  })

  it('that is invalid leaves the workers as they were, says where, and recovers (U55)', async () => {
    const { files, timers, urls, discovery, findings } = await discover({ file: path }, { [path]: fileOf(1) })
    files[path] = 'workers:\n  - endpoint: http://a:1\n    blok_size: 16\n'
    await timers.advance(3000)
    expect(urls()).toEqual([urlOf(1)])
    expect(findings()).toEqual([['discovery_invalid', path]])
    expect(discovery.findings()[0]!.detail).toContain(`${path}:3:5`)
    delete files[path]
    await timers.advance(10_000)
    expect([urls(), findings()]).toEqual([[urlOf(1)], [['discovery_invalid', path]]])
    expect(discovery.findings()[0]!.detail).toContain('is not there')
    files[path] = fileOf(2)
    await timers.advance(3000)
    expect([urls(), findings()]).toEqual([[urlOf(2)], []])
  })

  it('that is invalid at the start is an error', async () => {
    await expect(discover({ file: path }, { [path]: 'workers: 1' })).rejects.toMatchObject({
      code: 'ROUTER_CONFIG_INVALID',
    })
    await expect(discover({ file: path })).rejects.toThrow('is not there')
  })

  it.skipIf(platform() === 'win32')('that is no file, or is too large, is not read at all', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'router-workers-'))
    const huge = join(folder, 'huge.yaml')
    writeFileSync(huge, '')
    truncateSync(huge, 64 * 2 ** 20 + 1)
    symlinkSync('/dev/null', join(folder, 'device.yaml'))
    const refused = { code: 'ROUTER_CONFIG_READ', message: expect.stringContaining('accepted: a file') }
    await expect(readWatchedFile(huge).then(() => 'read')).rejects.toMatchObject(refused)
    await expect(readWatchedFile(join(folder, 'device.yaml'))).rejects.toMatchObject(refused)
    truncateSync(huge, 0)
    expect(await readWatchedFile(huge)).toBe('')
    rmSync(folder, { recursive: true })
  })

  it('changes records where they are; what did not change stays as the API left it', async () => {
    const { files, timers, workers } = await discover({ file: path }, { [path]: fileOf(1, 2) })
    const [one, two] = workers.list().map(({ registration }) => registration.workerId)
    workers.drain(two!)
    workers.patch(one!, { taints: ['spot'] })
    files[path] = fileOf(2, 1)
    await timers.advance(5000)
    expect(workers.get(two!)!.lifecycle).toBe('draining')
    expect(workers.get(one!)!.registration.taints).toEqual(['spot'])
    files[path] = files[path].replaceAll('"m"', '"n"')
    await timers.advance(1000)
    expect(workers.get(one!)!.registration).toMatchObject({ modelName: 'n', taints: undefined })
  })

  it('a worker that the API registered anew is the API’s, and stays', async () => {
    const { files, timers, workers } = await discover({ file: path }, { [path]: fileOf(1) })
    const { registration } = workers.list()[0]!
    workers.upsert(registration, 'api')
    files[path] = fileOf()
    await timers.advance(5000)
    expect(workers.size).toBe(1)
  })

  it('names files with the keys of engines, which may change', async () => {
    const entry = `workers: [{ endpoint: "${urlOf(1)}", api_key_file: key }]`
    const { files, timers, workers, discovery } = await discover(
      { file: path },
      { [path]: entry, '/etc/router/key': 'secret\n' },
    )
    const { workerId } = workers.list()[0]!.registration
    expect(discovery.apiKeyOf(workerId)).toBe('secret')
    expect(JSON.stringify(workers.get(workerId), (_, value: unknown) => String(value))).not.toContain(
      'secret',
    )
    files['/etc/router/key'] = 'other'
    await timers.advance(1000)
    expect(discovery.apiKeyOf(workerId)).toBe('other')
    expect(discovery.apiKeyOf(1n)).toBeUndefined()
  })
})

describe('a DNS name', () => {
  const dns = [{ host: 'engines', port: 8000 }]

  it('is looked up every 5 s, its addresses are workers, IPv6 too', async () => {
    const { names, timers, urls } = await discover({ dns }, {}, { engines: ['10.0.0.1', 'fd00::1'] })
    expect(urls()).toEqual([urlOf(1), 'http://[fd00::1]:8000'])
    names['engines'] = ['10.0.0.1', '10.0.0.2']
    await timers.advance(5000)
    expect(urls()).toHaveLength(3)
    await timers.advance(5000)
    expect(urls()).toEqual([urlOf(1), urlOf(2)])
  })

  it('that does not resolve leaves the workers as they were; one without addresses has none', async () => {
    const { names, timers, urls, findings } = await discover({ dns })
    expect([urls(), findings()]).toEqual([[], [['discovery_invalid', 'engines:8000']]])
    names['engines'] = ['10.0.0.1']
    await timers.advance(5000)
    expect([urls(), findings()]).toEqual([[urlOf(1)], []])
    delete names['engines']
    await timers.advance(60_000)
    expect(urls()).toEqual([urlOf(1)])
    names['engines'] = []
    await timers.advance(10_000)
    expect(urls()).toEqual([])
  })
})

describe('several sources', () => {
  it('a worker of two of them belongs to the first, and to the other when that lets it go', async () => {
    const flags = [parseWorkerFlag(`${urlOf(9)},model_name=m,block_size=16`)]
    const { files, names, timers, workers, urls } = await discover(
      { flags, file: path, dns: [{ host: 'engines', port: 8000 }] },
      { [path]: fileOf(1) },
      { engines: ['10.0.0.1'] },
    )
    expect(urls()).toEqual([urlOf(1), urlOf(9)])
    const one = () =>
      workers.list().find(({ registration }) => registration.endpoint === urlOf(1))!.registration
    expect(one().blockSize).toBe(16)
    files[path] = fileOf()
    await timers.advance(5000)
    expect(one().blockSize).toBeUndefined()
    names['engines'] = []
    await timers.advance(15_000)
    expect(urls()).toEqual([urlOf(9)])
  })

  it('a record that the fleet refuses is a finding, and the others serve', async () => {
    const flags = [
      parseWorkerFlag(`${urlOf(1)},data_parallel_start_rank=4294967295,data_parallel_size=2`),
      parseWorkerFlag(urlOf(2)),
    ]
    const { urls, discovery } = await discover({ flags })
    expect(urls()).toEqual([urlOf(2)])
    expect(discovery.findings()).toMatchObject([
      { code: 'discovery_invalid', detail: expect.stringContaining('start') },
    ])
  })

  it('nothing is read any more once it is closed', async () => {
    const { discovery, timers, reads, urls } = await discover({ file: path }, { [path]: fileOf(1) })
    discovery.close()
    await timers.advance(60_000)
    expect([reads.count, urls(), timers.pending]).toEqual([1, [urlOf(1)], 0])
  })

  it('a look that ends after that changes nothing', async () => {
    const { discovery, timers, files, urls, reads } = await discover({ file: path }, { [path]: fileOf(1) })
    files[path] = fileOf(1, 2)
    let release = (): void => undefined
    reads.gate = new Promise((resolve) => {
      release = resolve
    })
    await timers.advance(1000)
    expect(reads.count).toBe(2)
    discovery.close()
    release()
    await timers.advance(5000)
    expect([urls(), timers.pending]).toEqual([[urlOf(1)], 0])
  })
})
