import { moduleHex } from './hash-module.js'

/** The part of WebAssembly that is used here; neither DOM nor Node types are in scope of this package. */
interface WebAssemblyNamespace {
  readonly Memory: new (descriptor: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer }
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown }
}

/**
 * Loops over the memory of a `HashMemory`. Offsets and lengths are bytes, seeds two halves; `derived` is where the secret of the
 * seed lies. Each allocates nothing.
 */
export interface HashKernel {
  /** Hashes of `count` inputs of `length` bytes, `stride` bytes apart, to `local`. */
  readonly hashBlocks: (
    input: number,
    length: number,
    stride: number,
    count: number,
    seedLow: number,
    seedHigh: number,
    secrets: number,
    derived: number,
    local: number,
  ) => void
  /** Chained hashes of `count` local hashes to `sequence`; the hash before the first lies at `sequence - 8`, unless `isFirst`. */
  readonly chain: (local: number, count: number, secrets: number, isFirst: boolean, sequence: number) => void
  /** `hashBlocks` of inputs of 64 bytes and `chain` in one pass. */
  readonly hashChained64: (
    input: number,
    stride: number,
    count: number,
    secrets: number,
    derived: number,
    local: number,
    isFirst: boolean,
    sequence: number,
  ) => void
}

/** Memory of a kernel, and the kernel. */
export interface HashInstance {
  readonly buffer: ArrayBuffer
  readonly kernel: HashKernel
}

const pageBytes = 65_536

/**
 * The WebAssembly kernel over a memory of its own of at least so many bytes, which never grows; `undefined` where WebAssembly or a
 * feature of it (SIMD) is missing or forbidden. Synchronous: the module is below 4 kB.
 */
export function instantiateHashKernel(bytes: number): HashInstance | undefined {
  const namespace = (globalThis as { WebAssembly?: WebAssemblyNamespace }).WebAssembly
  if (namespace === undefined) return undefined
  const pages = Math.ceil(bytes / pageBytes)
  try {
    const memory = new namespace.Memory({ initial: pages, maximum: pages })
    const { exports } = new namespace.Instance(moduleOf(namespace), { env: { memory } })
    return { buffer: memory.buffer, kernel: exports as HashKernel }
  } catch {
    return undefined
  }
}

// Compiled once per program and per WebAssembly that it finds.
let compiled: { readonly by: WebAssemblyNamespace['Module']; readonly module: object } | undefined

function moduleOf(namespace: WebAssemblyNamespace): object {
  if (compiled?.by !== namespace.Module) {
    const bytes = Uint8Array.from({ length: moduleHex.length / 2 }, (_, at) => {
      return Number.parseInt(moduleHex.slice(2 * at, 2 * at + 2), 16)
    })
    compiled = { by: namespace.Module, module: new namespace.Module(bytes) }
  }
  return compiled.module
}
