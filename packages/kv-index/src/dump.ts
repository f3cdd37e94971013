import type { BlockIndex, BlockRun } from './block-index.js'
import { RANK_LIMIT } from './check-rank.js'
import type { DeviceTier } from './device-tier.js'
import { ROOT } from './device-tree.js'
import { KvIndexError } from './errors.js'
import { type HashWords, hashOf, highOf, lowOf } from './hash-words.js'
import type { HolderRegistry } from './holder-registry.js'
import type { LowerBlocks } from './lower-blocks.js'
import type { LowerTier } from './lower-tier.js'
import { BLOCK_MASK, BLOCK_SHIFT, type BlockPool } from './pool/block-pool.js'
import { CUT, ENTRY_WORDS, KIDS, LENGTH, LISTED, PARENT, START } from './pool/edge-holders.js'
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
  const events = deviceEvents(registry, device)
  for (const [tier, blocks] of lower.entries()) {
    if (blocks !== undefined) events.push(...lowerEvents(registry, tier, blocks.blocks))
  }
  return { blockSize, blocks: events.reduce((sum, { engine }) => sum + (engine.length >> 1), 0), events }
}

/** Validates a dump as a whole, then stores it. */
export function restoreInto(
  index: BlockIndex & { readonly maxBlocks: number },
  dump: IndexDump,
  rankOf: (rank: number) => number | undefined,
): void {
  const problem = problemOf(index, dump)
  if (problem !== undefined)
    throw new KvIndexError('KV_INDEX_DUMP_INVALID', `the dump cannot be restored: ${problem}`, { problem })
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

function problemOf(index: BlockIndex & { readonly maxBlocks: number }, dump: IndexDump): string | undefined {
  if (typeof dump !== 'object' || dump === null || !Array.isArray(dump.events))
    return 'it has no list of events'
  if (dump.blockSize !== index.blockSize)
    return `it has blocks of ${String(dump.blockSize)} tokens, the index of ${index.blockSize}`
  let blocks = 0
  for (const [at, event] of dump.events.entries()) {
    const problem = typeof event === 'object' && event !== null ? eventProblem(event) : 'it is no event'
    if (problem !== undefined) return `event ${at}: ${problem}`
    blocks += event.engine.length >> 1
  }
  if (blocks !== dump.blocks) return `it has ${blocks} blocks of the ${String(dump.blocks)} that it announces`
  return blocks <= index.maxBlocks ? undefined : `it has ${blocks} blocks, the index takes ${index.maxBlocks}`
}

function eventProblem({ rank, tier, hasParent, parent, engine, local }: DumpEvent): string | undefined {
  if (!Number.isInteger(rank) || rank < 0 || rank >= RANK_LIMIT)
    return `rank ${String(rank)} is no whole number from 0 to ${RANK_LIMIT - 1}`
  if (TIERS[tier] === undefined) return `tier ${String(tier)} is none of 0 to ${TIERS.length - 1}`
  if (typeof hasParent !== 'boolean' || typeof parent !== 'bigint' || BigInt.asUintN(64, parent) !== parent)
    return `parent ${String(parent)} is no 64-bit hash as a bigint`
  if (!(engine instanceof Uint32Array && local instanceof Uint32Array)) return 'its hashes are no Uint32Array'
  if (engine.length === local.length && engine.length % 2 === 0) return undefined
  return `${engine.length} words of engine hashes do not fit ${local.length} of local ones`
}

function deviceEvents(registry: HolderRegistry, device: DeviceTier): DumpEvent[] {
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
  // Breadth first, chain by chain: a holder with one kid goes on in the event that it is in.
  const chains: Chain[] = []
  const queue: { edge: number; above: ReadonlyMap<number, Chain> | undefined }[] = (
    children.get(ROOT) ?? []
  ).map((edge) => ({ edge, above: undefined }))
  for (const { edge, above } of queue) {
    const length = records.get(edge + LENGTH)
    const whole = new Map<number, Chain>()
    for (const { holder, cut, kids } of holdersOf(device.tree, edge)) {
      const rank = registry.rankOf[holder]!
      if (rank < 0 || cut === 0) continue
      const before = above?.get(holder)
      // Behind a hole nothing matches.
      if (above !== undefined && before === undefined) continue
      const chain = before?.goesOn === true ? before : newChain(device, rank, holder, edge)
      if (chain !== before) chains.push(chain)
      chain.parts.push({ start: records.get(edge + START), blocks: cut })
      chain.goesOn = kids === 1
      if (cut === length) whole.set(holder, chain)
    }
    for (const child of children.get(edge) ?? []) queue.push({ edge: child, above: whole })
  }
  return chains.map(({ rank, parent, parts }) => chainEvent(pool, rank, parent, parts))
}

/** Runs of blocks of one rank that continue one another, and of no other run of it. */
interface Chain {
  readonly rank: number
  readonly parent: bigint | undefined
  readonly parts: { readonly start: number; readonly blocks: number }[]
  /** Whether the next run of the holder is the only one behind the last part. */
  goesOn: boolean
}

/** A chain that begins at an edge; from the root where the name of the parent alone would not say which place is meant. */
function newChain(device: DeviceTier, rank: number, holder: number, edge: number): Chain {
  const { records, pool } = device.tree
  const above = records.get(edge + PARENT)
  if (above === ROOT) return { rank, parent: undefined, parts: [], goesOn: false }
  const end = records.get(above + START) + records.get(above + LENGTH) - 1
  if (!device.names.isAmbiguous(holder, end))
    return { rank, parent: nameAt(pool, end), parts: [], goesOn: false }
  const parts: { start: number; blocks: number }[] = []
  for (let part = above; part !== ROOT; part = records.get(part + PARENT)) {
    parts.unshift({ start: records.get(part + START), blocks: records.get(part + LENGTH) })
  }
  return { rank, parent: undefined, parts, goesOn: false }
}

function chainEvent(
  pool: BlockPool,
  rank: number,
  parent: bigint | undefined,
  parts: Chain['parts'],
): DumpEvent {
  const events = parts.map(({ start, blocks }) => eventOf(pool, rank, DEVICE, parent, start, blocks))
  if (events.length === 1) return events[0]!
  return {
    ...events[0]!,
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

function* lowerEvents(registry: HolderRegistry, tier: number, blocks: LowerBlocks): Iterable<DumpEvent> {
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
  tier: Pick<LowerBlocks, 'records' | 'holders'>,
  edge: number,
): Iterable<{ holder: number; cut: number; kids: number }> {
  const first = tier.holders.first(edge)
  for (let index = 0; index < tier.records.get(edge + LISTED); index++) {
    const entry = first + index * ENTRY_WORDS
    const { records } = tier
    yield { holder: records.get(entry), cut: records.get(entry + CUT), kids: records.get(entry + KIDS) }
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
