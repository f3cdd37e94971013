import type { WorkerSelectionContext } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import type { AffinityTarget } from '../src/index.js'
import { type Host, nameOf, request, tinyHost } from './support/hosts.js'

const workers = [1n, 2n, 3n].map((workerId) => ({ workerId, taints: [`t${workerId}`], dataParallelSize: 2 }))

/** Rows that a policy saw, and the context it got. */
function seenBy(affinity: 'exclusive' | 'advisory', prepare: (host: Host) => void = () => {}) {
  let context: Pick<WorkerSelectionContext, 'affinityTarget' | 'pinnedWorker'> | undefined
  const host = tinyHost(
    {
      picker: {
        name: 'p',
        pick: ({ affinityTarget, pinnedWorker }) => {
          context = { affinityTarget, pinnedWorker }
          return 0
        },
      },
    },
    { workers, affinity },
  )
  prepare(host)
  return (affinityTarget: AffinityTarget, rest: Parameters<typeof request>[0] = {}) => {
    const { rows } = host.selector.explain(request({ affinityTarget, ...rest }))
    expect(context?.affinityTarget).toEqual(affinityTarget)
    expect(context?.pinnedWorker).toBeUndefined()
    return rows.filter(({ total }) => total !== undefined).map(nameOf)
  }
}
const everybody = ['1.0', '1.1', '2.0', '2.1', '3.0', '3.1']

describe('exclusive affinity', () => {
  it('narrows to an eligible target: the exact rank, or every rank of the worker', () => {
    const seen = seenBy('exclusive')
    expect(seen({ workerId: 2n, dpRank: 1 })).toEqual(['2.1'])
    expect(seen({ workerId: 2n })).toEqual(['2.0', '2.1'])
    expect(seen({ workerId: 2n }, { allowedWorkerIds: [2n, 3n], requiredTaints: ['t2'] })).toEqual([
      '2.0',
      '2.1',
    ])
  })

  it('enumerates only the ranks of the target that are not overloaded', () => {
    const seen = seenBy('exclusive', (host) => host.table.setOverloaded(host.slot('2.0'), true))
    expect(seen({ workerId: 2n })).toEqual(['2.1'])
    expect(seen({ workerId: 2n, dpRank: 0 })).toEqual(everybody.filter((name) => name !== '2.0'))
  })

  it.each<[string, AffinityTarget, (host: Host) => void, string[]]>([
    ['is unknown', { workerId: 9n }, () => {}, everybody],
    ['is beyond the rank range', { workerId: 2n, dpRank: 2 }, () => {}, everybody],
    [
      'has no ranks',
      { workerId: 4n },
      ({ table }) => table.upsertWorker({ workerId: 4n, dataParallelSize: 0 }),
      everybody,
    ],
    [
      'is overloaded',
      { workerId: 2n },
      ({ table }) => table.setOverloadedWorkers([2n]),
      ['1.0', '1.1', '3.0', '3.1'],
    ],
    [
      'is not routable',
      { workerId: 2n },
      ({ table }) => table.setAvailableWorkers([1n, 3n]),
      ['1.0', '1.1', '3.0', '3.1'],
    ],
  ])('falls back to the full set when the target %s', (_why, target, prepare, expected) => {
    expect(seenBy('exclusive', prepare)(target)).toEqual(expected)
  })

  it('falls back when the target is not allowed or lacks a required taint', () => {
    const seen = seenBy('exclusive')
    expect(seen({ workerId: 2n }, { allowedWorkerIds: [1n] })).toEqual(['1.0', '1.1'])
    expect(seen({ workerId: 2n }, { requiredTaints: ['t3'] })).toEqual(['3.0', '3.1'])
  })

  it('of one request does not reach the next', () => {
    const seen = seenBy('exclusive')
    expect(seen({ workerId: 2n, dpRank: 1 })).toEqual(['2.1'])
    expect(seen({ workerId: 9n })).toEqual(everybody)
    expect(seen({ workerId: 3n })).toEqual(['3.0', '3.1'])
  })
})

describe('advisory affinity', () => {
  it('shows every row, and the target in the context', () => {
    const seen = seenBy('advisory', ({ table }) => table.setOverloadedWorkers([3n]))
    expect(seen({ workerId: 2n, dpRank: 1 })).toEqual(['1.0', '1.1', '2.0', '2.1'])
    expect(seen({ workerId: 3n })).toEqual(['1.0', '1.1', '2.0', '2.1'])
  })
})
