import { type BlockRun, HOST_PINNED, type HashWords, RANK_LIMIT, type StoreOutcome } from '@router/kv-index'
import type { BlockHolding, SourceMemory } from '../convert/source-memory.js'
import type { BatchContext, DroppedEvent, EventSink, StoreDetails } from '../normalised.js'
import type { BatchOutcome } from '../protocol/index.js'
import type { DropReason } from '../reasons.js'
import { ChangeList, CLEAR, REMOVE, STORE } from './change-list.js'
import type { EventWarning, EventWarningCode, PayloadReader, PayloadReading } from './pipeline-types.js'
import type { RankState, RankStates } from './rank-states.js'

/**
 * Blocks that one call of the index gets at most. Runs are cut at its multiples, whatever the budget, so that the index ends up the same
 * however fast it was filled: a lower tier ignores the rest of a run that disagrees with it, and a cut ends the run.
 */
const BLOCKS_PER_CALL = 2048

/** What one socket applies with; `states` is shared by the sockets of a worker. */
export interface ApplierOptions {
  readonly states: RankStates
  readonly reader: PayloadReader
  /** What the events of this socket teach. */
  readonly memory: SourceMemory
  readonly socketRank: number
  readonly imageToken?: number | undefined
  readonly isEagle?: boolean | undefined
  readonly onWarning?: ((warning: EventWarning) => void) | undefined
  /** Default `BLOCKS_PER_CALL`. */
  readonly blocksPerCall?: number | undefined
}

/**
 * Brings the batches of one socket into the index, one after the other: decode, filter, convert (the reader), coalesce, deduplicate,
 * index. `begin` takes a payload and decodes it, `apply` brings its changes in, a bounded number of blocks a call: in between the
 * index shows a prefix of what is being stored. An event is read when less than one call's blocks are waiting, and where salts are in
 * play nothing is read until it is applied; the blocks of a longer store are hashed as they are applied. Allocates nothing warm beside
 * what the reader does.
 */
