import { buildSimd } from '@router/tooling/build-simd'
import { expect, it } from 'vitest'

// The text of the built modules, by path from here.
const committed = import.meta.glob(['../src/simd/*-module.ts'], {
  query: '?raw',
  import: 'default',
  eager: true,
})

it('the built WebAssembly module is a fresh build of its source, below the 4 kB that pages may compile at once', async () => {
  const built = await buildSimd(`${import.meta.dirname}/..`)
  const texts = built.map(({ file, text }) => [file.split('/').at(-1), text])
  expect(texts).toEqual(Object.entries(committed).map(([path, text]) => [path.split('/').at(-1), text]))
  expect(texts).toHaveLength(1)
  const bytes = /hexadecimal text, (\d+) bytes/u.exec(texts[0]![1]!)?.[1]
  expect(Number(bytes)).toBeLessThan(4096)
})
