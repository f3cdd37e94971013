import { KvIndexError } from '../errors.js'

/** Token ids of a prompt: `Uint32Array` is taken as it is, every other list is checked token by token. */
export type TokenIds = Uint32Array | readonly number[]

/** Throws `KV_INDEX_TOKEN_INVALID` unless each of `[start, end)` is a whole number from 0 to 2^32 - 1. */
export function checkTokens(tokens: TokenIds, start = 0, end = tokens.length): void {
  if (tokens instanceof Uint32Array) return
  for (let index = start; index < end; index++) {
    const value = tokens[index]
    if (typeof value !== 'number' || value >>> 0 !== value) throw tokenError(value, index)
  }
}

/** Throws `KV_INDEX_TOKEN_INVALID` unless it is a whole number from 0 to 2^32 - 1. */
export function checkToken(value: number): void {
  if (typeof value !== 'number' || value >>> 0 !== value) throw tokenError(value)
}

function tokenError(value: unknown, index?: number): KvIndexError {
  const where = index === undefined ? '' : ` at ${index}`
  return new KvIndexError(
    'KV_INDEX_TOKEN_INVALID',
    `token ${String(value)}${where}: expected a whole number from 0 to 2^32 - 1`,
    index === undefined ? { value } : { value, index },
  )
}

const smallest = -(1n << 63n)
const largest = (1n << 64n) - 1n

/** Throws `KV_INDEX_HASH_INVALID` unless each is a 64-bit integer, signed or unsigned. */
export function checkHashes(hashes: readonly bigint[]): void {
  for (const [index, value] of hashes.entries()) {
    if (typeof value === 'bigint' && value >= smallest && value <= largest) continue
    throw new KvIndexError(
      'KV_INDEX_HASH_INVALID',
      `hash ${String(value)} at ${index}: expected a bigint of 64 bits, signed or unsigned`,
      { value, index },
    )
  }
}
