import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mix, rendezvousRow, rendezvousWeight } from './rendezvous.js'

const u64s = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })

describe('mix', () => {
  it.each([
    [0n, 0n],
    [1n, 0x5692161d100b05e5n],
    [2n, 0xdbd238973a2b148an],
    [2n ** 64n - 1n, 0xb4d055fcf2cbbd7bn],
  ])('of %s is the published value', (input, output) => {
    expect(mix(input)).toBe(output)
  })

  it('stays within 64 bits, looks at the lowest 64 only, and loses nothing', () => {
    const seen = new Map<bigint, bigint>()
    fc.assert(
      fc.property(u64s, (value) => {
        const mixed = mix(value)
        expect(mixed >= 0n && mixed < 2n ** 64n).toBe(true)
        expect(mix(value + 2n ** 64n)).toBe(mixed)
        expect(seen.get(mixed) ?? value).toBe(value)
        seen.set(mixed, value)
      }),
      { seed: 1, numRuns: 500 },
    )
  })
})

describe('rendezvous', () => {
  it.each([
    [5015n, 0n, [1, 4, 6, 5, 0, 7, 2, 3]],
    [3007n, 1n, [0, 7, 5, 1, 4, 2, 3, 6]],
    [3007n, 2n, [4, 1, 7, 5, 0, 6, 3, 2]],
  ])('orders workers 0 to 7 for key %s and seed %s as published', (key, seed, order) => {
    const weightOf = (worker: number): bigint => rendezvousWeight(key, BigInt(worker), 0, seed)
    const workers = [0, 1, 2, 3, 4, 5, 6, 7].sort((left, right) =>
      weightOf(left) > weightOf(right) ? -1 : 1,
    )
    expect(workers).toEqual(order)
  })

  it('is mix of the key and the part of the row, which depends on worker, rank and seed', () => {
    fc.assert(
      fc.property(u64s, u64s, fc.nat({ max: 0xffff_ffff }), u64s, (key, workerId, dpRank, seed) => {
        const row = mix(workerId ^ mix(BigInt(dpRank) ^ seed))
        expect(rendezvousRow(workerId, dpRank, seed)).toBe(row)
        expect(rendezvousWeight(key, workerId, dpRank, seed)).toBe(mix(key ^ row))
      }),
      { seed: 2, numRuns: 200 },
    )
  })

  it('moves only the keys of a worker that leaves', () => {
    const ownerOf = (key: bigint, workers: readonly bigint[]): bigint =>
      workers.reduce((best, worker) =>
        rendezvousWeight(key, worker, 0, 0n) > rendezvousWeight(key, best, 0, 0n) ? worker : best,
      )
    const workers = [10n, 20n, 30n, 40n]
    for (let key = 0n; key < 200n; key++) {
      const owner = ownerOf(key, workers)
      const others = workers.filter((worker) => worker !== 30n)
      if (owner !== 30n) expect(ownerOf(key, others)).toBe(owner)
    }
  })
})
