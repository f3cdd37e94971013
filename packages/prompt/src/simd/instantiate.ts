/** The part of WebAssembly that is used here; no types of it are in scope. */
interface WebAssemblyNamespace {
  readonly Memory: new (descriptor: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer }
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown }
}

const compiled = new Map<string, object>()

/**
 * An instance of a module, with memory of its own that never grows; `undefined` where WebAssembly or its vectors are missing or forbidden.
 * A module is compiled once.
 * @param moduleHex as `build:simd` writes it
 * @param pages of 64 KiB
 */
export function instantiate<Exports>(
  moduleHex: string,
  pages: number,
): { readonly buffer: ArrayBuffer; readonly exports: Exports } | undefined {
  const namespace = (globalThis as { WebAssembly?: WebAssemblyNamespace }).WebAssembly
  if (namespace === undefined) return undefined
  try {
    const memory = new namespace.Memory({ initial: pages, maximum: pages })
    let module = compiled.get(moduleHex)
    if (module === undefined) {
      module = new namespace.Module(Buffer.from(moduleHex, 'hex'))
      compiled.set(moduleHex, module)
    }
    const { exports } = new namespace.Instance(module, { env: { memory } })
    return { buffer: memory.buffer, exports: exports as Exports }
  } catch {
    return undefined
  }
}
