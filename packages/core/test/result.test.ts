import type { WorkerInputName } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { copyResult } from '../src/index.js'
import { type Host, nameOf, request, tinyHost } from './support/hosts.js'
import { costsBy, keepBy, lowestTotal } from './support/policies.js'

const withCache: readonly WorkerInputName[] = ['cache']
const prefers = (id: bigint) => ({
  scorers: [costsBy((other) => (other === id ? 0 : 1))],
  picker: lowestTotal,
})

/** Device, host and disk blocks of a rank; estimates as given, else zero. */
function overlap(
  host: Host,
  name: string,
  tiers: readonly [number, number, number],
  estimate: readonly [number, number] = [0, 0],
) {
  host.table.setOverlap(host.slot(name), ...tiers, estimate[0], estimate[1])
}

describe.each([
  ['WebAssembly', true],
  ['plain', false],
] as const)('raw reuse, %s', (_name, webAssembly) => {
  it('is all tiers of the rank x block size, apart from the estimate', () => {
    const host = tinyHost(prefers(1n), { inputs: withCache, webAssembly })
    overlap(host, '1', [1, 1, 1], [7.5, 120])
    overlap(host, '2', [3, 2, 1])
    const result = host.selector.select(request())
    expect(result).toMatchObject({
      effectiveOverlapBlocks: 7.5,
      cachedTokens: 120,
      selectedRawCachedTokens: 48,
      maxRawCachedTokens: 96,
    })
    overlap(host, '3', [7, 0, 0])
    expect(host.selector.select(request()).maxRawCachedTokens).toBe(112)
  })

  it('is not clamped to the prompt', () => {
    const host = tinyHost(prefers(1n), { inputs: withCache, webAssembly })
    overlap(host, '1', [1000, 0, 0], [1000, 16_000])
    const result = host.selector.select(request({ promptTokens: 10 }))
    expect([result.selectedRawCachedTokens, result.cachedTokens]).toEqual([16_000, 16_000])
  })

  it('is per rank of one worker, never summed', () => {
    const workers = [{ workerId: 1n, dataParallelSize: 2 }]
    const host = tinyHost(
      { scorers: [costsBy((_id, rank) => rank)], picker: lowestTotal },
      { inputs: withCache, webAssembly, workers },
    )
    overlap(host, '1.0', [4, 0, 0])
    overlap(host, '1.1', [5, 1, 1])
    const result = host.selector.select(request())
    expect([result.selectedRawCachedTokens, result.maxRawCachedTokens]).toEqual([64, 112])
  })

  it('ignores rows that a filter rejected or that are not eligible', () => {
    const host = tinyHost(
      { filters: [keepBy((id) => id !== 2n)], ...prefers(3n) },
      { inputs: withCache, webAssembly, workers: [1n, 2n, 3n, 4n].map((workerId) => ({ workerId })) },
    )
    overlap(host, '1', [1, 0, 0])
    overlap(host, '2', [6, 0, 0])
    overlap(host, '4', [9, 0, 0])
    host.table.setOverloadedWorkers([4n])
    expect(host.selector.select(request()).maxRawCachedTokens).toBe(16)
    expect(host.selector.select(request({ allowedWorkerIds: [3n] })).maxRawCachedTokens).toBe(0)
  })

  it('of a rank that left the range of its worker is gone', () => {
    const host = tinyHost(prefers(1n), {
      inputs: withCache,
      webAssembly,
      workers: [{ workerId: 1n, dataParallelSize: 2 }],
    })
    overlap(host, '1.0', [1, 0, 0])
    overlap(host, '1.1', [9, 0, 0])
    host.table.upsertWorker({ workerId: 1n, dataParallelSize: 1 })
    expect(host.selector.select(request()).maxRawCachedTokens).toBe(16)
    host.table.upsertWorker({ workerId: 1n, dataParallelSize: 2 })
    expect(host.selector.select(request()).maxRawCachedTokens).toBe(16)
  })

  it('is at least 0 and ignores ranks of unknown cache state', () => {
    const host = tinyHost(prefers(2n), { inputs: withCache, webAssembly })
    for (const name of ['1', '2', '3']) host.table.setCacheUnknown(host.slot(name))
    expect(host.selector.select(request()).maxRawCachedTokens).toBe(0)
    overlap(host, '1', [2, 0, 0])
    expect(host.selector.select(request()).maxRawCachedTokens).toBe(32)
  })

  it.each([0, 1])('is found with %i scorers, over any count of rows', (scorers) => {
    for (let count = 1; count <= 9; count++) {
      for (let best = 0; best < count; best++) {
        const workers = Array.from({ length: count }, (_, id) => ({ workerId: BigInt(id) }))
        const components = { scorers: scorers === 0 ? [] : [costsBy(() => 0)] }
        const host = tinyHost(components, { inputs: withCache, webAssembly, workers })
        workers.forEach((_, id) => overlap(host, String(id), [id === best ? 5 : 1, 1, 1]))
        expect(host.selector.select(request()).maxRawCachedTokens).toBe(7 * 16)
      }
    }
  })

  it('is undefined for a query, and the rest of the result is that of a tracked selection', () => {
    const host = tinyHost(prefers(1n), { inputs: withCache, webAssembly })
    overlap(host, '1', [3, 0, 0], [3.5, 56])
    host.table.setLoad(host.slot('1'), 100, 10, 2)
    const tracked = copyResult(host.selector.select(request()))
    const query = copyResult(host.selector.select(request({ mode: 'query' })))
    expect(query).toEqual({ ...tracked, maxRawCachedTokens: undefined, selectedRawCachedTokens: undefined })
    expect(tracked.maxRawCachedTokens).toBe(48)
  })
})

