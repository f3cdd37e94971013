import { describe, expect, it } from 'vitest'
import type { SelectionRequest } from '../src/index.js'
import { caught, codeOf } from './support/caught.js'
import { type Host, nameOf, request, tinyHost } from './support/hosts.js'
import { costsBy, lowestTotal } from './support/policies.js'

const workers = [
  { workerId: 1n, taints: ['gpu', 'eu'], dataParallelSize: 2 },
  { workerId: 2n, taints: ['gpu'], dataParallelSize: 2 },
  { workerId: 3n, taints: ['gpu', 'us'], dataParallelSize: 2 },
]

/** Ways to make rank 1.1 unfit, in the order of the tests. Worker 2 stays fit whatever is chosen. */
const faults: readonly {
  readonly reason: string
  readonly request?: Partial<SelectionRequest>
  readonly prepare?: (host: Host) => void
}[] = [
  { reason: 'WorkerNotAllowed', request: { allowedWorkerIds: [2n, 3n] } },
  { reason: 'WorkerNotAllowed', request: { affinityTarget: { workerId: 2n, dpRank: 1 } } },
  { reason: 'WorkerNotRoutable', prepare: ({ table }) => table.setAvailableWorkers([2n, 3n]) },
  {
    reason: 'RoutingConstraintsUnsatisfied',
    prepare: ({ table }) => table.upsertWorker({ ...workers[0]!, taints: [] }),
    request: { requiredTaints: ['gpu'] },
  },
  { reason: 'WorkerOverloaded', prepare: (host) => host.table.setOverloaded(host.slot('1.1'), true) },
]

describe('rejection of a rank', () => {
  it('G1: is the first failing test, for every set of faults', () => {
    for (let mask = 0; mask < 1 << faults.length; mask++) {
      const chosen = faults.filter((_, bit) => ((mask >> bit) & 1) === 1)
      const host = tinyHost({}, { workers, affinity: 'exclusive' })
      for (const fault of chosen) fault.prepare?.(host)
      const sent = request(Object.assign({}, ...chosen.map((fault) => fault.request)))
      const { rows } = host.selector.explain(sent)
      const row = rows.find((candidate) => nameOf(candidate) === '1.1')!
      expect([mask, row.rejection]).toEqual([mask, chosen[0]?.reason])
    }
  })

  it('by an exact affinity target hits the other ranks of its worker too', () => {
    const host = tinyHost({}, { workers, affinity: 'exclusive' })
    const { rows } = host.selector.explain(request({ affinityTarget: { workerId: 1n, dpRank: 1 } }))
    expect(rows.map(({ rejection }) => rejection)).toEqual([
      'WorkerNotAllowed',
      undefined,
      ...Array.from({ length: 4 }, () => 'WorkerNotAllowed'),
    ])
  })
})

