import { afterEach, describe, expect, it, vi } from 'vitest'
import { instantiateKernel } from './wasm-kernel.js'

// (module (import "env" "memory" (memory 1)) (func (export "read") (result i32) i32.const 0 i32.load))
const readsFirstWord =
  '0061736d01000000' +
  '010501' +
  '60' +
  '00017f' +
  '020f0103656e76066d656d6f7279020001' +
  '03020100' +
  '0708010472656164' +
  '0000' +
  '0a09010700' +
  '41002802000b'

interface WebAssemblyForTest {
  readonly Memory: new (limits: { initial: number }) => { readonly buffer: ArrayBuffer }
  readonly Module: new (bytes: Uint8Array) => object
}
const webAssembly = (globalThis as unknown as { WebAssembly: WebAssemblyForTest }).WebAssembly

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('instantiateKernel', () => {
  it('runs the module over the given memory, in place', () => {
    const memory = new webAssembly.Memory({ initial: 1 })
    const kernel = instantiateKernel<{ read: () => number }>(readsFirstWord, memory)
    new Uint32Array(memory.buffer)[0] = 7
    expect(kernel?.read()).toBe(7)
    new Uint32Array(memory.buffer)[0] = 8
    expect(kernel?.read()).toBe(8)
  })

  it('is undefined without a memory, without WebAssembly, and for a module that the platform cannot run', () => {
    const memory = new webAssembly.Memory({ initial: 1 })
    expect(instantiateKernel(readsFirstWord, undefined)).toBeUndefined()
    expect(instantiateKernel(`${readsFirstWord}ff`, memory)).toBeUndefined()
    vi.stubGlobal('WebAssembly', undefined)
    expect(instantiateKernel(readsFirstWord, memory)).toBeUndefined()
  })

  it('is undefined where the platform forbids compiling', () => {
    const memory = new webAssembly.Memory({ initial: 1 })
    const forbidding = {
      ...webAssembly,
      Module: class {
        constructor() {
          throw new Error('refused by the content security policy')
        }
      },
    }
    vi.stubGlobal('WebAssembly', forbidding)
    expect(instantiateKernel(readsFirstWord, memory)).toBeUndefined()
  })

  it('throws on a memory that does not fit the module: that is a fault of the package', () => {
    expect(() => instantiateKernel(readsFirstWord, {})).toThrow()
  })
})
