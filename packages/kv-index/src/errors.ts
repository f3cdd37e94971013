/** Every error code of the prefix index and of engine events; `docs/errors.md` explains each. The set may grow: keep a default branch. */
export const kvIndexErrorCodes = [
  // hashing
  'KV_INDEX_BLOCK_SIZE_INVALID',
  'KV_INDEX_TOKEN_INVALID',
  'KV_INDEX_HASH_INVALID',
  'KV_INDEX_RANGE_INVALID',
  'KV_INDEX_PREFIX_TOKENS_INVALID',
  // index
  'KV_INDEX_RANK_INVALID',
  'KV_INDEX_TIER_INVALID',
  'KV_INDEX_RUN_INVALID',
  'KV_INDEX_DUMP_INVALID',
  // approximate mode
  'KV_INDEX_OPTION_INVALID',
  'KV_INDEX_ATTEMPT_DUPLICATE',
  // engine events
  'KV_INDEX_ENDPOINT_INVALID',
  'KV_INDEX_SOCKET_DUPLICATE',
] as const

/** One of `kvIndexErrorCodes`. */
export type KvIndexErrorCode = (typeof kvIndexErrorCodes)[number]

const marker = Symbol.for('@router/kv-index.error')

/** Facts of an error beside its message; which ones a code carries is in `docs/errors.md`. */
export type KvIndexErrorDetails = Readonly<Record<string, unknown>>

/**
 * What hashing, the prefix index and engine events throw: a value of the caller that cannot be. Nothing was changed.
 * Recognise it with `isInstance`, which also works across two installed copies.
 */
export class KvIndexError extends Error {
  readonly [marker] = true as boolean
  override readonly name = 'KvIndexError'
  /** What happened, for programs; the message is for people. */
  readonly code: KvIndexErrorCode
  /** Facts beside the message, by code. */
  readonly details: KvIndexErrorDetails

  constructor(
    code: KvIndexErrorCode,
    message: string,
    details: KvIndexErrorDetails = {},
    options?: { cause?: unknown },
  ) {
    super(message, options)
    this.code = code
    this.details = details
  }

  /** Whether `value` is an error of this or another installed copy. */
  static isInstance(value: unknown): value is KvIndexError {
    return typeof value === 'object' && value !== null && (value as { [marker]?: boolean })[marker] === true
  }
}
