import type { SessionContext, WorkerSelectionContext } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import type { SelectionRequest } from '../src/index.js'
import { codeOf } from './support/caught.js'
import { type HostOptions, request, tinyHost } from './support/hosts.js'
import { firstAfter } from './support/policies.js'

type Facts = Omit<WorkerSelectionContext, 'workerInfo'>

const factsIn = ({ workerInfo: _lookUp, ...facts }: WorkerSelectionContext): Facts => ({ ...facts })

/** What each kind of component read from its context, in one selection. */
function factsOf(overrides: Partial<SelectionRequest>, options: HostOptions = {}): Facts {
  const seen: Facts[] = []
  const note = (context: WorkerSelectionContext): void => void seen.push(factsIn(context))
  const host = tinyHost(
    {
      filters: [
        {
          name: 'f',
          keep: (context) => {
            note(context)
            return true
          },
        },
      ],
      scorers: [
        {
          name: 's',
          score: (context, { count }, costs) => {
            note(context)
            costs.fill(0, 0, count)
          },
        },
      ],
      picker: firstAfter(note),
    },
    { workers: [{ workerId: 1n }], ...options },
  )
  host.select(overrides)
  // One row, so one call each: the scorer really ran.
  expect(seen).toHaveLength(3)
  expect(seen[1]).toEqual(seen[0])
  expect(seen[2]).toEqual(seen[0])
  return seen[0]!
}

describe('context', () => {
  it('has these values for a request that says nothing more', () => {
    expect(factsOf({ promptTokens: 33, blockSize: 16 })).toEqual({
      promptTokens: 33,
      requestBlocks: 3,
      blockSize: 16,
      tracksPrefillTokens: true,
      prefixHashes: undefined,
      policyClass: 'default',
      sessionContext: undefined,
      affinityTarget: undefined,
      pinnedWorker: undefined,
      expectedOutputTokens: undefined,
      priorityJump: undefined,
      strictPriority: 0,
      routerTemperatureOverride: undefined,
      queryOnly: false,
      requiredCacheHits: 0,
    })
  })

  it('passes every fact of the request on, unchanged', () => {
    const session: SessionContext = {
      sessionId: 's',
      parentSessionId: 'p',
      sessionFinal: false,
      inputTrigger: 'tool-result',
      agentHeaders: { 'x-agent': ['a', 'b'], 'x-unknown': [''] },
    }
    const prefixHashes = { count: 2, high: Uint32Array.of(1, 2), low: Uint32Array.of(3, 4) }
    const facts = {
      tracksPrefillTokens: false,
      prefixHashes,
      policyClass: 'batch',
      sessionContext: session,
      affinityTarget: { workerId: 9n, dpRank: 1 },
      pinnedWorker: { workerId: 1n, dpRank: 0 },
      expectedOutputTokens: 512,
      priorityJump: -2.5,
      strictPriority: 7,
      routerTemperatureOverride: 0,
      requiredCacheHits: 4,
    }
    const seen = factsOf({ ...facts, mode: 'query' })
    expect(seen).toMatchObject({ ...facts, queryOnly: true })
    expect(seen.prefixHashes).toBe(prefixHashes)
    expect(seen.sessionContext).toBe(session)
  })

  it('has 0 blocks for an empty prompt, and the class that the queue resolved', () => {
    expect(factsOf({ promptTokens: 0 })).toMatchObject({ promptTokens: 0, requestBlocks: 0 })
    expect(factsOf({ policyClass: 'after-classifier' }).policyClass).toBe('after-classifier')
  })

  it('keeps count 0 apart from absent hashes', () => {
    const none = { count: 0, high: new Uint32Array(0), low: new Uint32Array(0) }
    expect(factsOf({ prefixHashes: none }).prefixHashes).toEqual(none)
  })

  it('of one request does not leak into the next', () => {
    const seen: unknown[] = []
    const host = tinyHost({ picker: firstAfter((context) => seen.push(factsIn(context))) })
    host.select()
    host.select({
      policyClass: 'x',
      strictPriority: 3,
      tracksPrefillTokens: false,
      requiredCacheHits: 1,
      priorityJump: 1,
      mode: 'query',
      affinityTarget: { workerId: 1n },
      sessionContext: { sessionId: 's', agentHeaders: {} },
    })
    host.select()
    expect(seen[2]).toEqual(seen[0])
    expect(seen[1]).not.toEqual(seen[0])
  })

  it.each([
    ['negative tokens', { promptTokens: -1 }],
    ['fractional tokens', { promptTokens: 1.5 }],
    ['NaN tokens', { promptTokens: Number.NaN }],
    ['unsafe tokens', { promptTokens: 2 ** 53 }],
    ['block size 0', { blockSize: 0 }],
    ['a fractional block size', { blockSize: 0.5 }],
    ['an infinite block size', { blockSize: Infinity }],
  ])('of a request with %s never comes to be', (_fault, overrides) => {
    const host = tinyHost({})
    expect(codeOf(() => host.select(overrides))).toBe('ROUTER_BAD_REQUEST')
    expect(codeOf(() => host.selector.explain(request(overrides)))).toBe('ROUTER_BAD_REQUEST')
    expect(host.select()).toBe('1.0')
  })
})

