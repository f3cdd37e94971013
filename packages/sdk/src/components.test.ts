import { describe, expect, it } from 'vitest'
import { defineFilter, definePicker, defineScorer } from './components.js'

describe('defineFilter, defineScorer and definePicker', () => {
  it('type a component and leave it as it is', () => {
    const filter = { name: 'f', inputs: ['load'], keep: () => true } as const
    const scorer = { name: 's', inputs: ['cache'], score: () => undefined } as const
    const picker = { name: 'p', inputs: [], pick: () => 0 } as const
    expect(defineFilter(filter)).toBe(filter)
    expect(defineScorer(scorer)).toBe(scorer)
    expect(definePicker(picker)).toBe(picker)
  })
})