describe('pins', () => {
  const pinnedTo = (name: string, rest: Partial<SelectionRequest> = {}): SelectionRequest => {
    const [id = '', dpRank = ''] = name.split('.')
    return request({ pinnedWorker: { workerId: BigInt(id), dpRank: Number(dpRank) }, ...rest })
  }

  it('leave exactly one row, and a picker must return row 0', () => {
    const counts: number[] = []
    const host = tinyHost(
      {
        picker: {
          name: 'p',
          pick: (context, { count }) => {
            counts.push(count)
            expect(context.pinnedWorker).toEqual({ workerId: 3n, dpRank: 1 })
            return 0
          },
        },
      },
      { workers },
    )
    expect(nameOf(host.selector.select(pinnedTo('3.1')))).toBe('3.1')
    expect(counts).toEqual([1])
    const other = tinyHost({ picker: { name: 'p', pick: () => 1 } }, { workers })
    expect(codeOf(() => other.selector.select(pinnedTo('3.1')))).toBe('ROUTER_INVALID_PICKER_ROW')
  })

  it.each<[string, string, string, (host: Host) => void, Partial<SelectionRequest>]>([
    [
      'outside the allowlist',
      '1.1',
      'ROUTER_PINNED_WORKER_NOT_ALLOWED',
      () => {},
      { allowedWorkerIds: [2n] },
    ],
    [
      'with an empty allowlist',
      '1.1',
      'ROUTER_PINNED_WORKER_NOT_ALLOWED',
      () => {},
      { allowedWorkerIds: [] },
    ],
    [
      'unknown and outside the allowlist',
      '9.0',
      'ROUTER_PINNED_WORKER_NOT_ALLOWED',
      () => {},
      { allowedWorkerIds: [2n] },
    ],
    [
      'against an exclusive target',
      '1.1',
      'ROUTER_PINNED_WORKER_NOT_ALLOWED',
      () => {},
      { affinityTarget: { workerId: 2n } },
    ],
    [
      'on another rank than the target',
      '1.1',
      'ROUTER_NO_ENDPOINTS',
      () => {},
      { affinityTarget: { workerId: 1n, dpRank: 0 } },
    ],
    ['not routable', '1.1', 'ROUTER_NO_ENDPOINTS', ({ table }) => table.setAvailableWorkers([2n]), {}],
    ['unknown but allowed', '9.0', 'ROUTER_NO_ENDPOINTS', () => {}, { allowedWorkerIds: [9n] }],
    ['unknown', '9.0', 'ROUTER_NO_ENDPOINTS', () => {}, {}],
    ['beyond the rank range', '1.2', 'ROUTER_NO_ENDPOINTS', () => {}, {}],
    [
      'on a worker without ranks',
      '4.0',
      'ROUTER_NO_ENDPOINTS',
      ({ table }) => table.upsertWorker({ workerId: 4n, dataParallelSize: 0 }),
      {},
    ],
    ['without a required taint', '2.0', 'ROUTER_NO_ENDPOINTS', () => {}, { requiredTaints: ['gpu', 'eu'] }],
    [
      'overloaded',
      '1.1',
      'ROUTER_PINNED_WORKER_OVERLOADED',
      (host) => host.table.setOverloaded(host.slot('1.1'), true),
      {},
    ],
    [
      'overloaded and outside the allowlist',
      '1.1',
      'ROUTER_PINNED_WORKER_NOT_ALLOWED',
      ({ table }) => table.setOverloadedWorkers([1n]),
      { allowedWorkerIds: [2n] },
    ],
    [
      'overloaded without a required taint',
      '2.0',
      'ROUTER_NO_ENDPOINTS',
      ({ table }) => table.setOverloadedWorkers([2n]),
      { requiredTaints: ['eu'] },
    ],
  ])('%s fail', (_fault, pin, code, prepare, rest) => {
    const host = tinyHost({}, { workers, affinity: 'exclusive' })
    prepare(host)
    const error = caught(() => host.selector.select(pinnedTo(pin, rest)))
    expect(error.code).toBe(code)
    expect(error.details).toMatchObject({ workerId: BigInt(pin.split('.')[0]!) })
  })

  it.each<[string, string, (host: Host) => void, Partial<SelectionRequest>]>([
    ['WorkerNotRoutable', '1.2', ({ table }) => table.setAvailableWorkers([2n]), {}],
    ['WorkerNotRoutable', '9.0', ({ table }) => table.setAvailableWorkers([2n]), {}],
    ['WorkerUnavailable', '9.0', ({ table }) => table.setAvailableWorkers([9n]), { requiredTaints: ['eu'] }],
    ['DpRankUnavailable', '2.2', () => {}, { requiredTaints: ['eu'] }],
    ['WorkerNotAllowed', '2.2', () => {}, { affinityTarget: { workerId: 2n, dpRank: 0 } }],
    ['RoutingConstraintsUnsatisfied', '2.0', () => {}, { requiredTaints: ['eu'] }],
  ])('say %s first', (rejection, pin, prepare, rest) => {
    const host = tinyHost({}, { workers, affinity: 'exclusive' })
    prepare(host)
    const { code, details } = caught(() => host.selector.select(pinnedTo(pin, rest)))
    expect([code, details.rejection]).toEqual(['ROUTER_NO_ENDPOINTS', rejection])
  })

  it('are never rerouted, and work where the target names the same row', () => {
    const host = tinyHost({}, { workers, affinity: 'exclusive' })
    const same = pinnedTo('1.1', { affinityTarget: { workerId: 1n, dpRank: 1 } })
    expect(nameOf(host.selector.select(same))).toBe('1.1')
    host.table.setOverloaded(host.slot('1.1'), true)
    expect(codeOf(() => host.selector.select(same))).toBe('ROUTER_PINNED_WORKER_OVERLOADED')
    // An overloaded target is not applied, so that a pin elsewhere is free.
    expect(
      nameOf(host.selector.select(pinnedTo('2.0', { affinityTarget: { workerId: 1n, dpRank: 1 } }))),
    ).toBe('2.0')
  })

  it('of an advisory policy do not mind the target', () => {
    const host = tinyHost({}, { workers, affinity: 'advisory' })
    expect(nameOf(host.selector.select(pinnedTo('2.0', { affinityTarget: { workerId: 1n } })))).toBe('2.0')
  })
})