describe('workerInfo', () => {
  it('is one frozen object per worker, shared by ranks and selections, whatever is declared', () => {
    const seen: unknown[] = []
    const host = tinyHost(
      {
        picker: firstAfter(({ workerInfo }) => seen.push(workerInfo(0), workerInfo(1), workerInfo(2))),
      },
      { inputs: [], workers: [{ workerId: 1n, dataParallelSize: 2, engine: 'vllm' }, { workerId: 2n }] },
    )
    host.select()
    host.select()
    expect(new Set(seen).size).toBe(2)
    expect(seen[0]).toBe(seen[1])
    expect(seen[0]).toMatchObject({ workerId: 1n, engine: 'vllm', dataParallelSize: 2 })
    expect(Object.isFrozen(seen[0])).toBe(true)
    expect(seen[0]).toBe(host.table.workers[0])
  })

  it('has everything that the worker advertised; what it did not, and a capacity of 0, is undefined', () => {
    const record = {
      workerId: 5n,
      role: 'decode',
      endpoint: 'http://w5',
      blockSize: 16,
      dataParallelStartRank: 2,
      dataParallelSize: 1,
      totalKvBlocks: 100,
      totalKvBlocksProvenance: 'learned',
      maxNumBatchedTokens: 8192,
      maxNumSeqs: 256,
      isEagle: true,
      taints: ['a'],
      topologyDomains: { rack: 'r1' },
      stableRoutingId: 'stable',
      incarnationId: 'i',
      kvRole: 'kv_both',
      engine: 'sglang',
      deviceKind: 'cpu',
      extra: { note: 1 },
    } as const
    const bare = { workerId: 6n, totalKvBlocks: 0, maxNumBatchedTokens: 0, maxNumSeqs: 0 }
    const { table } = tinyHost({}, { workers: [record, bare] })
    expect(table.workers[0]).toMatchObject(record)
    expect(table.workers[1]).toMatchObject({
      dataParallelStartRank: 0,
      dataParallelSize: 1,
      totalKvBlocks: undefined,
      totalKvBlocksProvenance: undefined,
      maxNumBatchedTokens: undefined,
      maxNumSeqs: undefined,
      taints: [],
      topologyDomains: {},
      extra: {},
      role: undefined,
      engine: undefined,
    })
    expect(tinyHost({}, { workers: [{ workerId: 7n, totalKvBlocks: 9 }] }).table.workers[0]).toMatchObject({
      totalKvBlocks: 9,
      totalKvBlocksProvenance: 'advertised',
    })
  })
})
