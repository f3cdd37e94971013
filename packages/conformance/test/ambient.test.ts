import { describe, expect, it } from 'vitest'
import { withoutAmbient } from '../src/ambient.js'

const platform = globalThis as unknown as {
  performance: { now: () => number }
  crypto: { getRandomValues: (array: Uint8Array) => Uint8Array; randomUUID: () => string }
}

const uses: [string, () => unknown][] = [
  ['Date.now', () => Date.now()],
  ['new Date()', () => new Date()],
  ['Date()', () => Date()],
  ['Math.random', () => Math.random()],
  ['performance.now', () => platform.performance.now()],
  ['crypto.getRandomValues', () => platform.crypto.getRandomValues(new Uint8Array(1))],
  ['crypto.randomUUID', () => platform.crypto.randomUUID()],
]

describe('withoutAmbient', () => {
  it.each(uses)('notes %s, makes it throw, and restores it', (name, use) => {
    const noted: string[] = []
    expect(() => withoutAmbient(use, (what) => noted.push(what))).toThrow(/is ambient/u)
    expect(noted).toEqual([name])
    expect(use).not.toThrow()
  })

  it('leaves what is pure alone, and properties as they were', () => {
    const before = Object.getOwnPropertyDescriptor(globalThis, 'Date')
    const year = withoutAmbient(
      () => new Date(0).getUTCFullYear() + Date.UTC(1970, 0) + Number(new Date(5) instanceof Date),
      () => {},
    )
    expect(year).toBe(1971)
    expect(Object.getOwnPropertyDescriptor(globalThis, 'Date')).toEqual(before)
    expect(Object.hasOwn(platform.performance, 'now')).toBe(false)
  })
})
