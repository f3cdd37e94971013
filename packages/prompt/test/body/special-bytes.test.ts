import { readFileSync } from 'node:fs'
import { buildSimd } from '@router/tooling/build-simd'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SpecialBytes, noPosition, windowBytes } from '../../src/simd/special-bytes.js'

const kernel = new SpecialBytes(true)
const plain = new SpecialBytes(false)

const found = (finder: SpecialBytes): number[] => [
  ...finder.positions.subarray(0, finder.positions.indexOf(noPosition)),
]

it('the kernel runs here, and finds what the plain loop finds', () => {
  expect([kernel.usesWebAssembly, plain.usesWebAssembly]).toEqual([true, false])
  const bytes = fc.uint8Array({ maxLength: 200, max: 0x60 })
  fc.assert(
    fc.property(bytes, fc.nat({ max: 40 }), (list, start) => {
      // What a window before left behind must not be found.
      kernel.find(new Uint8Array(300).fill(0x22), 0)
      const from = Math.min(start, list.length)
      expect(kernel.find(list, from)).toBe(list.length)
      plain.find(list, from)
      expect(found(kernel)).toEqual(found(plain))
      const special = [...list.entries()].filter(
        ([at, byte]) => at >= from && (byte < 32 || byte === 34 || byte === 92),
      )
      expect(found(kernel)).toEqual(special.map(([at]) => at))
    }),
    { seed: 3, numRuns: 300 },
  )
})

it('looks at one window at a time, at most at all its bytes', () => {
  const quotes = new Uint8Array(windowBytes + 3).fill(0x22)
  for (const finder of [kernel, plain]) {
    expect(finder.find(quotes, 1)).toBe(1 + windowBytes)
    expect(found(finder)).toEqual(Array.from({ length: windowBytes }, (_, at) => at + 1))
    expect(finder.find(quotes, 1 + windowBytes)).toBe(quotes.length)
    expect(found(finder)).toEqual([windowBytes + 1, windowBytes + 2])
  }
})

it('the built WebAssembly modules are fresh builds of their sources', async () => {
  const built = await buildSimd(`${import.meta.dirname}/../..`)
  expect(built.map(({ text }) => text)).toEqual(built.map(({ file }) => readFileSync(file, 'utf8')))
  expect(built).toHaveLength(2)
})
