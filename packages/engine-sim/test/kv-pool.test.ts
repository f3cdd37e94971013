import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BlockTable } from '../src/block-table.js'
import { KvPool } from '../src/kv-pool.js'
import { PassLog } from '../src/pass-log.js'
import { NaivePool } from './support/naive-pool.js'
import { Recorder } from './support/timeline.js'

const settings = { seed: 20_261_129, numRuns: 400 }

interface Holder {
  readonly places: number[]
  readonly copies: ReturnType<NaivePool['cache']>[]
  readonly names: number[]
  privateBlocks: number
}

const command = fc.oneof(
  fc.record({
    op: fc.constant('admit' as const),
    path: fc.array(fc.nat(1), { minLength: 1, maxLength: 4 }),
    more: fc.nat(3),
  }),
  fc.record({ op: fc.constant('release' as const), holder: fc.nat(20) }),
  fc.record({ op: fc.constant('fill' as const), holder: fc.nat(20), name: fc.nat(1) }),
)

describe('P3: the pool against a slow one', () => {
  it('evicts, shares, copies and refuses alike', () => {
    let evictions = 0
    let copies = 0
    let refusals = 0
    fc.assert(
      fc.property(
        fc.array(command, { minLength: 40, maxLength: 80 }),
        fc.integer({ min: 1, max: 12 }),
        (commands, capacity) => {
          const table = new BlockTable()
          const log = new PassLog()
          const pool = new KvPool(capacity, table, log)
          const naive = new NaivePool(capacity)
          // Names stand for a path; equal paths have equal numbers.
          const numbers = new Map<string, number>()
          const numberOf = (name: string): number => {
            const key = numbers.size + 1
            if (!numbers.has(name)) numbers.set(name, table.acquire(key, key * 7))
            return numbers.get(name)!
          }
          const holders: (Holder & { readonly path: number[] })[] = []
          for (const step of commands) {
            if (step.op === 'admit') {
              const blocks = Int32Array.from(step.path, (_, index) =>
                numberOf(step.path.slice(0, index + 1).join()),
              )
              const hits = pool.hits(blocks, blocks.length)
              const missing = [...blocks].findIndex((block) => naive.oldest(block) === undefined)
              expect(hits).toBe(missing === -1 ? blocks.length : missing)
              const found = [...blocks.subarray(0, hits)]
              expect(pool.activeHits(blocks, hits)).toBe(
                found.filter((block) => naive.oldest(block)!.references > 0).length,
              )
              const holder: (typeof holders)[number] = {
                path: step.path.slice(0, hits),
                names: [],
                places: found.map((block) => pool.pin(block)),
                copies: found.map((block) => naive.pin(block)),
                privateBlocks: 0,
              }
              const isTaken = pool.reserve(step.more)
              expect(isTaken).toBe(naive.reserve(step.more))
              if (isTaken) holder.privateBlocks = step.more
              else refusals++
              holders.push(holder)
            } else {
              const holder = holders[step.holder % Math.max(1, holders.length)]
              if (holder === undefined) continue
              // Only a few at a time, or nothing would ever be free.
              if (step.op === 'release' || holders.length > 4) {
                holders.splice(holders.indexOf(holder), 1)
                pool.releasePrivate(holder.privateBlocks)
                naive.privateBlocks -= holder.privateBlocks
                for (const place of holder.places.toReversed()) pool.unpin(place)
                for (const copy of holder.copies.toReversed()) naive.unpin(copy)
              } else {
                for (; holder.privateBlocks > 0; holder.privateBlocks--) {
                  holder.path.push(step.name)
                  const block = numberOf(holder.path.join())
                  if (naive.oldest(block) !== undefined) copies++
                  holder.places.push(pool.cache(block, 0, 0))
                  holder.copies.push(naive.cache(block))
                }
              }
            }
            expect([pool.total, pool.inactive, pool.active]).toEqual([
              naive.total,
              naive.inactiveCopies.length,
              naive.total - naive.inactiveCopies.length,
            ])
            expect(pool.total).toBeLessThanOrEqual(capacity)
          }
          const recorder = new Recorder()
          log.tell(recorder)
          expect(recorder.events.map((event) => event.split(' ').slice(0, 2).join(' '))).toEqual(naive.events)
          evictions += naive.events.filter((event) => event.startsWith('removed')).length
        },
      ),
      settings,
    )
    for (const seen of [evictions, copies, refusals]) expect(seen).toBeGreaterThan(100)
  })

  it('a reservation that fails evicts nothing', () => {
    const table = new BlockTable()
    const log = new PassLog()
    const pool = new KvPool(3, table, log)
    pool.reserve(2)
    pool.unpin(pool.cache(table.acquireUnique(), 0, 0))
    expect([pool.reserve(3), pool.total, pool.inactive, log.size]).toEqual([false, 2, 1, 1])
    expect([pool.reserve(2), pool.total, pool.inactive, log.size]).toEqual([true, 3, 0, 2])
  })
})

describe('numbers of blocks', () => {
  it('are those of a map with counted references, and are given again', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ key: fc.nat(60), releases: fc.boolean() }), {
          minLength: 100,
          maxLength: 300,
        }),
        (steps) => {
          const table = new BlockTable()
          const held = new Map<number, { number: number; references: number }>()
          let most = 0
          for (const { key, releases } of steps) {
            const entry = held.get(key)
            if (releases && entry !== undefined) {
              table.release(entry.number)
              if (--entry.references === 0) held.delete(key)
            } else if (!releases) {
              // Keys that differ in one half only.
              const number = table.acquire(key & 7, key >>> 3)
              if (entry === undefined) {
                expect([...held.values()].map((other) => other.number)).not.toContain(number)
                held.set(key, { number, references: 1 })
              } else {
                expect(number).toBe(entry.number)
                entry.references++
              }
            }
            most = Math.max(most, held.size)
            expect(table.size).toBe(held.size)
            const numbers = [...held.values()].map(({ number }) => number)
            const found = [...held.keys()].map((heldKey) => table.acquire(heldKey & 7, heldKey >>> 3))
            for (const number of found) table.release(number)
            expect(found).toEqual(numbers)
            expect(Math.max(0, ...numbers)).toBeLessThan(Math.max(1, most))
          }
        },
      ),
      { ...settings, numRuns: 100 },
    )
  })

  it('grow past the first columns', () => {
    const table = new BlockTable()
    const numbers = Array.from({ length: 1000 }, (_, key) => table.acquire(key, 5))
    expect(numbers.map((_, key) => table.acquire(key, 5))).toEqual(numbers)
    expect(new Set(numbers).size).toBe(1000)
  })
})
