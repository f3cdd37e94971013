import { KvIndexError } from '../errors.js'

/** How long blocks are believed to stay, and how many are remembered. Defaults are those of the router's flags. */
export interface LifetimeOptions {
  /** Life of a block since its last insertion, in ms; finite, > 0. Default 120,000 (`router_ttl_secs` 120). */
  readonly ttlMs?: number
  /** Most blocks of all ranks together; a whole number >= 1. Default 2^20 (`router_max_tree_size`). */
  readonly maxBlocks?: number
  /** Part of `maxBlocks` that is left after pruning; 0 to 1. Default 0.8 (`router_prune_target_ratio`). */
  readonly pruneTargetRatio?: number
}

/** `LifetimeOptions` with defaults. Error: `KV_INDEX_OPTION_INVALID`. */
export function lifetimeOptions(options: LifetimeOptions): Required<LifetimeOptions> {
  const { ttlMs = 120_000, maxBlocks = 2 ** 20, pruneTargetRatio = 0.8 } = options
  check('ttlMs', ttlMs, 'a finite number > 0', Number.isFinite(ttlMs) && ttlMs > 0)
  const isCount = Number.isInteger(maxBlocks) && maxBlocks >= 1 && maxBlocks <= 2 ** 30
  check('maxBlocks', maxBlocks, 'a whole number from 1 to 2^30', isCount)
  check('pruneTargetRatio', pruneTargetRatio, '0 to 1', pruneTargetRatio >= 0 && pruneTargetRatio <= 1)
  return { ttlMs, maxBlocks, pruneTargetRatio }
}

function check(option: string, value: number, accepted: string, isValid: boolean): void {
  if (isValid) return
  const message = `${option} is ${String(value)}, expected ${accepted}`
  throw new KvIndexError('KV_INDEX_OPTION_INVALID', message, { option, value, accepted })
}
