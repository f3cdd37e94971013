import type { BlockRun } from '../../src/block-index.js'
import { hashWords, highOf, lowOf } from '../../src/hash-words.js'

const MASK = (1n << 64n) - 1n

/** A name for content behind other content; every engine may mix its own salt in. Not the hash of the product. */
function chain(previous: bigint, local: bigint, salt = 0n): bigint {
  let mixed = (previous * 0x9e37_79b9_7f4a_7c15n + local + salt * 0x2545_f491_4f6c_dd1dn) & MASK
  mixed = ((mixed ^ (mixed >> 29n)) * 0xbf58_476d_1ce4_e5b9n) & MASK
  return (mixed ^ (mixed >> 32n)) & MASK
}

/** Engine hashes of a path from block 0. */
export function namesOf(path: readonly bigint[], salt = 0n): bigint[] {
  let previous = 0n
  return path.map((local) => (previous = chain(previous, local, salt)))
}

/** A run of given hashes. `parent` `undefined` = root. */
export function runOf(
  parent: bigint | undefined,
  engine: readonly bigint[],
  local: readonly bigint[],
): BlockRun {
  return {
    hasParent: parent !== undefined,
    parentLow: parent === undefined ? 0 : lowOf(parent),
    parentHigh: parent === undefined ? 0 : highOf(parent),
    engine: hashWords(engine),
    local: hashWords(local),
    start: 0,
    count: engine.length,
  }
}

/** The blocks of a path from one position on, as an engine would announce them behind what it has. */
export function pathRun(path: readonly bigint[], from = 0, salt = 0n): BlockRun {
  const names = namesOf(path, salt)
  return runOf(from === 0 ? undefined : names[from - 1], names.slice(from), path.slice(from))
}