describe('allowlist', () => {
  it('absent is all, empty is none, unknown ids are nobody', () => {
    const host = tinyHost({}, { workers })
    expect(host.select()).toBe('1.0')
    expect(host.select({ allowedWorkerIds: [3n, 99n, 2n] })).toBe('2.0')
    expect(codeOf(() => host.select({ allowedWorkerIds: [] }))).toBe('ROUTER_NO_ENDPOINTS')
    expect(codeOf(() => host.select({ allowedWorkerIds: [99n] }))).toBe('ROUTER_NO_ENDPOINTS')
    expect(host.select()).toBe('1.0')
  })

  it('beats overload', () => {
    const host = tinyHost({}, { workers })
    host.table.setOverloadedWorkers([1n])
    expect(codeOf(() => host.select({ allowedWorkerIds: [1n] }))).toBe(
      'ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED',
    )
    expect(codeOf(() => host.select({ allowedWorkerIds: [99n] }))).toBe('ROUTER_NO_ENDPOINTS')
    host.table.setOverloadedWorkers([1n, 2n, 3n])
    expect(codeOf(() => host.select({ allowedWorkerIds: [] }))).toBe('ROUTER_NO_ENDPOINTS')
  })

  it('of one request does not reach the next, whichever workers joined or left', () => {
    const host = tinyHost({}, { workers })
    expect(host.select({ allowedWorkerIds: [2n] })).toBe('2.0')
    host.table.removeWorker(1n)
    expect(host.select({ allowedWorkerIds: [3n] })).toBe('3.0')
    for (let id = 10; id < 60; id++) host.table.upsertWorker({ workerId: BigInt(id) })
    expect(host.select({ allowedWorkerIds: [55n, 40n] })).toBe('40.0')
    expect(host.select()).toBe('2.0')
  })
})

describe('availability', () => {
  it('absent is no source, empty is nothing routable', () => {
    const host = tinyHost({}, { workers })
    host.table.setAvailableWorkers([])
    expect(codeOf(() => host.select())).toBe('ROUTER_NO_ENDPOINTS')
    host.table.setAvailableWorkers(undefined)
    expect(host.select()).toBe('1.0')
    host.table.setAvailableWorkers([3n])
    expect(host.select()).toBe('3.0')
  })

  it('holds for workers that join later', () => {
    const host = tinyHost({}, { workers: [] })
    host.table.setAvailableWorkers([7n, 8n])
    host.table.upsertWorker({ workerId: 6n })
    expect(codeOf(() => host.select())).toBe('ROUTER_NO_ENDPOINTS')
    host.table.upsertWorker({ workerId: 7n })
    expect(host.select()).toBe('7.0')
    for (let id = 20; id < 60; id++) host.table.upsertWorker({ workerId: BigInt(id) })
    expect(
      host.selector.explain(request()).rows.filter(({ rejection }) => rejection === undefined),
    ).toHaveLength(1)
  })

  it('is never bypassed, not by affinity and not by an allowlist', () => {
    const host = tinyHost({}, { workers, affinity: 'exclusive' })
    host.table.setAvailableWorkers([2n])
    expect(host.select({ affinityTarget: { workerId: 1n } })).toBe('2.0')
    expect(codeOf(() => host.select({ allowedWorkerIds: [1n] }))).toBe('ROUTER_NO_ENDPOINTS')
  })

  it('that leaves an overloaded worker is "overloaded", one that leaves none "no endpoints"', () => {
    const host = tinyHost({}, { workers })
    host.table.setOverloadedWorkers([1n])
    host.table.setAvailableWorkers([1n])
    expect(codeOf(() => host.select())).toBe('ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED')
    host.table.setAvailableWorkers([99n])
    expect(codeOf(() => host.select())).toBe('ROUTER_NO_ENDPOINTS')
  })
})

