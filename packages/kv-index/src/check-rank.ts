import { KvIndexError } from './errors.js'
import { MAX_HOLDERS } from './pool/edge-holders.js'

/** One more than the largest rank. */
export const RANK_LIMIT = MAX_HOLDERS / 2

/** The ranks that an index takes, asked before anything is noted down about one. Error: `KV_INDEX_RANK_INVALID`. */
export function checkRank(rank: number): void {
  if (Number.isInteger(rank) && rank >= 0 && rank < RANK_LIMIT) return
  throw new KvIndexError(
    'KV_INDEX_RANK_INVALID',
    `rank ${rank} is no whole number from 0 to ${RANK_LIMIT - 1}`,
    { rank },
  )
}
