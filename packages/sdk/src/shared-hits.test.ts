import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sharedHitsBeyond, sharedHitsFrom, totalSharedHits } from './shared-hits.js'

/** Sorted disjoint ranges, adjacent ones included, from pairs of (gap, length). */
const rangeLists = fc
  .array(fc.tuple(fc.nat({ max: 5 }), fc.integer({ min: 1, max: 6 })), { maxLength: 8 })
  .map((pairs) => {
    let position = 0
    return pairs.map(([gap, length]): [number, number] => {
      const start = position + gap
      position = start + length
      return [start, position]
    })
  })

describe('shared hits', () => {
  it.each([
    [0, 9],
    [1, 9],
    [2, 8],
    [3, 7],
    [5, 7],
    [7, 5],
    [11, 1],
    [12, 0],
    [100, 0],
  ])('beyond position %d, of [1,3) and [5,12), are %d', (position, expected) => {
    expect(
      sharedHitsBeyond(
        sharedHitsFrom([
          [1, 3],
          [5, 12],
        ]),
        position,
      ),
    ).toBe(expected)
  })

  it('equal a count of covered positions', () => {
    fc.assert(
      fc.property(rangeLists, fc.nat({ max: 100 }), (ranges, position) => {
        const hits = sharedHitsFrom(ranges)
        let covered = 0
        let all = 0
        for (const [start, end] of ranges) {
          all += end - start
          for (let block = start; block < end; block++) covered += block >= position ? 1 : 0
        }
        expect(sharedHitsBeyond(hits, position)).toBe(covered)
        expect(totalSharedHits(hits)).toBe(all)
      }),
      { seed: 1, numRuns: 500 },
    )
  })

  it('are none without ranges', () => {
    expect(totalSharedHits(sharedHitsFrom([]))).toBe(0)
    expect(sharedHitsBeyond(sharedHitsFrom([]), 3)).toBe(0)
  })

  it('never read left-overs past count', () => {
    const hits = { count: 1, starts: Uint32Array.from([2, 9]), ends: Uint32Array.from([4, 99]) }
    expect(totalSharedHits(hits)).toBe(2)
    expect(sharedHitsBeyond(hits, 3)).toBe(1)
  })

  it('drop empty ranges and keep adjacent ones', () => {
    const hits = sharedHitsFrom([
      [0, 0],
      [1, 3],
      [3, 4],
      [9, 9],
    ])
    expect([hits.count, ...hits.starts, ...hits.ends]).toEqual([2, 1, 3, 3, 4])
  })

  it.each([
    [
      [
        [3, 5],
        [1, 2],
      ],
    ],
    [
      [
        [1, 4],
        [3, 5],
      ],
    ],
    [[[5, 3]]],
    [[[-1, 2]]],
    [[[-2, -2]]],
    [[[0.5, 2]]],
    [[[0, Number.NaN]]],
    [[[Number.NaN, Number.NaN]]],
    [[[0, 2 ** 32]]],
  ] as [number, number][][][])('refuse %j', (ranges) => {
    expect(() => sharedHitsFrom(ranges)).toThrow(RangeError)
  })
})
