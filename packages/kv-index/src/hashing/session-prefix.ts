import { KvIndexError } from '../errors.js'
import { hashAt } from '../hash-words.js'
import type { BlockHasher, HashNamespace } from './block-hasher.js'
import type { TokenIds } from './checks.js'

/**
 * The session id that stands for the first `prefixTokens` tokens of a prompt: `prefix:` and 16 hexadecimal digits, equal in each turn
 * of a conversation that only appends. `undefined` for a shorter prompt: a hash of what is there would change with each turn.
 * An id that the caller sent comes first, which is the host's to see to. Throws `KV_INDEX_PREFIX_TOKENS_INVALID`,
 * `KV_INDEX_TOKEN_INVALID` (for tokens of the prefix).
 */
export function sessionIdOfPrefix(
  hasher: BlockHasher,
  tokens: TokenIds,
  prefixTokens: number,
  namespace: HashNamespace = {},
): string | undefined {
  if (!(Number.isSafeInteger(prefixTokens) && prefixTokens >= 1)) {
    throw new KvIndexError(
      'KV_INDEX_PREFIX_TOKENS_INVALID',
      `${String(prefixTokens)} prefix tokens: expected a whole number from 1 on`,
      { value: prefixTokens },
    )
  }
  const { loraName, cacheSalt, seed } = namespace
  const words = new Uint32Array(2)
  const isHashed = hasher.hashBlock(
    tokens,
    0,
    { blockSize: prefixTokens, loraName, cacheSalt, seed },
    words,
    0,
  )
  return isHashed ? `prefix:${hashAt(words, 0).toString(16).padStart(16, '0')}` : undefined
}
