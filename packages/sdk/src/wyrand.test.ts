import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BigintStream, belowFrom, unitFrom } from '../test/support/bigint-stream.js'
import { ScriptedStream } from '../test/support/scripted-stream.js'
import { WyRand } from './wyrand.js'

const two64 = 2n ** 64n
const u64s = fc.bigInt({ min: 0n, max: two64 - 1n })
// The last one makes the sum of the lower halves exactly 2^32 at the first draw.
const edgeSeeds = [0n, 1n, 42n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 63n, two64 - 1n, 0x5593_875bn]
const edgeCounts = [1, 2, 3, 4, 7, 8, 1000, 1024, 65_535, 65_536, 2 ** 20, 2 ** 21 - 1, 2 ** 21, 2 ** 21 + 1]
const hugeCounts = [2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER]

function take<T>(count: number, draw: () => T): T[] {
  return Array.from({ length: count }, draw)
}

describe('next', () => {
  it.each([
    [0n, '9a45cd888d59f0d6 01445b6a189663f5 1842218b97e7a496 4dda1bc7277a55f9'],
    [1n, 'a833bdcdb6d1beb1 88dc97e5aab5fe3d 3d58bb03f31a4686 c763de764d6fe1b0'],
    [42n, 'ca71d87c76983989 7e5ba61552085fc6 cdf101e3bab88b9f 0a3825ad73267808'],
  ])('gives the published numbers for seed %s', (seed, expected) => {
    const random = new WyRand(seed)
    const text = take(4, () => random.next().toString(16).padStart(16, '0')).join(' ')
    expect(text).toBe(expected)
  })

  it('equals the definition for any seed', () => {
    fc.assert(
      fc.property(fc.oneof(u64s, fc.constantFrom(...edgeSeeds)), (seed) => {
        const random = new WyRand(seed)
        const model = new BigintStream(seed)
        expect(take(8, () => random.next())).toEqual(take(8, () => model.next()))
      }),
      { seed: 1, numRuns: 500 },
    )
  })

  it('takes the seed modulo 2^64', () => {
    expect(new WyRand(-1n).next()).toBe(new WyRand(two64 - 1n).next())
    expect(new WyRand(two64 + 42n).next()).toBe(new WyRand(42n).next())
  })

  it('leaves the draw in two unsigned halves', () => {
    const random = new WyRand(42n)
    random.step()
    expect([random.high, random.low]).toEqual([0xca71d87c, 0x76983989])
  })
})

describe('below', () => {
  it.each([...edgeCounts, ...hugeCounts])('equals the definition for n = %d', (n) => {
    const random = new WyRand(BigInt(n))
    const model = new BigintStream(BigInt(n))
    expect(take(40, () => random.below(n))).toEqual(take(40, () => Number(model.below(BigInt(n)))))
  })

  it('equals the definition for any n on both sides of 2^21', () => {
    const counts = fc.oneof(
      fc.integer({ min: 1, max: 2 ** 21 }),
      fc.maxSafeNat().filter((n) => n > 0),
    )
    fc.assert(
      fc.property(u64s, counts, (seed, n) => {
        const random = new WyRand(seed)
        const model = new BigintStream(seed)
        expect(take(4, () => random.below(n))).toEqual(take(4, () => Number(model.below(BigInt(n)))))
        expect(random.next()).toBe(model.next())
      }),
      { seed: 2, numRuns: 500 },
    )
  })

  it('rejects exactly the draws that the definition rejects', () => {
    // Draws whose product with n ends just above a multiple of 2^64, where rejections are (one in 2^43 of random ones), or
    // just above one of 2^32, where only the lower half of the product looks like it.
    const cases = fc.integer({ min: 2, max: 2 ** 22 }).chain((n) => {
      const upper = fc.bigInt({ min: 0n, max: BigInt(n) - 1n })
      const middle = fc.oneof(
        fc.constantFrom(0n, 0n, 1n, 2n ** 32n - 1n),
        fc.bigInt({ min: 1n, max: 2n ** 32n - 1n }),
      )
      const lower = fc.oneof(fc.constantFrom(0n, 0n), fc.bigInt({ min: 0n, max: 2n ** 31n }))
      const draws = fc.tuple(upper, middle, lower).map(([high, low, more]) => {
        const product = high * two64 + (low << 32n) + more
        const draw = (product + BigInt(n) - 1n) / BigInt(n)
        return draw < two64 ? draw : two64 - 1n
      })
      return fc.array(draws, { minLength: 1, maxLength: 6 }).map((values) => ({ n, values }))
    })
    let rejections = 0
    fc.assert(
      fc.property(cases, ({ n, values }) => {
        const script = [...values, 0x8000_0000_8000_0001n]
        const random = new ScriptedStream(script)
        let drawn = 0
        const expected = belowFrom(() => script[drawn++]!, BigInt(n))
        expect(random.below(n)).toBe(Number(expected))
        expect(random.draws).toBe(drawn)
        rejections += drawn - 1
      }),
      { seed: 3, numRuns: 2000 },
    )
    expect(rejections).toBeGreaterThan(100)
  })

  it('never rejects for a power of two, and draws once even for 1', () => {
    for (const n of [1, 2, 1024, 2 ** 21]) {
      const random = new ScriptedStream([0n])
      expect(random.below(n)).toBe(0)
      expect(random.draws).toBe(1)
    }
  })

  it.each([0, -1, 1.5, Number.NaN, Infinity, 2 ** 53])('refuses n = %d without a draw', (n) => {
    const random = new WyRand(1n)
    expect(() => random.below(n)).toThrow(RangeError)
    expect(random.state).toBe(1n)
  })
})

