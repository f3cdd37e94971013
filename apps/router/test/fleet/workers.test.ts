import { describe, expect, it } from 'vitest'
import type { WorkerRegistration } from '../../src/fleet/worker-registration.js'
import { codeOf, everybody, promptOf, testFleet } from './support.js'

const events = (port: number): Partial<WorkerRegistration> => ({
  kvEventsEndpoint: `tcp://127.0.0.1:${port}`,
})

describe('a record', () => {
  it.each<[string, Partial<WorkerRegistration>, RegExp[]]>([
    ['without endpoint', { endpoint: undefined }, [/endpoint/]],
    ['with an empty endpoint', { endpoint: '' }, [/endpoint/]],
    ['without block size', { blockSize: undefined }, [/block_size/]],
    ['with block size 0', { blockSize: 0 }, [/block_size/]],
    ['without ranks', { dataParallelSize: 0 }, [/data_parallel_size/]],
    ['without batch limit while it may queue', { modelName: 'queued' }, [/max_num_batched_tokens/]],
    [
      'without anything',
      { endpoint: undefined, blockSize: undefined, modelName: 'queued' },
      [/end/, /block/, /max/],
    ],
  ])('%s is kept, incomplete, with a reason for each', (_what, rest, reasons) => {
    const { add, fleet } = testFleet({ usesKvEvents: false, queuesModel: (model) => model === 'queued' })
    const view = add(1, rest)
    expect(view.lifecycle).toBe('incomplete')
    expect(view.reasons).toEqual(reasons.map((reason) => expect.stringMatching(reason)))
    expect([fleet.partitions.length, fleet.workers.schedulable]).toEqual([0, 0])
    expect(codeOf(() => fleet.ready(everybody))).toBe('ROUTER_NOT_READY')
  })

  it('needs an event address for each rank where engines tell, unless a trusted source brought it', () => {
    const { add, fleet } = testFleet({})
    expect(add(1, { dataParallelSize: 2 }).reasons).toHaveLength(2)
    const one = new Map([[0, 'tcp://127.0.0.1:1']])
    expect(add(1, { dataParallelSize: 2, kvEventsEndpoints: one }).reasons).toEqual([
      'rank 1 has no event endpoint',
    ])
    expect(add(1, events(49_151)).lifecycle).toBe('schedulable')
    const trusted = fleet.workers.upsert({ workerId: 2n, endpoint: 'http://w2', blockSize: 4 }, 'trusted')
    expect(trusted.lifecycle).toBe('schedulable')
    fleet.dispose()
  })

  it.each<[string, Partial<WorkerRegistration>]>([
    ['an id that is no u64', { workerId: 2n ** 64n }],
    ['a negative id', { workerId: -1n }],
    ['more ranks than a worker has', { dataParallelSize: 4097 }],
    ['ranks beyond u32', { dataParallelStartRank: 0xffff_ffff, dataParallelSize: 2 }],
  ])('with %s is refused, and what was known stays', (_what, rest) => {
    const { add, fleet } = testFleet()
    add(1)
    expect(codeOf(() => add(1, rest))).toBe('ROUTER_BAD_REQUEST')
    expect(fleet.workers.list()).toHaveLength(1)
    expect(fleet.workers.get(1n)!.lifecycle).toBe('schedulable')
  })

  it('is patched field by field; a map replaces the map', () => {
    const { add, fleet } = testFleet()
    add(1, { taints: ['a', 'b', 'a'], topologyDomains: new Map([['zone', 'x']]), totalKvBlocks: 5 })
    const { registration } = fleet.workers.patch(1n, {
      endpoint: undefined,
      topologyDomains: new Map([['rack', 'r']]),
    })
    expect(registration).toMatchObject({ endpoint: 'http://w1', taints: ['a', 'b'], totalKvBlocks: 5 })
    expect([...registration.topologyDomains!]).toEqual([['rack', 'r']])
    expect(codeOf(() => fleet.workers.patch(9n, {}))).toBe('ROUTER_NOT_FOUND')
    expect(codeOf(() => fleet.workers.remove(9n))).toBe('ROUTER_NOT_FOUND')
  })

  it('beyond the most ranks that a partition takes is incomplete', () => {
    const { add } = testFleet()
    for (let id = 1; id <= 8; id++) add(id, { dataParallelSize: 4096 })
    const view = add(9)
    expect([view.lifecycle, view.reasons.length]).toEqual(['incomplete', 1])
  })
})

