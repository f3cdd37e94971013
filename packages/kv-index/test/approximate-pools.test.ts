import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { KeyPool } from '../src/approximate/key-pool.js'
import { LinkedLists } from '../src/approximate/linked-lists.js'

const half = fc.constantFrom(0, 1, 2, 3, 0xffff_ffff)
const key = fc.tuple(half, half, half)

describe('a key pool', () => {
  test('finds what a map finds, over random histories', () => {
    const step = fc.record({ key, isAdd: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400, size: 'max' }), (steps) => {
        const pool = new KeyPool()
        const model = new Map<string, number>()
        for (const { key: words, isAdd } of steps) {
          const known = model.get(words.join())
          expect(pool.find(...words)).toBe(known ?? 0)
          if (isAdd && known === undefined) model.set(words.join(), pool.add(...words))
          if (!isAdd && known !== undefined) {
            pool.delete(known)
            model.delete(words.join())
          }
          expect(pool.size).toBe(model.size)
        }
        for (const [words, id] of model) {
          const [scope, low, high] = words.split(',').map(Number)
          expect(pool.find(scope!, low!, high!)).toBe(id)
          expect([pool.scope[id], pool.low[id], pool.high[id]]).toEqual([scope, low, high])
        }
        expect(new Set(model.values()).size).toBe(model.size)
      }),
      { seed: 4_003, numRuns: 100 },
    )
  })

  test('finds everything at every moment of its growth, with removals meanwhile', () => {
    const pool = new KeyPool()
    const ids = new Map<number, number>()
    for (let at = 0; at < 20_000; at++) {
      ids.set(at, pool.add(1, at, at * 7))
      if (at % 3 === 0) {
        pool.delete(ids.get(at >> 1)!)
        ids.delete(at >> 1)
        const again = (at >> 1) + 1_000_000
        ids.set(again, pool.add(1, again, again * 7))
      }
      for (const one of [0, at >> 2, at >> 1, at, at + 1]) {
        if (pool.find(1, one, one * 7) !== (ids.get(one) ?? 0)) throw new Error(`key ${one} after ${at}`)
      }
    }
    const lost = [...ids].filter(([at, id]) => pool.find(1, at, at * 7) !== id)
    expect(lost).toEqual([])
    expect(pool.size).toBe(ids.size)
  })

  test('gives ids out again: a million changes of few entries take the memory of few', () => {
    const pool = new KeyPool()
    const live: number[] = []
    for (let at = 0; at < 1_000_000; at++) {
      live[at % 50] = pool.add(at & 7, at, at)
      if (at >= 49) pool.delete(live[(at + 1) % 50]!)
    }
    expect(pool.size).toBe(49)
    expect(pool.capacity).toBe(64)
  })
})

test('linked lists equal arrays, over random histories', () => {
  const step = fc.record({ op: fc.nat({ max: 3 }), list: fc.nat({ max: 2 }), pick: fc.nat({ max: 20 }) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100, size: 'max' }), (steps) => {
      const lists = new LinkedLists(4, 1)
      const model: number[][] = [[], [], []]
      lists.growLists(3)
      let members = 0
      for (const { op, list, pick } of steps) {
        const members0 = model[list]!
        if (op <= 1) {
          const id = ++members
          lists.growMembers(id + 1)
          const at = op === 0 ? members0.length : pick % (members0.length + 1)
          if (op === 0) lists.append(list, id)
          else lists.insertAfter(list, members0[at - 1] ?? 0, id)
          members0.splice(at, 0, id)
        } else if (op === 2 && members0.length > 0) {
          const [id] = members0.splice(pick % members0.length, 1)
          lists.unlink(list, id!)
        } else if (op === 3) {
          const to = (list + 1) % 3
          lists.appendAll(to, list)
          model[to]!.push(...members0.splice(0))
        }
        for (const [one, expected] of model.entries()) {
          expect([...forwards(lists, one)]).toEqual(expected)
          expect([...backwards(lists, one)]).toEqual(expected.toReversed())
        }
      }
    }),
    { seed: 4_004, numRuns: 100 },
  )
})

function* forwards(lists: LinkedLists, list: number): Generator<number> {
  for (let id = lists.head[list]!; id !== 0; id = lists.next[id]!) yield id
}

function* backwards(lists: LinkedLists, list: number): Generator<number> {
  for (let id = lists.tail[list]!; id !== 0; id = lists.previous[id]!) yield id
}
