import { describe, expect, it } from 'vitest'
import type { SelectionMeasures } from '../../src/fleet/selection-measures.js'
import { everybody, promptOf, testFleet } from './support.js'

/** A fleet of two workers that hold different parts of `abcd`, and what it tells of its selections. */
function told() {
  const one = testFleet({ usesKvEvents: false })
  one.add(1)
  one.add(2)
  one.reserve('a', 'abcd', { allowedWorkerIds: [1n] })
  one.reserve('b', 'ab', { allowedWorkerIds: [2n] })
  const heard: (SelectionMeasures & {
    workerId: bigint
    isFurtherTry: boolean
    readingMs: number | undefined
  })[] = []
  const stop = one.fleet.listen(({ workerId, measures }, isFurtherTry, readingMs) =>
    heard.push({ ...measures, workerId, isFurtherTry, readingMs }),
  )
  return { ...one, heard, stop }
}

describe('a fleet tells of selections that are delivered', () => {
  it('with what the rank has and what the best eligible one has', () => {
    const { reserve, heard, stop } = told()
    reserve('c', 'abcdef', { allowedWorkerIds: [2n] })
    expect(heard).toMatchObject([
      { workerId: 2n, promptTokens: 24, requestBlocks: 6, overlapBlocks: 2, bestOverlapBlocks: 2 },
    ])
    reserve('d', 'abcdef', { pinnedWorker: { workerId: 2n, dpRank: 0 } })
    expect(heard[1]).toMatchObject({ isPinned: true, isFurtherTry: false, readingMs: undefined })
    stop()
    reserve('e', 'abcdef')
    expect(heard).toHaveLength(2)
  })

  it('not of queries, of failures, nor of ranks that the caller chose', () => {
    const { fleet, select, reserve, heard } = told()
    select('abcd')
    expect(() => reserve('c', 'abcd', { allowedWorkerIds: [] })).toThrow()
    expect(() => reserve('a', 'abcd')).toThrow()
    fleet.reserveOn(everybody, { requestId: 'd', workerId: 1n, dpRank: 0, prompt: promptOf('ab') })
    expect(heard).toEqual([])
  })

  it('of one that was kept when it is booked, with what it was worth then', () => {
    const { fleet, select, heard, reserve } = told()
    select('abcd', { allowedWorkerIds: [2n] }, 'kept')
    reserve('c', 'abcd', { allowedWorkerIds: [2n] })
    fleet.reserveSelected(everybody, 'kept')
    expect(heard.map(({ workerId, overlapBlocks }) => [workerId, overlapBlocks])).toEqual([
      [2n, 2],
      [2n, 2],
    ])
    expect(() => fleet.reserveSelected(everybody, 'kept')).toThrow()
    expect(heard).toHaveLength(2)
  })

  it('of one that is sent later when whoever sends it says so', () => {
    const { fleet, heard } = told()
    const booking = { requestId: 'c', isDispatched: false }
    const selection = fleet.reserve(everybody, { prompt: promptOf('abcd') }, booking)
    expect(heard).toEqual([])
    fleet.delivered(selection, true, 3)
    expect(heard).toMatchObject([{ isFurtherTry: true, readingMs: 3, overlapBlocks: 4 }])
  })

  it('an unknown overlap is absent, not 0', () => {
    const { reserve, heard } = told()
    reserve('c', 'abcd', { isUnhashed: true })
    expect(heard[0]).toMatchObject({ overlapBlocks: undefined, bestOverlapBlocks: 0 })
  })
})