describe('U4: the first complete worker fixes the shape of its partition', () => {
  it('also after it left; another block size or layout is a reason, not a partition', () => {
    const { add, fleet } = testFleet()
    add(1)
    expect(add(2, { blockSize: 8 }).reasons).toEqual([expect.stringMatching(/block_size is 8.* 4/)])
    expect(add(3, { isEagle: true }).reasons).toEqual([expect.stringMatching(/is_eagle/)])
    fleet.workers.remove(1n)
    expect(add(2, { blockSize: 8 }).lifecycle).toBe('incomplete')
    expect(add(2, { blockSize: 4, isEagle: false }).lifecycle).toBe('schedulable')
    expect(add(4, { blockSize: 8, routingGroup: 'g' }).lifecycle).toBe('schedulable')
    expect(fleet.partitions.map(({ name, shape }) => [name.routingGroup, shape.blockSize])).toEqual([
      ['default', 4],
      ['g', 8],
    ])
  })
})

describe('what goes and what stays', () => {
  it('a valid update keeps bookings and cache, a vanished rank loses its own', () => {
    const { add, fleet, requests, cached } = testFleet()
    add(1, { dataParallelSize: 2 })
    for (const dpRank of [0, 1])
      fleet.reserveOn(everybody, { requestId: `r${dpRank}`, workerId: 1n, dpRank, prompt: promptOf('ab') })
    add(1, { endpoint: 'http://other', dataParallelSize: 2 })
    expect([requests(), cached('ab')]).toEqual([
      { '1.0': 1, '1.1': 1 },
      { '1.0': 2, '1.1': 2 },
    ])
    fleet.workers.patch(1n, { dataParallelSize: 1 })
    expect([fleet.free('r1'), codeOf(() => fleet.prefillCompleted('r1')), requests()]).toEqual([
      false,
      'ROUTER_NOT_FOUND',
      { '1.0': 1 },
    ])
    fleet.workers.patch(1n, { dataParallelSize: 2 })
    expect([requests(), cached('ab')]).toEqual([
      { '1.0': 1, '1.1': 0 },
      { '1.0': 2, '1.1': 0 },
    ])
    expect(fleet.free('r0')).toBe(true)
  })

  it.each<[string, (fleet: ReturnType<typeof testFleet>) => void]>([
    ['becomes incomplete', ({ fleet }) => void fleet.workers.patch(1n, { endpoint: '' })],
    ['moves', ({ add }) => void add(1, { routingGroup: 'g' })],
    ['is another process', ({ add }) => void add(1, { incarnationId: 'two' })],
    ['is deleted', ({ fleet }) => void fleet.workers.remove(1n)],
  ])(
    'U31, U32: a worker that %s loses all of it; late calls change nothing, and ids may be used again',
    (_what, change) => {
      const one = testFleet()
      const { add, fleet, requests, cached, reserve } = one
      add(1, { incarnationId: 'one' })
      add(2)
      reserve('r', 'abc', { allowedWorkerIds: [1n] })
      fleet.prefillCompleted('r')
      change(one)
      add(1, { incarnationId: 'two' })
      expect([fleet.free('r'), codeOf(() => fleet.outputBlock('r'))]).toEqual([false, 'ROUTER_NOT_FOUND'])
      expect([requests()['1.0'], cached('abc')['1.0']]).toEqual([0, 0])
      reserve('r', 'abc')
      for (const { router } of fleet.partitions) expect(router.ledger.audit()).toEqual([])
    },
  )

  it('U32: 100 streams while their worker comes and goes leave clean books', () => {
    const { add, fleet, reserve, requests } = testFleet()
    add(1)
    add(2)
    for (let stream = 0; stream < 100; stream++) {
      reserve(`s${stream}`, 'abcd')
      if (stream % 10 === 4) fleet.workers.remove(1n)
      if (stream % 10 === 7) add(1)
      if (stream >= 20) fleet.free(`s${stream - 20}`)
    }
    for (let stream = 0; stream < 100; stream++) fleet.free(`s${stream}`)
    expect(Object.values(requests())).toEqual([0, 0])
    expect(fleet.partitions[0]!.router.ledger.audit()).toEqual([])
  })
})

