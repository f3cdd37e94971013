import { describe, expect, it } from 'vitest'
import { caught } from './support/caught.js'
import { tinyHost } from './support/hosts.js'
import { keepBy } from './support/policies.js'

const picking = (row: unknown) => tinyHost({ picker: { name: 'odd', pick: () => row as never } })

describe('picker rows', () => {
  it.each([
    ['too large', 3],
    ['far too large', 2 ** 32],
    ['negative', -1],
    ['fractional', 0.5],
    ['NaN', Number.NaN],
    ['infinite', Infinity],
    ['undefined', undefined],
    ['null', null],
    ['text', '1'],
    ['a bigint', 1n],
    ['a boolean', true],
    ['a list', [1]],
    ['a promise', Promise.resolve(1)],
  ])('%s is ROUTER_INVALID_PICKER_ROW with row and candidateCount', (_kind, row) => {
    const host = picking(row)
    const { code, details } = caught(() => host.select())
    expect(code).toBe('ROUTER_INVALID_PICKER_ROW')
    expect(details).toEqual({ row, candidateCount: 3, picker: 'odd' })
  })

  it.each([0, 1, 2])('%i is a row of three', (row) => {
    expect(picking(row).select()).toBe(`${row + 1}.0`)
  })

  it('-0 is row 0', () => {
    const host = picking(-0)
    expect(host.select()).toBe('1.0')
    expect(Object.is(host.selector.select({ mode: 'query', promptTokens: 1, blockSize: 1 }).slot, 0)).toBe(
      true,
    )
  })

  it('are counted over kept rows', () => {
    const host = tinyHost({ filters: [keepBy((id) => id > 1n)], picker: { name: 'odd', pick: () => 2 } })
    expect(caught(() => host.select()).details).toMatchObject({ row: 2, candidateCount: 2 })
  })

  it('leave the policy usable', () => {
    const rows = [7, 1]
    const host = tinyHost({ picker: { name: 'late', pick: () => rows.shift()! } })
    expect(caught(() => host.select()).code).toBe('ROUTER_INVALID_PICKER_ROW')
    expect(host.select()).toBe('2.0')
  })
})
