import { describe, expect, it } from 'vitest'
import { codeOf } from './support/caught.js'
import { setUp } from './support/patch-setup.js'
import type { WeightedParameters } from './support/weighted-policy.js'

describe('merging', () => {
  const start = { weight: 2, decay: { half_life_ms: 50, floor: 1 }, by_class: { batch: 3 }, list: [1, 2] }
  const after = (change: object, first: object = {}) => {
    const { instance } = setUp({ parameters: start })
    instance.patch(first as never)
    return instance.patch(change as never).after
  }

  it('goes into nested objects; arrays replace', () => {
    expect(after({ decay: { half_life_ms: 9 } })).toEqual({ ...start, decay: { half_life_ms: 9, floor: 1 } })
    expect(after({ by_class: { chat: 1 } })).toEqual({ ...start, by_class: { batch: 3, chat: 1 } })
    expect(after({ list: [3] })).toEqual({ ...start, list: [3] })
    expect(after({ list: [] })).toEqual({ ...start, list: [] })
  })

  it('reads null as a return to the start-up value', () => {
    expect(after({ weight: null }, { weight: 7 })).toEqual(start)
    expect(after({ decay: { half_life_ms: null } }, { decay: { half_life_ms: 9 } })).toEqual(start)
    expect(after({ list: null }, { list: [] })).toEqual(start)
    expect(after({ by_class: null }, { by_class: { batch: 9, chat: 1 } })).toEqual(start)
    expect(after({ cache_weight: null }, { cache_weight: 0 })).toEqual(start)
  })

  it('removes with null a map entry that start-up did not have, and restores one that it had', () => {
    expect(after({ by_class: { chat: null } }, { by_class: { chat: 1 } })).toEqual(start)
    expect(after({ by_class: { batch: null } }, { by_class: { batch: 8 } })).toEqual(start)
    expect(after({ by_class: { never: null } })).toEqual(start)
  })

  it('takes null as the value where the schema accepts null', () => {
    const { instance } = setUp({ parameters: start })
    expect(instance.patch({ cap: null }).after).toEqual({ ...start, cap: null })
    expect(instance.parameters).toMatchObject({ cap: null })
    expect(instance.patch({ cap: 3 }).after).toEqual({ ...start, cap: 3 })
  })

  it('leaves its arguments alone', () => {
    const { instance } = setUp({ parameters: start })
    const change = { decay: { half_life_ms: 9 }, by_class: { batch: null, chat: 2 } }
    const copy = JSON.stringify(change)
    const { before } = instance.patch(change)
    expect(JSON.stringify(change)).toBe(copy)
    expect(before).toEqual(start)
    expect(instance.startParameters).toEqual(start)
  })

  it.each(['__proto__', 'constructor', 'prototype', 'toString'])('of the key %s is harmless', (key) => {
    const { instance } = setUp({ parameters: start })
    const top = JSON.parse(`{"${key}": {"polluted": 1}}`) as Record<string, unknown>
    expect(codeOf(() => instance.patch(top))).toBe('ROUTER_PARAMETER_NOT_RUNTIME')
    const nested = JSON.parse(`{"decay": {"${key}": {"polluted": 1}}}`) as Record<string, unknown>
    expect(codeOf(() => instance.patch(nested))).toBe('ROUTER_PARAMETER_NOT_RUNTIME')
    const entry = JSON.parse(`{"by_class": {"${key}": 4}}`) as Record<string, unknown>
    try {
      instance.patch(entry)
    } catch (error) {
      expect(error).toMatchObject({ code: 'ROUTER_POLICY_PARAMETERS_INVALID' })
    }
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    expect(Object.getPrototypeOf(instance.configured)).toBe(Object.prototype)
    expect((instance.parameters as WeightedParameters).weight).toBe(2)
  })
})
