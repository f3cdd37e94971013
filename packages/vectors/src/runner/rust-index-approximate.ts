import {
  KvIndexError,
  LifetimeRetention,
  LruRetention,
  type PromptBlocks,
  hashWords,
  hashesOf,
} from '@router/kv-index'
import type { ApproximateLruLine, ApproximateTtlLine } from '../shapes/rust-index-approximate.js'
import type { IndexBlock } from '../shapes/rust-index.js'
import type { Checks } from './checks.js'
import { ShapeError } from './family.js'
import { type BlockNames, blockNames } from './rust-index-blocks.js'
import { type IndexFactory, Table } from './rust-index-events.js'

type Line = ApproximateLruLine | ApproximateTtlLine
type LruStep = ApproximateLruLine['steps'][number]
type Step<Op extends LruStep['op']> = Extract<LruStep, { op: Op }>
type Query = Step<'query'>

/** Plays a line of kind `approximate-ttl` on a fresh index; the clock starts with it. */
export function evaluateApproximateTtl(line: ApproximateTtlLine, checks: Checks, create: IndexFactory): void {
  const { ttlMs } = line
  const retention = new LifetimeRetention(create({ blockSize: line.blockSize }), { ttlMs })
  const fleet = new Fleet(line)
  let nowMs = 0
  for (const [index, step] of line.steps.entries()) {
    if (step.op === 'advance') nowMs += step.ms
    else if (step.op === 'route') retention.insert(fleet.slotOf(step.rank), fleet.blocks(step.path), nowMs)
    else checks.within(`step ${index}`, () => fleet.compare(step, retention, nowMs, checks))
  }
}

/** Plays a line of kind `approximate-lru` on a fresh index. No time passes. */
export function evaluateApproximateLru(line: ApproximateLruLine, checks: Checks, create: IndexFactory): void {
  const lru = new LruRetention(new LifetimeRetention(create({ blockSize: line.blockSize })))
  const play = new LruPlay(lru, new Fleet(line))
  for (const [index, step] of line.steps.entries()) {
    checks.within(`step ${index}`, () => play.step(step, checks))
  }
}

class LruPlay {
  readonly #lru: LruRetention
  readonly #fleet: Fleet
  /** The last one set, by rank. */
  readonly #incarnations = new Map<string, number>()

  constructor(lru: LruRetention, fleet: Fleet) {
    this.#lru = lru
    this.#fleet = fleet
  }

  step(step: LruStep, checks: Checks): void {
    if (step.op === 'query') {
      this.#fleet.compare(step, this.#lru.lifetime, 0, checks)
      return
    }
    if (step.op === 'stats') {
      this.#stats(step, checks)
      return
    }
    this.#apply(step, checks)
    if (step.op === 'resetRank' || step.expect === undefined) return
    const evicted = hashesOf(this.#lru.evicted, this.#lru.evictedCount)
    checks.list('evicted', this.#fleet.namesOf(step.expect.evicted ?? []), evicted)
  }

  #apply(step: Exclude<LruStep, Query | Step<'stats'>>, checks: Checks): void {
    const slot = this.#fleet.slotOf(step.rank)
    if (step.op === 'acquire') this.#acquire(step, checks)
    else if (step.op === 'release') this.#lru.release(slot, step.attempt)
    else if (step.op === 'resetRank') this.#lru.resetRank(slot)
    else if (step.op === 'materialize') {
      const { attempt, path, from, privateBlocks } = step
      this.#lru.materialize(slot, attempt, this.#fleet.blocks(path), from, privateBlocks)
    } else {
      this.#incarnations.set(step.rank, step.incarnation)
      this.#lru.setCapacity(slot, step.incarnation, step.capacity ?? undefined)
    }
  }

  #acquire({ rank, attempt, path, privateBlocks, expect }: Step<'acquire'>, checks: Checks): void {
    const incarnation = this.#incarnations.get(rank) ?? 0
    const blocks = this.#fleet.blocks(path)
    const slot = this.#fleet.slotOf(rank)
    const mode = refusedAsShape(() => this.#lru.acquire(slot, incarnation, attempt, blocks, privateBlocks, 0))
    if (expect !== undefined) checks.equal('mode', expect.mode, mode)
  }

  #stats({ expect }: Step<'stats'>, checks: Checks): void {
    const stats = this.#lru.stats()
    for (const [name, value] of Object.entries(expect ?? {})) {
      checks.equal(name, value, stats[name as keyof typeof stats])
    }
  }
}

/** An attempt that is live twice is a fault of the line. */
function refusedAsShape<T>(run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw KvIndexError.isInstance(error) ? new ShapeError([error.message]) : error
  }
}

/** Numbers and hashes of what a line names, and matches by the names of ranks. */
class Fleet {
  readonly #names: BlockNames
  readonly #slots = new Map<string, number>()

  constructor(line: Line) {
    this.#names = blockNames(line)
    for (const step of line.steps) if ('rank' in step) this.slotOf(step.rank)
  }

  slotOf(rank: string): number {
    const slot = this.#slots.get(rank) ?? this.#slots.size
    this.#slots.set(rank, slot)
    return slot
  }

  blocks(path: readonly IndexBlock[]): PromptBlocks {
    const { local, engine } = this.#names.ofPath(path)
    return { local: hashWords(local), sequence: hashWords(engine), count: path.length }
  }

  /** The hash of the last block of each path. */
  namesOf(paths: readonly (readonly IndexBlock[])[]): bigint[] {
    return paths.map((path) => this.#names.ofPath(path).engine.at(-1)!)
  }

  compare({ path, expect }: Query, retention: LifetimeRetention, nowMs: number, checks: Checks): void {
    if (expect === undefined) return
    const matches = new Table(this.#slots.size)
    retention.lookup(this.blocks(path).local, path.length, nowMs, matches)
    for (const rank of new Set([...this.#slots.keys(), ...Object.keys(expect)])) {
      const slot = this.#slots.get(rank)
      checks.equal(
        `blocks of ${rank}`,
        expect[rank] ?? 0,
        slot === undefined ? 0 : matches.deviceBlocks[slot]!,
      )
    }
  }
}
