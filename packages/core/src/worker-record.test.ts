import { RouterError } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { type WorkerRecord, workerInfoFrom } from './worker-record.js'

const complete: Required<WorkerRecord> = {
  workerId: 2n ** 64n - 1n,
  modelName: 'llama',
  routingGroup: 'blue',
  role: 'decode',
  endpoint: 'http://10.0.0.1:8000',
  blockSize: 16,
  dataParallelStartRank: 2,
  dataParallelSize: 2,
  kvEventsEndpoint: 'tcp://10.0.0.1:5557',
  kvEventsEndpoints: { 2: 'tcp://10.0.0.1:5559', 3: 'tcp://10.0.0.1:5560' },
  replayEndpoint: 'tcp://10.0.0.1:6557',
  totalKvBlocks: 16_384,
  totalKvBlocksProvenance: 'learned',
  maxNumBatchedTokens: 8192,
  maxNumSeqs: 256,
  isEagle: false,
  taints: ['gold'],
  topologyDomains: { rack: 'r7' },
  stableRoutingId: 'pod-3',
  incarnationId: 'life-1',
  kvRole: 'kv_both',
  acceptsNvext: true,
  kvTransferDomain: 'rack',
  kvTransferEnforcement: 'preferred',
  kvTransferPreferredWeight: 0.5,
  routerHintWorkerType: 'opaque',
  routerHintSourceControlEndpoints: { 2: 'http://10.0.0.1:9000' },
  kvEventSourceMode: 'direct',
  engine: 'vllm',
  deviceKind: 'accelerator',
  extra: { colour: 'green' },
}

describe('workerInfoFrom', () => {
  it('keeps every field that a worker advertised', () => {
    expect(workerInfoFrom(complete)).toEqual(complete)
  })

  it('leaves what was not advertised undefined, with every field there', () => {
    const info = workerInfoFrom({ workerId: 7n })
    expect(Object.keys(info).sort()).toEqual(Object.keys(complete).sort())
    const { workerId, dataParallelStartRank, dataParallelSize, taints, topologyDomains, extra, ...rest } =
      info
    expect([workerId, dataParallelStartRank, dataParallelSize]).toEqual([7n, 0, 1])
    expect([taints, topologyDomains, extra]).toEqual([[], {}, {}])
    expect(Object.values(rest).every((value) => value === undefined)).toBe(true)
  })

  it('is frozen, and a copy: later changes of the record do not reach policies', () => {
    const endpoints: Record<number, string> = { 2: 'a' }
    const taints = ['gold']
    const info = workerInfoFrom({ ...complete, kvEventsEndpoints: endpoints, taints })
    endpoints[2] = 'b'
    taints.push('late')
    expect([info.kvEventsEndpoints, info.taints]).toEqual([{ 2: 'a' }, ['gold']])
    for (const part of [info, ...Object.values(info)]) expect(Object.isFrozen(part)).toBe(true)
  })

  it('reads capacities of 0 as not advertised', () => {
    const info = workerInfoFrom({ workerId: 7n, totalKvBlocks: 0, maxNumBatchedTokens: 0, maxNumSeqs: 0 })
    expect([info.totalKvBlocks, info.maxNumBatchedTokens, info.maxNumSeqs]).toEqual(Array(3).fill(undefined))
    expect(info.totalKvBlocksProvenance).toBeUndefined()
    expect(workerInfoFrom({ ...complete, totalKvBlocks: 0 }).totalKvBlocksProvenance).toBeUndefined()
    expect(workerInfoFrom({ workerId: 7n, totalKvBlocks: 9 }).totalKvBlocksProvenance).toBe('advertised')
  })

  it.each([
    { workerId: -1n },
    { workerId: 2n ** 64n },
    { workerId: 7 as never },
    { workerId: 7n, dataParallelSize: 4097 },
    { workerId: 7n, dataParallelSize: 0.5 },
    { workerId: 7n, dataParallelStartRank: -1 },
    { workerId: 7n, dataParallelStartRank: 2 ** 32 - 1 },
    { workerId: 7n, totalKvBlocks: -1 },
    { workerId: 7n, maxNumBatchedTokens: Number.NaN },
    { workerId: 7n, maxNumSeqs: Infinity },
  ])('refuses %o', (record) => {
    let code: string | undefined
    try {
      workerInfoFrom(record)
    } catch (error) {
      code = RouterError.isInstance(error) ? error.code : String(error)
    }
    expect(code).toBe('ROUTER_BAD_REQUEST')
  })
})
