import { type BlockRun, DEVICE, type HashWords } from '@router/kv-index'
import { RepeatFinder } from './repeat-finder.js'

export const STORE = 0
export const REMOVE = 1
export const CLEAR = 2

const FIRST_CHANGES = 16
const FIRST_BLOCKS = 512
/** A list that once held more blocks or changes gives the memory back when it is emptied. */
const KEPT = 65_536

/**
 * The changes that one batch makes, in order, as struct of arrays: copies of what the reader lends. Adjacent stores that continue each
 * other are one group, adjacent removals one change. Reused from batch to batch; allocates nothing warm.
 */
export class ChangeList {
  /** Changes in the list. */
  count = 0
  kinds = new Uint8Array(FIRST_CHANGES)
  tiers = new Uint8Array(FIRST_CHANGES)
  hasParents = new Uint8Array(FIRST_CHANGES)
  parentLows = new Uint32Array(FIRST_CHANGES)
  parentHighs = new Uint32Array(FIRST_CHANGES)
  /** 1 = a store that continues the one before it: their blocks stand side by side. */
  continues = new Uint8Array(FIRST_CHANGES)
  /** Index of the first block of a change. */
  starts = new Uint32Array(FIRST_CHANGES)
  /** Blocks of a change. */
  counts = new Uint32Array(FIRST_CHANGES)
  /** Engine hash and local hash by block; removals have no local hash. */
  engine: HashWords = new Uint32Array(2 * FIRST_BLOCKS)
  local: HashWords = new Uint32Array(2 * FIRST_BLOCKS)
  /** Index of the first block whose local hash is missing: one of the last change, or past the end. */
  unhashedFrom = Infinity
  #blocks = 0
  readonly #repeats = new RepeatFinder()

  /** Blocks in the list. */
  get blocks(): number {
    return this.#blocks
  }

  /** @param isHashed false = the local hashes come later, by `fillLocal`; until then nothing may be added */
  addStore(tier: number, run: BlockRun, isHashed: boolean): void {
    const start = this.#reserve(run.count)
    copyWords(run.engine, 2 * run.start, 2 * run.count, this.engine, 2 * start)
    if (isHashed) copyWords(run.local, 2 * run.start, 2 * run.count, this.local, 2 * start)
    else this.unhashedFrom = start
    const doesContinue = this.#doesContinue(tier, run, start)
    const change = this.#add(STORE, tier, start, run.count)
    this.hasParents[change] = run.hasParent ? 1 : 0
    this.parentLows[change] = run.parentLow
    this.parentHighs[change] = run.parentHigh
    this.continues[change] = doesContinue ? 1 : 0
  }

  addRemove(tier: number, engine: HashWords, count: number): void {
    const start = this.#reserve(count)
    copyWords(engine, 0, 2 * count, this.engine, 2 * start)
    const last = this.count - 1
    if (last >= 0 && this.kinds[last] === REMOVE && this.tiers[last] === tier) this.counts[last]! += count
    else this.#add(REMOVE, tier, start, count)
  }

  /** The next `count` local hashes that are missing. */
  fillLocal(words: HashWords, count: number): void {
    copyWords(words, 0, 2 * count, this.local, 2 * this.unhashedFrom)
    this.unhashedFrom += count
  }

  addClear(): void {
    this.#add(CLEAR, 0, this.#blocks, 0)
  }

  clear(): void {
    this.count = 0
    this.#blocks = 0
    this.unhashedFrom = Infinity
    if (this.kinds.length > KEPT) this.#resizeChanges(FIRST_CHANGES)
    if (this.engine.length <= 2 * KEPT) return
    this.engine = new Uint32Array(2 * FIRST_BLOCKS)
    this.local = new Uint32Array(2 * FIRST_BLOCKS)
  }

  /**
   * Whether a store goes on where the last one ended, on the device tier; lower tiers take every event for itself. A hash that the group has already, or that the group hangs on, starts a group of
   * its own: no run that reaches the index names a block twice.
   */
  #doesContinue(tier: number, run: BlockRun, start: number): boolean {
    const last = this.count - 1
    if (last < 0 || this.kinds[last] !== STORE || tier !== DEVICE || this.tiers[last] !== tier) return false
    const end = this.starts[last]! + this.counts[last]! - 1
    if (run.count === 0 || this.counts[last] === 0 || !run.hasParent) return false
    if (this.engine[2 * end] !== run.parentLow || this.engine[2 * end + 1] !== run.parentHigh) return false
    if (this.continues[last] === 0) {
      this.#repeats.begin()
      if (this.hasParents[last] === 1) this.#repeats.add(this.parentLows[last]!, this.parentHighs[last]!)
      if (!this.#repeats.addAll(this.engine, this.starts[last]!, this.counts[last]!)) return false
    }
    return this.#repeats.addAll(this.engine, start, run.count)
  }

  /** Makes room for blocks; returns the index of the first. */
  #reserve(count: number): number {
    const start = this.#blocks
    this.#blocks += count
    if (2 * this.#blocks > this.engine.length) {
      const words = Math.max(2 * this.engine.length, 2 * this.#blocks)
      this.engine = resized(this.engine, words)
      this.local = resized(this.local, words)
    }
    return start
  }

  #add(kind: number, tier: number, start: number, count: number): number {
    if (this.count === this.kinds.length) this.#resizeChanges(2 * this.count)
    const change = this.count++
    this.kinds[change] = kind
    this.tiers[change] = tier
    this.starts[change] = start
    this.counts[change] = count
    this.continues[change] = 0
    return change
  }

  #resizeChanges(length: number): void {
    this.kinds = resized(this.kinds, length)
    this.tiers = resized(this.tiers, length)
    this.hasParents = resized(this.hasParents, length)
    this.parentLows = resized(this.parentLows, length)
    this.parentHighs = resized(this.parentHighs, length)
    this.continues = resized(this.continues, length)
    this.starts = resized(this.starts, length)
    this.counts = resized(this.counts, length)
  }
}

function copyWords(from: HashWords, start: number, count: number, to: HashWords, at: number): void {
  for (let word = 0; word < count; word++) to[at + word] = from[start + word]!
}

function resized<A extends Uint8Array | Uint32Array>(array: A, length: number): A {
  const copy = new (array.constructor as new (length: number) => A)(length)
  copy.set(array.subarray(0, length))
  return copy
}
