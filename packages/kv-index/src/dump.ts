import type { BlockIndex, BlockRun } from './block-index.js'
import type { DeviceTier } from './device-tier.js'
import { ROOT } from './device-tree.js'
import { KvIndexError } from './errors.js'
import { type HashWords, hashOf, highOf, lowOf } from './hash-words.js'
import type { HolderRegistry } from './holder-registry.js'
import type { LowerTier } from './lower-tier.js'
import { BLOCK_MASK, BLOCK_SHIFT, type BlockPool } from './pool/block-pool.js'
import { CUT, ENTRY_WORDS, LENGTH, LISTED, PARENT, START } from './pool/edge-holders.js'
import { EdgeSweep } from './pool/edge-sweep.js'
import { DEVICE, TIERS } from './tier.js'

/** One store of a dump: a linear chain of one rank on one tier. */
export interface DumpEvent {
  readonly rank: number
  readonly tier: number
  readonly hasParent: boolean
  /** Engine hash of the block before; 0 at the root. */
  readonly parent: bigint
  readonly engine: HashWords
  readonly local: HashWords
}

/** What an index holds, as stores in an order that can be applied: parents first. */
export interface IndexDump {
  readonly blockSize: number
  /** Blocks of all events, so that a dump that was cut short is found out. */
  readonly blocks: number
  readonly events: readonly DumpEvent[]
}

/** A device block behind a hole has no parent to be stored below; it matches nothing and is left out. */
export function dumpOf(
  blockSize: number,
  registry: HolderRegistry,
  device: DeviceTier,
  lower: readonly (LowerTier | undefined)[],
): IndexDump {
  const events = [...deviceEvents(registry, device)]
  for (const [tier, blocks] of lower.entries()) {
    if (blocks !== undefined) events.push(...lowerEvents(registry, tier, blocks))
  }
  return { blockSize, blocks: events.reduce((sum, { engine }) => sum + (engine.length >> 1), 0), events }
}

/** Validates a dump as a whole, then stores it. */
export function restoreInto(
  index: BlockIndex,
  dump: IndexDump,
  rankOf: (rank: number) => number | undefined,
): void {
  const problem = problemOf(index.blockSize, dump)
  if (problem !== undefined) throw new KvIndexError('KV_INDEX_DUMP_INVALID', problem)
  const run: BlockRun = {
    hasParent: false,
    parentLow: 0,
    parentHigh: 0,
    engine: new Uint32Array(),
    local: new Uint32Array(),
    start: 0,
    count: 0,
  }
  for (const event of dump.events) {
    const rank = rankOf(event.rank)
    if (rank === undefined) continue
    run.hasParent = event.hasParent
    run.parentLow = lowOf(event.parent)
    run.parentHigh = highOf(event.parent)
    run.engine = event.engine
    run.local = event.local
    run.count = event.engine.length >> 1
    index.store(rank, event.tier, run)
  }
}

function problemOf(blockSize: number, dump: IndexDump): string | undefined {
  if (dump.blockSize !== blockSize)
    return `the dump has blocks of ${dump.blockSize} tokens, the index of ${blockSize}`
  let blocks = 0
  for (const [at, event] of dump.events.entries()) {
    const { rank, tier, engine, local } = event
    if (!Number.isInteger(rank) || rank < 0) return `event ${at}: rank ${rank} is no whole number from 0`
    if (TIERS[tier] === undefined) return `event ${at}: tier ${tier} is none of 0 to ${TIERS.length - 1}`
    if (engine.length !== local.length || engine.length % 2 !== 0) {
      return `event ${at}: ${engine.length} words of engine hashes, ${local.length} of local ones`
    }
    blocks += engine.length >> 1
  }
  return blocks === dump.blocks
    ? undefined
    : `the dump has ${blocks} blocks of the ${dump.blocks} that it announces`
}

