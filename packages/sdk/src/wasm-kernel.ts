interface WebAssemblyNamespace {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: Record<string, unknown> }
}

/**
 * Instantiates a small WebAssembly kernel that imports its memory as `env.memory`; `undefined` where WebAssembly or a feature
 * the module needs (SIMD) is missing or forbidden, so that the caller falls back to its plain loop. Synchronous: keep
 * modules below 4 kB. Pass integers only across the boundary: a double argument or result allocates.
 * @param moduleHex the module's bytes as hexadecimal text
 * @param memory `scope.memory.webAssemblyMemory`
 */
export function instantiateKernel<Exports>(
  moduleHex: string,
  memory: object | undefined,
): Exports | undefined {
  const namespace = (globalThis as { WebAssembly?: WebAssemblyNamespace }).WebAssembly
  if (namespace === undefined || memory === undefined) return undefined
  const module = moduleOf(namespace, moduleHex)
  if (module === undefined) return undefined
  return new namespace.Instance(module, { env: { memory } }).exports as Exports
}

// Compiling costs more than everything else about a policy object; a program has a handful of kernels.
const compiled = new Map<string, object>()
const maximumCompiled = 16
let compiledBy: WebAssemblyNamespace['Module'] | undefined

function moduleOf(namespace: WebAssemblyNamespace, moduleHex: string): object | undefined {
  if (compiledBy !== namespace.Module || compiled.size === maximumCompiled) compiled.clear()
  compiledBy = namespace.Module
  const known = compiled.get(moduleHex)
  if (known !== undefined) return known
  const bytes = new Uint8Array(moduleHex.length / 2)
  for (let index = 0; index < bytes.length; index++) {
    bytes[index] = Number.parseInt(moduleHex.slice(index * 2, index * 2 + 2), 16)
  }
  const module = compile(namespace, bytes)
  if (module !== undefined) compiled.set(moduleHex, module)
  return module
}

/** `undefined` where a feature is missing, or WebAssembly is forbidden, as a page's content security policy may. */
function compile(namespace: WebAssemblyNamespace, bytes: Uint8Array): object | undefined {
  try {
    return new namespace.Module(bytes)
  } catch {
    return undefined
  }
}
