import { handMadeView } from '@router/conformance'
import { describe, expect, it } from 'vitest'
import { Rotation } from './rotation.js'

const workers = (...ids: readonly (number | bigint)[]) =>
  handMadeView(ids.map((id) => ({ workerId: BigInt(id) }))).workers.map((worker) => worker!)

describe('the cursor over workers', () => {
  it('wraps at 2^32', () => {
    const rotation = new Rotation()
    rotation.worker = 2 ** 32 - 1
    rotation.stepWorker()
    expect(rotation.worker).toBe(0)
  })
})

describe('the cursors over ranks', () => {
  it('are one a worker, in any order of ids', () => {
    const rotation = new Rotation()
    const ids = [2n ** 64n - 1n, 3n, 2n ** 53n + 1n, 2n ** 53n]
    rotation.takeWorkers(workers(...ids))
    for (const [times, id] of ids.entries()) for (let step = 0; step < times; step++) rotation.stepRank(id)
    expect(ids.map((id) => rotation.rankOf(id))).toEqual([0, 1, 2, 3])
  })

  it('stay while the worker does, and start over when it comes back', () => {
    const rotation = new Rotation()
    rotation.takeWorkers(workers(1, 2))
    for (const id of [1n, 2n, 2n]) rotation.stepRank(id)
    rotation.takeWorkers(workers(2, 0))
    expect([0n, 1n, 2n].map((id) => rotation.rankOf(id))).toEqual([0, 0, 2])
    rotation.takeWorkers(workers(1, 2))
    expect([1n, 2n].map((id) => rotation.rankOf(id))).toEqual([0, 2])
  })

  it('are no more than there are workers, whoever comes and goes', () => {
    const rotation = new Rotation()
    for (let id = 0; id < 5000; id++) {
      rotation.takeWorkers(workers(id, id + 1))
      rotation.stepRank(BigInt(id))
      rotation.stepRank(999_999n)
      expect(rotation.size).toBe(2)
    }
    expect(rotation.rankOf(999_999n)).toBe(0)
    rotation.takeWorkers([])
    expect(rotation.size).toBe(0)
  })
})
