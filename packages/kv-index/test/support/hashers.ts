import {
  BlockHasher,
  BlockHashes,
  type HashingOptions,
  type TokenIds,
  defaultSecretHex,
  hashesOf,
} from '../../src/index.js'

/** One hasher for each kernel. */
export const hashers = {
  'the WebAssembly kernel': new BlockHasher(),
  'the plain kernel': new BlockHasher({ webAssembly: false }),
} as const

/** Name and hasher of each kernel, for `describe.each`. */
export const kernels = Object.entries(hashers)

export const defaultSecret = Uint8Array.from({ length: 192 }, (_, at) => {
  return Number.parseInt(defaultSecretHex.slice(2 * at, 2 * at + 2), 16)
})

/** Hashes of a prompt as bigints. */
export function hashed(
  hasher: BlockHasher,
  tokens: TokenIds,
  options: HashingOptions,
): { local: bigint[]; sequence: bigint[] } {
  const hashes = new BlockHashes()
  hasher.hash(tokens, options, hashes)
  return both(hashes)
}

/** What is in a target, as bigints. */
export function both({ local, sequence, count }: BlockHashes): { local: bigint[]; sequence: bigint[] } {
  return { local: hashesOf(local, count), sequence: hashesOf(sequence, count) }
}

/** The code of what it throws; `undefined` when it throws nothing. */
export function codeOf(body: () => unknown): unknown {
  try {
    body()
  } catch (error) {
    return (error as { readonly code?: unknown }).code ?? error
  }
  return undefined
}

/** `count` tokens that differ. */
export function someTokens(count: number, factor = 2_654_435_761): Uint32Array {
  return Uint32Array.from({ length: count }, (_, index) => Math.imul(factor, index + 1))
}