describe('overload', () => {
  it('by rank takes that rank, by worker all its ranks, and each call replaces the set', () => {
    const host = tinyHost({}, { workers })
    host.table.setOverloaded(host.slot('1.0'), true)
    expect(host.select()).toBe('1.1')
    host.table.setOverloadedWorkers([1n, 99n])
    expect(host.select()).toBe('2.0')
    host.table.setOverloadedWorkers([2n])
    expect(host.select()).toBe('1.0')
    host.table.setOverloaded(host.slot('1.0'), true)
    host.table.setOverloaded(host.slot('2.0'), false)
    expect(host.select({ allowedWorkerIds: [2n] })).toBe('2.0')
    host.table.setOverloadedWorkers([])
    expect(host.select()).toBe('1.0')
  })

  it('skips the worker with the best overlap', () => {
    const host = tinyHost(
      {
        scorers: [
          {
            name: 'overlap',
            score: (_context, { count, cache }, costs) => {
              for (let row = 0; row < count; row++) costs[row] = -cache!.deviceOverlapBlocks[row]!
            },
          },
        ],
        picker: lowestTotal,
      },
      { workers },
    )
    host.table.setOverlap(host.slot('3.0'), 50, 0, 0, 50, 800)
    host.table.setOverlap(host.slot('2.1'), 5, 0, 0, 5, 80)
    expect(host.select()).toBe('3.0')
    host.table.setOverloadedWorkers([3n])
    expect(host.select()).toBe('2.1')
  })

  it('stays with its rank when other workers join or leave, and ends when the rank leaves', () => {
    const host = tinyHost({}, { workers })
    host.table.setOverloaded(host.slot('2.1'), true)
    host.table.upsertWorker({ workerId: 0n })
    host.table.removeWorker(1n)
    const overloaded = () =>
      host.selector
        .explain(request())
        .rows.filter(({ rejection }) => rejection !== undefined)
        .map(nameOf)
    expect(overloaded()).toEqual(['2.1'])
    host.table.upsertWorker({ workerId: 2n, dataParallelSize: 1 })
    host.table.upsertWorker({ workerId: 2n, dataParallelSize: 2 })
    expect(overloaded()).toEqual([])
  })

  it('is the error for a compatible worker without ranks, although nothing is overloaded', () => {
    const host = tinyHost({}, { workers: [{ workerId: 1n, dataParallelSize: 0, taints: ['gpu'] }] })
    expect(codeOf(() => host.select())).toBe('ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED')
    expect(codeOf(() => host.select({ requiredTaints: ['gpu'] }))).toBe(
      'ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED',
    )
    expect(codeOf(() => host.select({ requiredTaints: ['cpu'] }))).toBe('ROUTER_NO_ENDPOINTS')
    expect(codeOf(() => tinyHost({}, { workers: [] }).select())).toBe('ROUTER_NO_ENDPOINTS')
  })
})

describe('required taints', () => {
  it('must all be carried; none asked fits everybody; unknown ones fit nobody', () => {
    const host = tinyHost({ scorers: [costsBy((id) => -Number(id))], picker: lowestTotal }, { workers })
    const chosen = (requiredTaints: readonly string[]) => host.select({ requiredTaints })
    expect(chosen([])).toBe('3.0')
    expect(chosen(['gpu'])).toBe('3.0')
    expect(chosen(['eu'])).toBe('1.0')
    expect(chosen(['gpu', 'us', 'gpu'])).toBe('3.0')
    expect(codeOf(() => chosen(['eu', 'us']))).toBe('ROUTER_NO_ENDPOINTS')
    expect(codeOf(() => chosen(['nowhere']))).toBe('ROUTER_NO_ENDPOINTS')
    host.table.setOverloadedWorkers([1n])
    expect(codeOf(() => chosen(['eu']))).toBe('ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED')
  })

  it('beyond 32 different ones are told apart', () => {
    const many = Array.from({ length: 70 }, (_, index) => ({
      workerId: BigInt(index),
      taints: [`t${index}`, 'all'],
    }))
    const host = tinyHost({}, { workers: many })
    for (let index = 0; index < 70; index++)
      expect(host.select({ requiredTaints: [`t${index}`, 'all'] })).toBe(`${index}.0`)
    expect(codeOf(() => host.select({ requiredTaints: ['nowhere'] }))).toBe('ROUTER_NO_ENDPOINTS')
  })

  it('may be many, and one that nobody carries is not taken for another', () => {
    const taints = Array.from({ length: 32 }, (_, index) => `t${index}`)
    const host = tinyHost(
      {},
      {
        workers: [
          { workerId: 1n, taints },
          { workerId: 2n, taints: taints.slice(1) },
        ],
      },
    )
    expect(host.select({ requiredTaints: taints })).toBe('1.0')
    expect(host.select({ requiredTaints: taints.slice(1) })).toBe('1.0')
    host.table.setOverloadedWorkers([1n])
    expect(host.select({ requiredTaints: taints.slice(1) })).toBe('2.0')
    expect(codeOf(() => host.select({ requiredTaints: [...taints, 'nowhere'] }))).toBe('ROUTER_NO_ENDPOINTS')
    expect(codeOf(() => host.select({ requiredTaints: ['nowhere'] }))).toBe('ROUTER_NO_ENDPOINTS')
  })
})
