import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RankSet, maximumRanks } from './rank-set.js'

const u32 = fc.oneof(
  fc.nat(3),
  fc.constantFrom(0xffff_ffff, 0x8000_0000),
  fc.integer({ min: 0, max: 0xffff_ffff }),
)

describe('RankSet', () => {
  it('holds what was added and nothing else', () => {
    const ranks = fc.array(fc.tuple(u32, u32, u32), { maxLength: 300 })
    const property = fc.property(ranks, ranks, (added, asked) => {
      const set = new RankSet()
      for (const [high, low, dpRank] of added) set.add(high, low, dpRank)
      const names = new Set(added.map(String))
      expect(set.size).toBe(names.size)
      for (const rank of [...added, ...asked]) expect(set.has(...rank)).toBe(names.has(String(rank)))
    })
    fc.assert(property, { numRuns: 100, seed: 20_250 })
  })

  it('forgets', () => {
    const set = new RankSet()
    set.add(1, 2, 3)
    set.clear()
    expect([set.size, set.has(1, 2, 3)]).toEqual([0, false])
  })

  it('never holds more than 65,536 ranks', () => {
    const set = new RankSet()
    for (let rank = 0; rank < maximumRanks; rank++) set.add(0, rank, 0)
    expect([set.size, set.has(0, 0, 0)]).toEqual([maximumRanks, true])
    set.add(0, maximumRanks, 0)
    expect([set.size, set.has(0, 0, 0), set.has(0, maximumRanks, 0)]).toEqual([1, false, true])
  })
})