describe('a worker that takes no new requests', () => {
  it('drains: what runs ends, then it goes, unless another engine is registered in its place', () => {
    const { add, fleet, select, reserve, clock } = testFleet()
    add(1)
    add(2)
    reserve('r', 'ab', { allowedWorkerIds: [1n] })
    expect(fleet.workers.drain(1n).lifecycle).toBe('draining')
    expect(select('ab').workerId).toBe(2n)
    expect(codeOf(() => select('ab', { allowedWorkerIds: [1n] }))).toBe('ROUTER_NO_ENDPOINTS')
    add(3)
    expect(select('ab', { allowedWorkerIds: [1n, 3n] }).workerId).toBe(3n)
    fleet.workers.remove(3n)
    const explicit = { requestId: 'x', workerId: 1n, dpRank: 0, prompt: promptOf('a') }
    expect(codeOf(() => fleet.reserveOn(everybody, explicit))).toBe('ROUTER_NOT_FOUND')
    fleet.tick()
    expect(fleet.workers.get(1n)?.lifecycle).toBe('draining')
    expect(fleet.free('r')).toBe(true)
    fleet.tick()
    expect(fleet.workers.get(1n)).toBeUndefined()
    reserve('late', 'ab')
    fleet.workers.drain(2n)
    expect(codeOf(() => select('ab'))).toBe('ROUTER_NOT_READY')
    expect(add(2, { totalKvBlocks: 9 }).lifecycle).toBe('draining')
    expect(fleet.workers.patch(2n, { taints: ['spot'] }).lifecycle).toBe('draining')
    expect(codeOf(() => select('ab'))).toBe('ROUTER_NOT_READY')
    expect(fleet.workers.patch(2n, { incarnationId: 'next' }).lifecycle).toBe('schedulable')
    expect(select('ab').workerId).toBe(2n)
    fleet.workers.drain(2n)
    expect(add(2, { endpoint: 'http://other' }).lifecycle).toBe('schedulable')
    expect(select('ab').workerId).toBe(2n)
    fleet.workers.drain(2n)
    clock.ms = 300_000
    fleet.tick()
    expect(fleet.workers.size).toBe(0)
  })
})

it('there are at most 65,536 workers', () => {
  const { fleet } = testFleet()
  for (let id = 0n; id < 65_536n; id++) fleet.workers.upsert({ workerId: id })
  expect(codeOf(() => fleet.workers.upsert({ workerId: 65_536n }))).toBe('ROUTER_BAD_REQUEST')
  expect(fleet.workers.upsert({ workerId: 1n }).lifecycle).toBe('incomplete')
  fleet.workers.remove(0n)
  fleet.workers.upsert({ workerId: 65_536n })
  expect(fleet.workers.size).toBe(65_536)
})

it('there are only so many partitions; a worker of one more is incomplete', () => {
  const { add, fleet } = testFleet({ usesKvEvents: false, maximumPartitions: 3 })
  for (let id = 0; id < 3; id++) add(id, { modelName: `m${id}` })
  const more = add(3, { modelName: 'more' })
  expect(more).toMatchObject({ lifecycle: 'incomplete', reasons: [expect.any(String)] })
  expect(add(3, { modelName: 'm2' }).lifecycle).toBe('schedulable')
  expect(fleet.partitions).toHaveLength(3)
})

describe('A8: a worker of a trusted source', () => {
  it('is of the API once the API gives it another address, and is judged as such', () => {
    const { fleet } = testFleet()
    const { workers } = fleet
    const record = { workerId: 1n, endpoint: 'http://127.0.0.1:1', blockSize: 4 }
    workers.upsert(record, 'trusted')
    expect(workers.patch(1n, { taints: ['spot'], endpoint: record.endpoint }).origin).toBe('trusted')
    expect(workers.patch(1n, { endpoint: 'http://10.0.0.1:1' }).origin).toBe('api')
    for (const change of [
      { kvEventsEndpoint: 'tcp://h:1' },
      { replayEndpoint: 'tcp://h:1' },
      { kvEventsBind: true },
    ]) {
      workers.upsert(record, 'trusted')
      expect(workers.patch(1n, change, 'selection').origin).toBe('selection')
    }
  })
})
