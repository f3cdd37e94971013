import {
  type BlockIndex,
  type BlockRun,
  DEVICE,
  type HashWords,
  type OverlapTarget,
  type RemoveOutcome,
  type StoreOutcome,
  hashAt,
} from '../../src/index.js'
import { applyEntry } from './dump.js'
import { NaiveIndex } from './naive-index.js'

const options = { blockSize: 16 }

/** An index by way of the naive one, which it may replace. */
class Wrong implements BlockIndex {
  readonly blockSize = options.blockSize
  protected inner = new NaiveIndex(options)
  get currentSize(): number {
    return this.inner.currentSize
  }
  sizeOf(rank: number): number {
    return this.inner.sizeOf(rank)
  }
  store(rank: number, tier: number, run: BlockRun): StoreOutcome {
    return this.inner.store(rank, tier, run)
  }
  remove(rank: number, tier: number, engine: HashWords, start: number, count: number): RemoveOutcome {
    return this.inner.remove(rank, tier, engine, start, count)
  }
  holds(rank: number, tier: number, engineLow: number, engineHigh: number): boolean {
    return this.inner.holds(rank, tier, engineLow, engineHigh)
  }
  removeRank(rank: number): void {
    this.inner.removeRank(rank)
  }
  lookup(local: HashWords, count: number, target: OverlapTarget): void {
    this.inner.lookup(local, count, target)
  }
}

class CutsBehindHoles extends Wrong {
  override remove(
    rank: number,
    tier: number,
    engine: HashWords,
    start: number,
    count: number,
  ): RemoveOutcome {
    const outcome = super.remove(rank, tier, engine, start, count)
    const rest = [...this.inner.dump()]
    this.inner = new NaiveIndex(options)
    for (const entry of rest) applyEntry(this.inner, entry)
    return outcome
  }
}

class KnowsOnePlace extends Wrong {
  override store(rank: number, tier: number, run: BlockRun): StoreOutcome {
    for (let at = run.start; at < run.start + run.count && tier === DEVICE; at++) {
      const name = hashAt(run.engine, at)
      const known = [...this.inner.dump()].some(
        ({ rank: holder, engine, local }) =>
          holder === rank &&
          Array.from({ length: engine.length >> 1 }, (_, block) => block).some(
            (block) => hashAt(engine, block) === name && hashAt(local, block) !== hashAt(run.local, at),
          ),
      )
      if (known) return 'ok'
    }
    return super.store(rank, tier, run)
  }
}

class ReadsLowHalves extends Wrong {
  override store(rank: number, tier: number, run: BlockRun): StoreOutcome {
    return super.store(rank, tier, { ...run, local: lowHalves(run.local) })
  }
  override lookup(local: HashWords, count: number, target: OverlapTarget): void {
    super.lookup(lowHalves(local), count, target)
  }
}

class IgnoresStart extends Wrong {
  override store(rank: number, tier: number, run: BlockRun): StoreOutcome {
    return super.store(rank, tier, { ...run, start: 0 })
  }
}

class LeavesRows extends Wrong {
  override lookup(local: HashWords, count: number, target: OverlapTarget): void {
    target.count = 0
    super.lookup(local, count, target)
  }
}

class KeepsLowerTiers extends Wrong {
  override removeRank(rank: number): void {
    const lower = [...this.inner.dump()].filter((entry) => entry.rank === rank && entry.tier !== DEVICE)
    super.removeRank(rank)
    for (const entry of lower) applyEntry(this.inner, entry)
  }
}

class SharesParents extends Wrong {
  override store(rank: number, tier: number, run: BlockRun): StoreOutcome {
    const outcome = super.store(rank, tier, run)
    return outcome === 'parent_not_found' && run.count === 0 ? 'ok' : outcome
  }
}

class ForgetsDisk extends Wrong {
  override lookup(local: HashWords, count: number, target: OverlapTarget): void {
    super.lookup(local, count, target)
    target.diskBlocks.fill(0)
  }
}

/** Indexes that break one rule each, and which. */
export const wrongIndexes: readonly (readonly [rule: string, create: () => BlockIndex])[] = [
  ['cuts what lies behind a hole', () => new CutsBehindHoles()],
  ['knows one place a hash', () => new KnowsOnePlace()],
  ['compares low halves', () => new ReadsLowHalves()],
  ['reads runs from the first word on', () => new IgnoresStart()],
  ['leaves the rows of the last lookup', () => new LeavesRows()],
  ['keeps the lower tiers of a rank that left', () => new KeepsLowerTiers()],
  ['takes an empty run without its parent', () => new SharesParents()],
  ['never finds disk blocks', () => new ForgetsDisk()],
]

/** A right index that counts what it is used for. */
export class Counting extends Wrong {
  readonly counts = {
    ok: 0,
    duplicate_store: 0,
    parent_not_found: 0,
    invalid_sequence: 0,
    block_not_found: 0,
    emptyRuns: 0,
    'ranks left with blocks': 0,
    'device matches': 0,
    'long device matches': 0,
    'lower matches behind device matches': 0,
    'lower matches alone': 0,
  }
  restart(): this {
    this.inner = new NaiveIndex(options)
    return this
  }
  override store(rank: number, tier: number, run: BlockRun): StoreOutcome {
    const outcome = super.store(rank, tier, run)
    if (outcome !== 'capacity') this.counts[outcome]++
    if (run.count === 0) this.counts.emptyRuns++
    return outcome
  }
  override remove(
    rank: number,
    tier: number,
    engine: HashWords,
    start: number,
    count: number,
  ): RemoveOutcome {
    const outcome = super.remove(rank, tier, engine, start, count)
    this.counts[outcome]++
    return outcome
  }
  override removeRank(rank: number): void {
    if (this.inner.sizeOf(rank) > 0) this.counts['ranks left with blocks']++
    super.removeRank(rank)
  }
  override lookup(local: HashWords, count: number, target: OverlapTarget): void {
    super.lookup(local, count, target)
    for (const row of target.rows.subarray(0, target.count)) {
      const device = target.deviceBlocks[row]!
      const lower = target.hostBlocks[row]! + target.diskBlocks[row]! + target.externalBlocks[row]!
      if (device > 0) this.counts['device matches']++
      if (device > 16) this.counts['long device matches']++
      if (lower > 0) this.counts[device > 0 ? 'lower matches behind device matches' : 'lower matches alone']++
    }
  }
}

function lowHalves(words: HashWords): HashWords {
  return words.map((word, at) => (at % 2 === 0 ? word : 0))
}
