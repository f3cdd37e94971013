import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RankSet, maximumRanks } from './rank-set.js'

const u32 = fc.oneof(
  fc.nat(3),
  fc.constantFrom(0xffff_ffff, 0x8000_0000),
  fc.integer({ min: 0, max: 0xffff_ffff }),
)

describe('RankSet', () => {
  it('holds what was added, in that order, and nothing else', () => {
    const ranks = fc.array(fc.tuple(u32, u32, u32), { maxLength: 300 })
    const property = fc.property(ranks, ranks, (added, asked) => {
      const set = new RankSet()
      const names = [...new Set(added.map(String))]
      for (const rank of added) if (set.positionOf(...rank) < 0) set.add(...rank)
      expect(set.size).toBe(names.length)
      for (const rank of [...added, ...asked])
        expect(set.positionOf(...rank)).toBe(names.indexOf(String(rank)))
      const held = names.map((_, at) => String([set.workerIdHigh[at], set.workerIdLow[at], set.dpRank[at]]))
      expect(held).toEqual(names)
    })
    fc.assert(property, { numRuns: 100, seed: 20_250 })
  })

  it('forgets', () => {
    const set = new RankSet()
    set.add(1, 2, 3)
    set.clear()
    expect([set.size, set.positionOf(1, 2, 3)]).toEqual([0, -1])
  })

  it('never holds more than 65,536 ranks', () => {
    const set = new RankSet()
    for (let rank = 0; rank < maximumRanks; rank++) set.add(0, rank, 0)
    expect([set.size, set.positionOf(0, 0, 0)]).toEqual([maximumRanks, 0])
    set.add(0, maximumRanks, 0)
    expect([set.size, set.positionOf(0, 0, 0), set.positionOf(0, maximumRanks, 0)]).toEqual([1, -1, 0])
  })
})
