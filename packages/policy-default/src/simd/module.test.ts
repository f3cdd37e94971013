/// <reference types="node" />
import { fileURLToPath } from 'node:url'
import { buildSimd } from '@router/tooling/build-simd'
import { describe, expect, it } from 'vitest'
import { moduleHex } from './kernel-module.js'

describe('the WebAssembly module', () => {
  it('is what its source compiles to', async () => {
    const built = await buildSimd(fileURLToPath(new URL('../..', import.meta.url)))
    expect(built.map(({ file }) => file)).toEqual([
      fileURLToPath(new URL('kernel-module.ts', import.meta.url)),
    ])
    const hex = built[0]!.text.match(/'[0-9a-f]+'/gu)!.map((line) => line.slice(1, -1))
    expect(moduleHex).toBe(hex.join(''))
  })

  it('stays below 4,096 bytes, beyond which browsers refuse to compile it synchronously', () => {
    expect(moduleHex.length / 2).toBeLessThan(4096)
  })
})