describe('cache facts of the result', () => {
  it('are 0 for a chosen row of unknown cache state', () => {
    const host = tinyHost(prefers(1n), { inputs: withCache })
    host.table.setCacheUnknown(host.slot('1'))
    overlap(host, '2', [3, 0, 0], [3, 48])
    expect(copyResult(host.selector.select(request()))).toMatchObject({
      workerId: 1n,
      effectiveOverlapBlocks: 0,
      cachedTokens: 0,
      selectedRawCachedTokens: 0,
      maxRawCachedTokens: 48,
    })
  })

  it('are 0 for a policy that did not declare cache, even beside one that did', () => {
    const blind = tinyHost(prefers(1n), { inputs: ['load'] })
    const seeing = tinyHost(prefers(1n), { inputs: withCache, table: blind.table, workers: [] })
    overlap(blind, '1', [3, 2, 1], [4, 64])
    const facts = {
      effectiveOverlapBlocks: 4,
      cachedTokens: 64,
      selectedRawCachedTokens: 96,
      maxRawCachedTokens: 96,
    }
    expect(copyResult(seeing.selector.select(request()))).toMatchObject(facts)
    expect(copyResult(blind.selector.select(request()))).toMatchObject({
      effectiveOverlapBlocks: 0,
      cachedTokens: 0,
      selectedRawCachedTokens: 0,
      maxRawCachedTokens: 0,
      bestOverlapBlocks: 3,
    })
  })
})

describe('blocks of the request', () => {
  it.each([
    [0, 0],
    [1, 1],
    [16, 1],
    [17, 2],
    [2048, 128],
  ])('%i tokens require %i blocks', (promptTokens, blocks) => {
    expect(tinyHost({}).selector.select(request({ promptTokens })).requiredBlocks).toBe(blocks)
  })

  it.each([
    [32, 100, undefined, 102],
    [32, 102, 2, 102],
    [32, 100, 2, 100],
    [33, 100, 2, 101],
    [32, 100, 9, 100],
    [0, 100, 0, 100],
  ])(
    '%i tokens on %i decode blocks with %s tracked hashes make %i',
    (promptTokens, decode, tracked, expected) => {
      const host = tinyHost({})
      host.table.setLoad(host.slot('1'), 0, decode, 0)
      const hashes = new Uint32Array(tracked ?? 0)
      const prefixHashes = tracked === undefined ? undefined : { count: tracked, high: hashes, low: hashes }
      const result = host.selector.select(request({ promptTokens, prefixHashes }))
      expect(result.potentialDecodeBlocks).toBe(expected)
    },
  )

  it('stand alone on a rank without a projection', () => {
    const host = tinyHost({})
    expect(host.selector.select(request({ promptTokens: 33 })).potentialDecodeBlocks).toBe(3)
    host.table.setLoad(host.slot('1'), 5, 40, 1)
    host.table.clearLoad(host.slot('1'))
    expect(host.selector.select(request({ promptTokens: 33 })).potentialDecodeBlocks).toBe(3)
  })
})

describe('best overlap', () => {
  const best = (host: Host) => {
    const { bestOverlapWorker, bestOverlapBlocks } = host.selector.select(request())
    return [bestOverlapWorker === undefined ? undefined : nameOf(bestOverlapWorker), bestOverlapBlocks]
  }

  it('is the largest device overlap among all known ranks, eligible or not', () => {
    const host = tinyHost({ filters: [keepBy((id) => id === 1n)] }, { inputs: [] })
    expect(best(host)).toEqual([undefined, 0])
    overlap(host, '1', [1, 9, 9], [50, 800])
    overlap(host, '2', [2, 0, 0])
    overlap(host, '3', [4, 0, 0])
    host.table.setOverloadedWorkers([3n])
    expect(best(host)).toEqual(['3.0', 4])
    host.table.setAvailableWorkers([1n, 2n])
    expect(best(host)).toEqual(['3.0', 4])
    host.table.setCacheUnknown(host.slot('3'))
    expect(best(host)).toEqual(['2.0', 2])
    host.table.clearOverlaps()
    expect(best(host)).toEqual([undefined, 0])
  })

  it('breaks ties to the lowest (workerId, dpRank)', () => {
    const workers = [{ workerId: 2n ** 63n }, { workerId: 9n, dataParallelSize: 3, dataParallelStartRank: 4 }]
    const host = tinyHost({}, { inputs: [], workers })
    for (const name of [`${2n ** 63n}`, '9.6', '9.5']) overlap(host, name, [3, 0, 0])
    expect(best(host)).toEqual(['9.5', 3])
  })
})

describe('the result object', () => {
  it('belongs to the selector and is overwritten; a copy stays', () => {
    const rows = [0, 2]
    const host = tinyHost({ picker: { name: 'next', pick: () => rows.shift()! } })
    const first = host.selector.select(request({ promptTokens: 16 }))
    const copy = copyResult(first)
    const second = host.selector.select(request({ promptTokens: 64 }))
    expect(second).toBe(first)
    expect(nameOf(first)).toBe('3.0')
    expect(copy).toMatchObject({ workerId: 1n, dpRank: 0, requiredBlocks: 1, slot: host.slot('1') })
  })

  it('still names the chosen rank when workers change before it is read', () => {
    const host = tinyHost({ picker: { name: 'second', pick: () => 1 } })
    const result = host.selector.select(request())
    host.table.removeWorker(1n)
    host.table.upsertWorker({ workerId: 0n, dataParallelSize: 3 })
    expect(nameOf(result)).toBe('2.0')
    expect(result.slot).toBe(host.slot('2'))
  })

  it('names policy, version, instance and revision', () => {
    expect(tinyHost({}).selector.select(request()).policy).toEqual({
      type: 'tiny',
      package: undefined,
      version: '1.2.3',
      name: 'tested',
      revision: 1,
    })
  })
})
