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
  #blocks = 0
  readonly #repeats = new RepeatFinder()

  addStore(tier: number, run: BlockRun): void {
    const start = this.#reserve(run.count)
    const { engine, local } = run
    for (let word = 0; word < 2 * run.count; word++) {
      this.engine[2 * start + word] = engine[2 * run.start + word]!
      this.local[2 * start + word] = local[2 * run.start + word]!
    }
    const doesContinue = this.#doesContinue(tier, run, start)
    const change = this.#add(STORE, tier, start, run.count)
    this.hasParents[change] = run.hasParent ? 1 : 0
    this.parentLows[change] = run.parentLow
    this.parentHighs[change] = run.parentHigh
    this.continues[change] = doesContinue ? 1 : 0
  }

  addRemove(tier: number, engine: HashWords, count: number): void {
    const start = this.#reserve(count)
    for (let word = 0; word < 2 * count; word++) this.engine[2 * start + word] = engine[word]!
    const last = this.count - 1
    if (last >= 0 && this.kinds[last] === REMOVE && this.tiers[last] === tier) this.counts[last]! += count
    else this.#add(REMOVE, tier, start, count)
  }

  addClear(): void {
    this.#add(CLEAR, 0, this.#blocks, 0)
  }

  clear(): void {
    this.count = 0
    this.#blocks = 0
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

function resized<A extends Uint8Array | Uint32Array>(array: A, length: number): A {
  const copy = new (array.constructor as new (length: number) => A)(length)
  copy.set(array.subarray(0, length))
  return copy
}