describe('belowU64', () => {
  it('equals the definition for any n', () => {
    fc.assert(
      fc.property(u64s, fc.bigInt({ min: 1n, max: two64 - 1n }), (seed, n) => {
        const random = new WyRand(seed)
        const model = new BigintStream(seed)
        expect(take(4, () => random.belowU64(n))).toEqual(take(4, () => model.below(n)))
        expect(random.next()).toBe(model.next())
      }),
      { seed: 4, numRuns: 500 },
    )
  })

  it.each([0n, -1n, two64])('refuses n = %s', (n) => {
    expect(() => new WyRand(1n).belowU64(n)).toThrow(RangeError)
  })
})

describe('unit', () => {
  it('equals the definition for any seed', () => {
    fc.assert(
      fc.property(u64s, (seed) => {
        const random = new WyRand(seed)
        const model = new BigintStream(seed)
        expect(take(8, () => random.unit())).toEqual(take(8, () => model.unit()))
      }),
      { seed: 5, numRuns: 500 },
    )
  })

  it('rounds once, to nearest even, at every exponent', () => {
    const draws = fc
      .tuple(u64s, fc.integer({ min: 0, max: 63 }))
      .map(([draw, shift]) => draw >> BigInt(shift))
    fc.assert(
      fc.property(draws, (draw) => {
        expect(new ScriptedStream([draw, 0n]).unit()).toBe(unitFrom(source([draw, 0n])))
      }),
      { seed: 6, numRuns: 2000 },
    )
  })

  it.each([
    ['is the largest double below 1 before the border', (2n ** 63n - 513n) << 1n, 1],
    ['draws again where rounding gives 1', (2n ** 63n - 512n) << 1n, 2],
    ['draws again for the largest draw', two64 - 1n, 2],
    ['is 0 for the smallest draw', 1n, 1],
  ])('%s', (_name, draw, draws) => {
    const script = [draw, 2n ** 62n]
    const random = new ScriptedStream(script)
    expect(random.unit()).toBe(unitFrom(source(script)))
    expect(random.draws).toBe(draws)
  })
})

describe('position', () => {
  it('rewinds to the mark, output included, as often as asked', () => {
    const random = new WyRand(7n)
    const first = random.next()
    random.mark()
    const tail = take(5, () => random.next())
    for (let round = 0; round < 2; round++) {
      random.rewind()
      expect((BigInt(random.high) << 32n) | BigInt(random.low)).toBe(first)
      expect(take(5, () => random.next())).toEqual(tail)
    }
  })

  it('rewinds to the seed without a mark', () => {
    const random = new WyRand(7n)
    const all = take(3, () => random.next())
    random.rewind()
    expect(take(3, () => random.next())).toEqual(all)
  })

  it('continues from its state in another stream', () => {
    fc.assert(
      fc.property(u64s, fc.integer({ min: 0, max: 5 }), (seed, steps) => {
        const random = new WyRand(seed)
        take(steps, () => random.next())
        const continued = new WyRand(random.state)
        expect(take(4, () => continued.next())).toEqual(take(4, () => random.next()))
      }),
      { seed: 7, numRuns: 100 },
    )
    expect(new WyRand(two64 - 1n).state).toBe(two64 - 1n)
  })
})

describe('allocation', () => {
  it('draws without allocating', () => {
    const { process } = globalThis as unknown as { process: { memoryUsage: () => { heapUsed: number } } }
    const random = new WyRand(42n)
    let sum = 0
    const draw = (times: number): void => {
      for (let index = 0; index < times; index++) {
        random.step()
        sum += random.low & 1
        sum += random.below(1000)
      }
    }
    for (let round = 0; round < 20; round++) draw(5000)
    const grown = take(9, () => {
      const before = process.memoryUsage().heapUsed
      draw(20_000)
      return process.memoryUsage().heapUsed - before
    }).sort((left, right) => left - right)
    expect(sum).toBeGreaterThan(0)
    // One bigint a draw would be 960 kB.
    expect(grown[4]).toBeLessThan(40_000)
  })
})

function source(values: readonly bigint[]): () => bigint {
  let taken = 0
  return () => values[taken++]!
}
