import { describe, expect, it } from 'vitest'
import { SlotList } from './slot-list.js'

const contents = ({ slots, count }: SlotList): number[] => [...slots.subarray(0, count)]

describe('SlotList', () => {
  it('grows, keeps its order, and drops what is removed', () => {
    const list = new SlotList()
    const all = Array.from({ length: 100 }, (_, slot) => slot * 3)
    for (const slot of all) list.push(slot)
    expect(contents(list)).toEqual(all)
    list.remove(new Set([0, 3, 150, 297, 1]))
    expect(contents(list)).toEqual(all.filter((slot) => ![0, 3, 150, 297].includes(slot)))
  })

  it('keeps its store when cleared', () => {
    const list = new SlotList()
    for (let slot = 0; slot < 20; slot++) list.push(slot)
    const { slots } = list
    list.clear()
    list.push(5)
    expect([contents(list), list.slots === slots]).toEqual([[5], true])
  })
})
