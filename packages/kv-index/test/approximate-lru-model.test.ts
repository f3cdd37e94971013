import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LifetimeRetention } from '../src/approximate/lifetime-retention.js'
import { LruRetention } from '../src/approximate/lru-retention.js'
import { hashWords, hashesOf, PrefixIndex } from '../src/index.js'
import { LifetimeModel, LruModel, blocksOf } from './support/approximate-models.js'
import { MatchTable } from './support/match-table.js'

const ranks = [0, 3]
const lifetime = { ttlMs: 500, maxBlocks: 20, pruneTargetRatio: 0.8 }
const path = fc.array(fc.bigInt({ min: 1n, max: 2n }), { maxLength: 6 })
const rank = fc.constantFrom(...ranks)
const pick = fc.nat({ max: 30 })
const privateBlocks = fc.constantFrom(0, 0, 1, 3)

const capacity = fc.constantFrom(undefined, 0, Number.NaN, 1, 4, 8, 12, 12, 16, 16, 20)
const incarnation = fc.constantFrom(1, 1, 1, 1, 1, 1, 2)
/** Blocks of output, and how many of the known blocks a careless caller replaces. */
const output = fc.array(fc.bigInt({ min: 1n, max: 2n }), { maxLength: 3 })
const repeated = fc.constantFrom(0, 0, 0, 2)

const command = fc.oneof(
  { weight: 1, arbitrary: fc.record({ op: fc.constant('capacity' as const), rank, incarnation, capacity }) },
  {
    weight: 8,
    arbitrary: fc.record({ op: fc.constant('acquire' as const), rank, incarnation, path, privateBlocks }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant('materialize' as const),
      rank,
      pick,
      output,
      repeated,
      privateBlocks,
    }),
  },
  { weight: 6, arbitrary: fc.record({ op: fc.constant('release' as const), rank, pick }) },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('reset' as const),
      rank,
      dice: fc.nat({ max: 2 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('advance' as const),
      rank,
      by: fc.constantFrom(50, 300, 600),
    }),
  },
)
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never

class Play {
  readonly index = new PrefixIndex({ blockSize: 16 })
  readonly real = new LruRetention(new LifetimeRetention(this.index, lifetime))
  readonly model = new LruModel(new LifetimeModel(lifetime))
  readonly #table = new MatchTable(4)
  #nowMs = 0
  #attempts = 0

  step(step: Command): void {
    const probe = this.#apply(step)
    const evicted = hashesOf(this.real.evicted, this.real.evictedCount)
    expect(evicted, 'evicted').toEqual(this.model.evicted)
    expect(this.real.stats(), 'stats').toEqual(this.model.stats())
    this.real.lifetime.lookup(hashWords(probe), probe.length, this.#nowMs, this.#table)
    this.model.lifetime.expire(this.#nowMs)
    for (const one of ranks) {
      expect(this.#table.at(one)[0], `match of rank ${one}`).toBe(this.model.match(one, probe))
      expect(this.index.sizeOf(one), `blocks of rank ${one}`).toBe(this.model.sizeOf(one))
    }
  }

  #apply(step: Command): readonly bigint[] {
    if (step.op === 'capacity') {
      this.real.setCapacity(step.rank, step.incarnation, step.capacity)
      this.model.setCapacity(step.rank, step.incarnation, step.capacity)
    } else if (step.op === 'acquire') return this.#acquire(step)
    else if (step.op === 'materialize') return this.#materialize(step)
    else if (step.op === 'release') {
      const attempt = this.#attemptOf(step.rank, step.pick)
      this.real.release(step.rank, attempt)
      this.model.release(step.rank, attempt)
    } else if (step.op === 'advance') this.#nowMs += step.by
    else if (step.dice === 0) {
      this.real.resetRank(step.rank)
      this.model.resetRank(step.rank)
    } else {
      this.real.release(step.rank, 1e15)
      this.model.release(step.rank, 1e15)
    }
    return []
  }

  #acquire(step: Extract<Command, { op: 'acquire' }>): readonly bigint[] {
    // Attempts beyond 32 bits that share their low half.
    const attempt = this.#attempts++ * 2 ** 32 + 7
    const blocks = step.path
    const real = this.real.acquire(
      step.rank,
      step.incarnation,
      attempt,
      blocksOf(blocks),
      step.privateBlocks,
      this.#nowMs,
    )
    expect(real, 'mode').toBe(
      this.model.acquire(step.rank, step.incarnation, attempt, blocks, step.privateBlocks, this.#nowMs),
    )
    return blocks
  }

  #materialize(step: Extract<Command, { op: 'materialize' }>): readonly bigint[] {
    const attempt = this.#attemptOf(step.rank, step.pick)
    const known = this.model.ranks.get(step.rank)?.leases.get(attempt)?.path ?? []
    const from = Math.max(0, known.length - step.repeated)
    const blocks = [...known.slice(0, from), ...step.output]
    const { rank: who, privateBlocks: own } = step
    this.real.materialize(who, attempt, blocksOf(blocks), from, own)
    this.model.materialize(who, attempt, blocks, from, own)
    return blocks
  }

  /** Of a live lease; where the rank has none, of an attempt long gone. */
  #attemptOf(who: number, which: number): number {
    const attempts = [...(this.model.ranks.get(who)?.leases.keys() ?? [])]
    return attempts.length === 0 ? 7 : attempts[which % attempts.length]!
  }
}

describe('I4: LRU retention equals its rules', () => {
  test.each([
    ['few', 300, 40],
    ['many', 30, 400],
  ])('over random histories of %s steps', (_, numRuns, maxLength) => {
    const history = fc.array(command, { maxLength, size: 'max' })
    let evicted = 0
    fc.assert(
      fc.property(history, (steps) => {
        const game = new Play()
        for (const one of ranks) {
          game.step({ op: 'capacity', rank: one, incarnation: 1, capacity: 12 })
        }
        for (const step of steps) game.step(step)
        evicted += game.real.stats().evictedTotal
      }),
      { seed: 4_002, numRuns },
    )
    expect(evicted, 'the histories evict').toBeGreaterThan(numRuns)
  })
})
