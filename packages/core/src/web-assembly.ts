// The part of WebAssembly that the host uses; neither DOM nor Node types are in scope of this package.

/** A growable linear memory. */
export interface WebAssemblyMemory {
  readonly buffer: ArrayBuffer
  readonly grow: (pages: number) => number
}

interface WebAssemblyNamespace {
  readonly Memory: new (descriptor: { initial: number }) => WebAssemblyMemory
}

/** One page, or `undefined` where there is no WebAssembly. */
export function newWebAssemblyMemory(): WebAssemblyMemory | undefined {
  const namespace = (globalThis as { WebAssembly?: WebAssemblyNamespace }).WebAssembly
  return namespace === undefined ? undefined : new namespace.Memory({ initial: 1 })
}