function* deviceEvents(registry: HolderRegistry, device: DeviceTier): Iterable<DumpEvent> {
  const { records, pool } = device.tree
  const children = new Map<number, number[]>()
  const sweep = new EdgeSweep()
  for (let edge = sweep.next(pool, records); edge >= 0; edge = sweep.next(pool, records)) {
    if (edge === 0) continue
    const parent = records.get(edge + PARENT)
    const siblings = children.get(parent)
    if (siblings === undefined) children.set(parent, [edge])
    else siblings.push(edge)
  }
  // Breadth first; with each edge the holders that have all of the path up to it.
  const queue: { edge: number; above: ReadonlySet<number> | undefined }[] = (children.get(ROOT) ?? []).map(
    (edge) => ({ edge, above: undefined }),
  )
  for (const { edge, above } of queue) {
    const start = records.get(edge + START)
    const length = records.get(edge + LENGTH)
    const whole = new Set<number>()
    for (const { holder, cut } of holdersOf(device.tree, edge)) {
      const rank = registry.rankOf[holder]!
      if (rank < 0 || cut === 0 || above?.has(holder) === false) continue
      if (cut === length) whole.add(holder)
      const parentEnd = above === undefined ? -1 : endOf(device, edge)
      if (parentEnd >= 0 && device.names.isAmbiguous(holder, parentEnd)) {
        yield pathEvent(device, rank, edge, cut)
      } else
        yield eventOf(pool, rank, DEVICE, parentEnd < 0 ? undefined : nameAt(pool, parentEnd), start, cut)
    }
    for (const child of children.get(edge) ?? []) queue.push({ edge: child, above: whole })
  }
}

/** The whole path from the root: where the name of the parent alone would not say which place is meant. */
function pathEvent(device: DeviceTier, rank: number, edge: number, cut: number): DumpEvent {
  const { records, pool } = device.tree
  const parts: { start: number; blocks: number }[] = [{ start: records.get(edge + START), blocks: cut }]
  for (let above = records.get(edge + PARENT); above !== ROOT; above = records.get(above + PARENT)) {
    parts.unshift({ start: records.get(above + START), blocks: records.get(above + LENGTH) })
  }
  const events = parts.map(({ start, blocks }) => eventOf(pool, rank, DEVICE, undefined, start, blocks))
  return {
    rank,
    tier: DEVICE,
    hasParent: false,
    parent: 0n,
    engine: joined(events.map(({ engine }) => engine)),
    local: joined(events.map(({ local }) => local)),
  }
}

function joined(parts: readonly HashWords[]): HashWords {
  const words = new Uint32Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    words.set(part, at)
    at += part.length
  }
  return words
}

/** Position of the last block of an edge's parent. */
function endOf(device: DeviceTier, edge: number): number {
  const { records } = device.tree
  const parent = records.get(edge + PARENT)
  return records.get(parent + START) + records.get(parent + LENGTH) - 1
}

function* lowerEvents(registry: HolderRegistry, tier: number, blocks: LowerTier): Iterable<DumpEvent> {
  const { records, pool } = blocks
  const sweep = new EdgeSweep()
  for (let edge = sweep.next(pool, records); edge >= 0; edge = sweep.next(pool, records)) {
    if (edge === 0) continue
    const parent = blocks.hasParent(edge)
      ? hashOf(blocks.parentLow(edge), blocks.parentHigh(edge))
      : undefined
    for (const { holder, cut } of holdersOf(blocks, edge)) {
      const rank = registry.rankOf[holder]!
      if (rank >= 0) yield eventOf(pool, rank, tier, parent, records.get(edge + START), cut)
    }
  }
}

function* holdersOf(
  tier: Pick<LowerTier, 'records' | 'holders'>,
  edge: number,
): Iterable<{ holder: number; cut: number }> {
  const first = tier.holders.first(edge)
  for (let index = 0; index < tier.records.get(edge + LISTED); index++) {
    const entry = first + index * ENTRY_WORDS
    yield { holder: tier.records.get(entry), cut: tier.records.get(entry + CUT) }
  }
}

function eventOf(
  pool: BlockPool,
  rank: number,
  tier: number,
  parent: bigint | undefined,
  start: number,
  blocks: number,
): DumpEvent {
  const from = 2 * (start & BLOCK_MASK)
  return {
    rank,
    tier,
    hasParent: parent !== undefined,
    parent: parent ?? 0n,
    engine: Uint32Array.from(pool.engine[start >>> BLOCK_SHIFT]!.subarray(from, from + 2 * blocks)),
    local: Uint32Array.from(pool.local[start >>> BLOCK_SHIFT]!.subarray(from, from + 2 * blocks)),
  }
}

function nameAt(pool: BlockPool, position: number): bigint {
  const words = pool.engine[position >>> BLOCK_SHIFT]!
  const at = 2 * (position & BLOCK_MASK)
  return hashOf(words[at]!, words[at + 1]!)
}
