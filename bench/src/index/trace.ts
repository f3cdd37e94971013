import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { type BlockIndex, type BlockRun, DEVICE, type HashWords, type OverlapTarget } from '@router/kv-index'
import { type Blocks, blocksFrom, createBlocks } from './blocks.js'

/** A request of the trace. */
export interface TraceRequest {
  readonly input_length: number
  /** Names of blocks of 512 tokens; equal ones at an index have everything before in common. */
  readonly hash_ids: readonly number[]
}

const file = fileURLToPath(new URL('../../data/mooncake_fast25_conversation.jsonl.gz', import.meta.url))
const traceBlockTokens = 512

/** The conversation trace of Mooncake, in order. */
export function readTrace(): TraceRequest[] {
  const lines = gunzipSync(readFileSync(file)).toString().trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as TraceRequest)
}

/** What one request makes of the index: a lookup of its prompt, then a removal and a store by the rank that serves it. */
export interface TraceTurn extends Blocks {
  /** Complete blocks of the prompt. */
  readonly count: number
  readonly rank: number
  /** Engine hashes of what the rank evicts for it, in order. */
  readonly evicted: HashWords
  /** Blocks of the prompt that the rank holds; it stores the others. */
  readonly heldBlocks: number
}

export interface TraceOptions {
  /** Tokens; 512 or a divisor of it. */
  readonly blockSize: number
  readonly ranks: number
  /** Blocks that a rank keeps. */
  readonly capacityBlocks: number
}

/**
 * Plays the requests on ranks with a cache each. A request goes to the rank that holds the longest prefix of it when that is half of its
 * blocks or more, else to the next one in turn. The rank evicts the blocks that it used longest ago until the new ones fit, of equally
 * old ones the last of their prompt first, so that no block outlives the one before it.
 */
export function playTrace(requests: readonly TraceRequest[], options: TraceOptions): TraceTurn[] {
  const { blockSize, ranks, capacityBlocks } = options
  const split = traceBlockTokens / blockSize
  // The keys of each, oldest first.
  const caches = Array.from({ length: ranks }, () => new Set<number>())
  let next = 0
  return requests.map(({ input_length, hash_ids }) => {
    const count = Math.floor(input_length / blockSize)
    const ids = Array.from(
      { length: count },
      (_, block) => hash_ids[Math.floor(block / split)]! * split + (block % split),
    )
    const held = caches.map((cache) => heldPrefix(cache, ids))
    const longest = held.indexOf(Math.max(...held))
    const rank = held[longest]! * 2 >= count && count > 0 ? longest : next++ % ranks
    const cache = caches[rank]!
    for (const id of ids.toReversed()) {
      cache.delete(id)
      cache.add(id)
    }
    const evicted = cache.size > capacityBlocks ? [...cache].slice(0, cache.size - capacityBlocks) : []
    for (const id of evicted) cache.delete(id)
    return {
      ...blocksOf(ids),
      count,
      rank,
      evicted: blocksOf(evicted).engine,
      heldBlocks: held[rank]!,
    }
  })
}

function heldPrefix(cache: ReadonlySet<number>, ids: readonly number[]): number {
  const missing = ids.findIndex((id) => !cache.has(id))
  return missing < 0 ? ids.length : missing
}

function blocksOf(ids: readonly number[]): Blocks {
  const blocks = createBlocks(ids.length)
  for (const [index, id] of ids.entries()) {
    const { engine, local } = blocksFrom(id, 1)
    blocks.engine.set(engine, 2 * index)
    blocks.local.set(local, 2 * index)
  }
  return blocks
}

/** Blocks looked up, stored and removed by the turns. */
export function countOperations(turns: readonly TraceTurn[]): {
  readonly lookedUp: number
  readonly stored: number
  readonly removed: number
} {
  return {
    lookedUp: turns.reduce((sum, { count }) => sum + count, 0),
    stored: turns.reduce((sum, { count, heldBlocks }) => sum + count - heldBlocks, 0),
    removed: turns.reduce((sum, { evicted }) => sum + evicted.length / 2, 0),
  }
}

/** Does to the index what the turns say. Returns how many removals and stores it did not answer with `ok`. */
export function replay(
  index: BlockIndex,
  turns: readonly TraceTurn[],
  run: BlockRun,
  target: OverlapTarget,
): number {
  let refused = 0
  for (let turn = 0; turn < turns.length; turn++) {
    const { engine, local, count, rank, evicted, heldBlocks } = turns[turn]!
    index.lookup(local, count, target)
    if (evicted.length > 0 && index.remove(rank, DEVICE, evicted, 0, evicted.length >> 1) !== 'ok') refused++
    if (heldBlocks === count) continue
    run.engine = engine
    run.local = local
    run.start = heldBlocks
    run.count = count - heldBlocks
    run.hasParent = heldBlocks > 0
    run.parentLow = heldBlocks > 0 ? engine[2 * heldBlocks - 2]! : 0
    run.parentHigh = heldBlocks > 0 ? engine[2 * heldBlocks - 1]! : 0
    if (index.store(rank, DEVICE, run) !== 'ok') refused++
  }
  return refused
}