export class BatchApplier implements EventSink {
  readonly #states: RankStates
  readonly #reader: PayloadReader
  readonly #memory: SourceMemory
  readonly #context: BatchContext
  readonly #onWarning: (warning: EventWarning) => void
  readonly #changes = new ChangeList()
  readonly #blocksPerCall: number
  readonly #heldBefore: Uint8Array
  readonly #run: BlockRun
  #reading: PayloadReading | undefined
  #outcomeOfBatch: BatchOutcome = { isBatch: false, isCleared: false }
  #dpRank = 0
  #isCleared = false
  /** The last change is a store whose salts are followed slice by slice. */
  #teaches = false
  #salt: string | undefined
  readonly #index: BlockHolding = {
    holds: (dpRank, tier, low, high) => {
      const state = this.#states.get(dpRank)
      return state !== undefined && this.#states.index.holds(state.slot, tier, low, high)
    },
  }
  /** The change that is being applied, blocks of its group that are in, and what came of them so far. */
  #change = 0
  #applied = 0
  #outcome: StoreOutcome = 'ok'
  #hasUnknownBlock = false
  /** The end of the group, and up to where events of a refused group are taken one by one. */
  #groupEnd = 0
  #splitEnd = 0
  #lastOutcome: StoreOutcome = 'ok'

  constructor({
    states,
    reader,
    memory,
    socketRank,
    imageToken,
    isEagle,
    onWarning,
    blocksPerCall = BLOCKS_PER_CALL,
  }: ApplierOptions) {
    this.#blocksPerCall = blocksPerCall
    this.#heldBefore = new Uint8Array(blocksPerCall)
    this.#states = states
    this.#reader = reader
    this.#memory = memory
    this.#onWarning = onWarning ?? (() => undefined)
    this.#context = {
      blockSize: states.index.blockSize,
      socketRank,
      imageToken,
      isEagle,
      memory,
      holds: (dpRank, tier, low, high) => this.#holds(dpRank, tier, low, high),
    }
    const { engine, local } = this.#changes
    this.#run = { hasParent: false, parentLow: 0, parentHigh: 0, engine, local, start: 0, count: 0 }
  }

  /** The batch is not wholly applied. */
  get hasWork(): boolean {
    return this.#reading !== undefined || this.#changes.count > 0
  }

  get isBehind(): boolean {
    const { blocks, count } = this.#changes
    return Math.max(blocks, count) >= this.#blocksPerCall
  }

  /** What came of the batch; once it is applied. */
  get outcome(): BatchOutcome {
    return this.#outcomeOfBatch
  }

  /** Rank of the batch. */
  get dpRank(): number {
    return this.#dpRank
  }

  /**
   * Takes a batch; the one before must be applied or abandoned. Returns when its engine made it, seconds since 1970; without meaning
   * where it is no batch.
   */
  begin(payload: Uint8Array): number {
    this.#isCleared = false
    this.#reading = this.#reader.begin(payload, this.#context, this.#blocksPerCall)
    const { dpRank, ts } = this.#reading.header
    this.#dpRank = dpRank
    return ts
  }

  /** Applies the batch until `budget` blocks are in, and at most 2,047 more; returns how many. */
  apply(budget: number): number {
    let spent = this.#applyChanges(budget)
    while (spent < budget && this.#reading !== undefined) {
      if (this.#reading.advance(this.#context, this)) this.#endReading()
      spent += this.#applyChanges(budget - spent)
    }
    return spent
  }

  /** Forgets what is not applied yet. */
  abandon(): void {
    this.#forgetChanges()
    if (this.#reading !== undefined) this.#reader.end(this.#reading)
    this.#reading = undefined
  }

  stored(dpRank: number, tier: number, run: BlockRun, details: StoreDetails): void {
    const state = this.#reach(dpRank)
    if (state === undefined) {
      if (details.mustApplyNow) this.#memory.storeRefused()
      return
    }
    state.nextEventId++
    if (details.hasShortTokens) this.#states.counters.shortTokens++
    if (details.contradictsLayout) this.#warn(state, dpRank, 'hash_layout_mismatch')
    // No other store is joined to it.
    if (details.mustApplyNow) this.#applyChanges(Infinity)
    this.#changes.addStore(tier, run, details.isHashed)
    if (!details.mustApplyNow) return
    this.#teaches = !details.isHashed
    this.#salt = details.salt
    if (this.#teaches) return
    this.#applyChanges(Infinity)
    if (isRefused(this.#lastOutcome)) this.#memory.storeRefused()
  }

  removed(dpRank: number, tier: number, engine: HashWords, count: number): void {
    const state = this.#reach(dpRank)
    if (state === undefined) return
    state.nextEventId++
    this.#changes.addRemove(tier, engine, count)
    if (!this.isBehind && tier <= HOST_PINNED && this.#memory.hasSalts(dpRank)) this.#applyChanges(Infinity)
  }

  cleared(dpRank: number): void {
    const state = this.#reach(dpRank)
    if (state === undefined) return
    state.nextEventId++
    this.#isCleared = true
    this.#changes.addClear()
  }

  dropped(
    dpRank: number,
    _outcome: 'filtered' | 'noop' | 'undecodable',
    reason: DropReason,
    consumesEventId: boolean,
    { kind, blockSize }: DroppedEvent,
  ): void {
    this.#states.countDrop(kind, reason)
    const state = this.#states.reach(dpRank)
    if (state === undefined) return
    if (consumesEventId) state.nextEventId++
    if (reason === 'block_size_mismatch') this.#warn(state, dpRank, reason, blockSize)
  }

  #reach(dpRank: number): RankState | undefined {
    this.#dpRank = dpRank
    const state = this.#states.reach(dpRank)
    if (state === undefined || state.slot >= RANK_LIMIT) this.#states.counters.unknownRank++
    return state
  }

  #warn(state: RankState, dpRank: number, code: EventWarningCode, blockSize?: number): void {
    if (state.warned.has(code)) return
    state.warned.add(code)
    this.#onWarning(blockSize === undefined ? { code, dpRank } : { code, dpRank, blockSize })
  }

  #endReading(): void {
    const { isBatch, dpRank } = this.#reading!.header
    const isKnown = isBatch && this.#states.reach(dpRank) !== undefined
    this.#outcomeOfBatch = { isBatch, dpRank: isKnown ? dpRank : undefined, isCleared: this.#isCleared }
    this.#reader.end(this.#reading!)
    this.#reading = undefined
  }

  #applyChanges(budget: number): number {
    if (this.#changes.count === 0) return 0
    const state = this.#states.reach(this.#dpRank)
    let spent = 0
    while (state !== undefined && this.#change < this.#changes.count && spent < budget)
      spent += this.#applySlice(state)
    if (state !== undefined && this.#change < this.#changes.count) return spent
    this.#forgetChanges()
    return spent
  }

  #forgetChanges(): void {
    this.#changes.clear()
    this.#change = 0
    this.#applied = 0
    this.#splitEnd = 0
    this.#teaches = false
  }

  /** As if all changes so far were in: so they are brought in; where salts are in play they are few. */
  #holds(dpRank: number, tier: number, low: number, high: number): boolean {
    this.#applyChanges(Infinity)
    return this.#index.holds(dpRank, tier, low, high)
  }

  /** @returns blocks that were looked at, at least 1 */
  #applySlice(state: RankState): number {
    const kind = this.#changes.kinds[this.#change]!
    if (kind === STORE) return this.#store(state)
    if (kind === REMOVE) return this.#remove(state)
    if (kind !== CLEAR) throw new RangeError(`unknown change ${kind}`)
    this.#states.drop(this.#dpRank)
    this.#states.counters.cleared++
    this.#change++
    return 1
  }

  #store(state: RankState): number {
    const changes = this.#changes
    const change = this.#change
    if (this.#applied === 0) {
      this.#groupEnd = change + 1
      while (this.#groupEnd < changes.count && this.#isJoined(this.#groupEnd)) this.#groupEnd++
    }
    const last = this.#groupEnd - 1
    const total = changes.starts[last]! + changes.counts[last]! - changes.starts[change]!
    const count = Math.min(total - this.#applied, this.#blocksPerCall)
    const outcome = this.#storeRun(state, change, count)
    const refused = isRefused(outcome)
    // A group counts as a duplicate when all of it is.
    if (refused || this.#applied === 0 || outcome === 'ok') this.#outcome = outcome
    const isFirst = this.#applied === 0
    this.#applied += count
    if (refused || this.#applied === total) {
      this.#states.counters.stored[this.#outcome]++
      this.#lastOutcome = this.#outcome
      this.#applied = 0
      this.#change = this.#groupEnd
      if (refused && isFirst && this.#groupEnd > change + 1) {
        // Each event on its own: a later one may continue something that the rank holds.
        this.#splitEnd = this.#groupEnd
        this.#change = change + 1
      }
    }
    return Math.max(count, 1)
  }

  #isJoined(change: number): boolean {
    return this.#changes.continues[change] === 1 && change >= this.#splitEnd
  }

  #storeRun(state: RankState, change: number, count: number): StoreOutcome {
    const { starts, tiers, hasParents, parentLows, parentHighs, engine, local } = this.#changes
    const { index } = this.#states
    const run = this.#run
    const start = starts[change]! + this.#applied
    const continuesSlice = this.#applied > 0
    this.#hashUpTo(start + count)
    run.engine = engine
    run.local = local
    run.start = start
    run.count = count
    run.hasParent = continuesSlice || hasParents[change] === 1
    run.parentLow = continuesSlice ? engine[2 * start - 2]! : parentLows[change]!
    run.parentHigh = continuesSlice ? engine[2 * start - 1]! : parentHighs[change]!
    const tier = tiers[change]!
    let held = 0
    for (let block = 0; block < count; block++) {
      const at = 2 * (start + block)
      const isHeld = index.holds(state.slot, tier, engine[at]!, engine[at + 1]!)
      this.#heldBefore[block] = isHeld ? 1 : 0
      if (isHeld) held++
    }
    if (this.#teaches) this.#memory.willStore(this.#dpRank, run, this.#salt, this.#index)
    const outcome = index.store(state.slot, tier, run)
    if (this.#teaches && !isRefused(outcome)) this.#memory.didStore(this.#dpRank, run, this.#salt)
    if (held === 0 || isRefused(outcome)) return outcome
    const { references } = state
    const forgotten = references.forgotten
    for (let block = 0; block < count; block++) {
      const at = 2 * (start + block)
      if (this.#heldBefore[block] === 1) references.storedAgain(tier, engine[at]!, engine[at + 1]!)
    }
    this.#states.counters.forgottenReferences += references.forgotten - forgotten
    return outcome
  }

  /** Makes the local hashes of the blocks before `end` that are missing; only the last change can be without. */
  #hashUpTo(end: number): void {
    const changes = this.#changes
    const from = changes.unhashedFrom
    if (from >= end) return
    const first = from - changes.starts[changes.count - 1]!
    changes.fillLocal(this.#reading!.hashBlocks(first, end - from), end - from)
  }

  #remove(state: RankState): number {
    const { starts, counts, tiers, engine } = this.#changes
    const { index, counters } = this.#states
    const change = this.#change
    const tier = tiers[change]!
    const start = starts[change]! + this.#applied
    const count = Math.min(counts[change]! - this.#applied, this.#blocksPerCall)
    const gone = state.references.release(tier, engine, start, count)
    counters.deduplicatedBlocks += count - gone
    if (gone > 0 && index.remove(state.slot, tier, engine, start, gone) === 'block_not_found')
      this.#hasUnknownBlock = true
    if (tier <= HOST_PINNED) this.#memory.didRemove(this.#dpRank, engine, start, gone, this.#index)
    this.#applied += count
    if (this.#applied === counts[change]) {
      counters.removed[this.#hasUnknownBlock ? 'block_not_found' : 'ok']++
      this.#hasUnknownBlock = false
      this.#applied = 0
      this.#change++
    }
    return Math.max(count, 1)
  }
}

function isRefused(outcome: StoreOutcome): boolean {
  return outcome !== 'ok' && outcome !== 'duplicate_store'
}
