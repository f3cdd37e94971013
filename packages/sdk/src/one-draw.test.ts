import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ScriptedStream } from '../test/support/scripted-stream.js'
import { oneDrawIndex, oneDrawUniform } from './one-draw.js'
import { WyRand } from './wyrand.js'

function drawn(draw: bigint): ScriptedStream {
  const random = new ScriptedStream([draw])
  random.step()
  return random
}

const u64s = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })

describe('one-draw chooser', () => {
  it.each([
    [7n, 3, [2, 0, 2, 1, 0, 0, 2, 0, 0, 1], 0.773381802821399],
    [1n, 2, [1, 1, 0, 1, 0, 1, 1, 1, 1, 0], 0.6570395114166051],
    [42n, 5, [3, 2, 4, 0, 2, 2, 4, 1, 3, 1], 0.790799646746195],
  ])('gives the published indexes of seed %s among %d', (seed, count, indexes, firstUniform) => {
    const random = new WyRand(seed)
    const uniforms: number[] = []
    const found = indexes.map(() => {
      random.step()
      uniforms.push(oneDrawUniform(random))
      return oneDrawIndex(random, count)
    })
    expect(found).toEqual(indexes)
    expect(uniforms[0]).toBe(firstUniform)
  })

  it('equals the definition for any draw and count', () => {
    const counts = fc.oneof(
      fc.integer({ min: 1, max: 2 ** 21 }),
      fc.constantFrom(1, 2, 1024, 2 ** 21 - 1, 2 ** 21),
    )
    const borders = fc
      .tuple(counts, fc.nat())
      .map(([count, k]) => (BigInt(k % count) * 2n ** 64n) / BigInt(count))
    fc.assert(
      fc.property(fc.oneof(u64s, borders), counts, (draw, count) => {
        expect(oneDrawIndex(drawn(draw), count)).toBe(Number((draw * BigInt(count)) >> 64n))
        expect(oneDrawUniform(drawn(draw))).toBe(Number(draw >> 11n) / 2 ** 53)
      }),
      { seed: 1, numRuns: 2000 },
    )
  })

  it('stays below its bounds for the largest draw', () => {
    const random = drawn(2n ** 64n - 1n)
    expect(oneDrawIndex(random, 2 ** 21)).toBe(2 ** 21 - 1)
    expect(oneDrawUniform(random)).toBe(1 - 2 ** -53)
  })

  it('is exact for any count a double holds', () => {
    fc.assert(
      fc.property(u64s, fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (draw, count) => {
        expect(oneDrawIndex(drawn(draw), count)).toBe(Number((draw * BigInt(count)) >> 64n))
      }),
      { seed: 24, numRuns: 500 },
    )
  })
})
