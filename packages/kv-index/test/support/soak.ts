import { type BlockIndex, DEVICE, DISK, EXTERNAL, HOST_PINNED, TIERS } from '../../src/index.js'
import { Churn } from './churn.js'
import { matchesOf } from './match-table.js'
import { namesOf, runOf } from './runs.js'

/** Counters and gauges of an index, by name. */
export type Gauges = Readonly<Record<string, number>>

/** An index that says what it has allocated. */
export interface AccountedIndex extends BlockIndex {
  gauges(): Gauges
}

/** What a soak has seen; `faults` is empty when every bound was kept. */
export interface SoakReport {
  readonly operations: number
  /** Largest value of every gauge. */
  readonly largest: Gauges
  /** Values once everything is gone. */
  readonly atEnd: Gauges
  readonly faults: readonly string[]
}

export interface SoakOptions {
  /** Cycles, adapters or sessions. */
  readonly count: number
  /** Sessions that are cached at one time, where there are sessions. */
  readonly liveSessions?: number
  /** Told now and then, with the number done. */
  readonly onProgress?: (done: number) => void
}

/** The most blocks allocated for a block held. */
const mostPerLive = 1.5
/** Blocks by which a tier grows: one such piece more is allowed below `many` blocks, where it weighs. */
const chunk = 65_536
const many = 8 * chunk
/** What an empty tier keeps for the next load: its first piece, one spare one, and tables at their smallest. */
const bytesKept = 2 * chunk * 20 + 2 ** 18
/** Once the load is steady a gauge may go so much higher than before: some grow by doubling. */
const mostGrowth = 2.2
const smallest = 256

class Watch {
  readonly #index: AccountedIndex
  readonly #tiers: number
  readonly #allocatedBefore: number
  readonly #bytesBefore: number
  readonly #early: Record<string, number> = {}
  readonly largest: Record<string, number> = {}
  readonly faults: string[] = []

  constructor(index: AccountedIndex, tiers: number) {
    this.#index = index
    this.#tiers = tiers
    const { allocatedBlocks = Number.NaN, bytes = Number.NaN } = index.gauges()
    this.#allocatedBefore = allocatedBlocks
    this.#bytesBefore = bytes
  }

  /** @param isSteady whether the load has been the same for as long as it took to get there */
  look(expectedEntries: number, isSteady: boolean): void {
    const { currentSize } = this.#index
    if (currentSize !== expectedEntries) this.#fault(`${currentSize} entries instead of ${expectedEntries}`)
    const gauges = this.#index.gauges()
    const { liveBlocks = Number.NaN, allocatedBlocks = Number.NaN } = gauges
    const started = liveBlocks < many ? chunk * this.#tiers : 0
    const allowed = mostPerLive * liveBlocks + started
    // What an earlier, larger load left for reuse is there until the load is as large again.
    if (!(allocatedBlocks <= (isSteady ? allowed : Math.max(allowed, this.#allocatedBefore))))
      this.#fault(`${allocatedBlocks} blocks are allocated for ${liveBlocks} live ones`)
    for (const [name, value] of Object.entries(gauges)) {
      this.largest[name] = Math.max(this.largest[name] ?? 0, value)
      if (!isSteady) this.#early[name] = this.largest[name]!
      else if (value > mostGrowth * this.#early[name]! + smallest)
        this.#fault(`gauge ${name} grew from ${this.#early[name]} to ${value} at the same load`)
    }
  }

  report(operations: number): SoakReport {
    const { currentSize } = this.#index
    const atEnd = this.#index.gauges()
    if (currentSize !== 0) this.#fault(`${currentSize} entries are left`)
    for (const name of ['liveBlocks', 'edges']) {
      if (atEnd[name] !== 0) this.#fault(`gauge ${name} is ${atEnd[name]} when everything is gone`)
    }
    const { bytes = Number.NaN } = atEnd
    const kept = this.#tiers * bytesKept
    if (!(bytes <= this.#bytesBefore + kept))
      this.#fault(`${bytes} bytes are left of ${this.#bytesBefore} at the start, more than ${kept} on top`)
    return { operations, largest: this.largest, atEnd, faults: this.faults }
  }

  #fault(text: string): void {
    if (this.faults.length < 10) this.faults.push(text)
  }
}

/** Sessions that are cached at one time: few enough to replace all of them often, at most 60,000. */
export function liveSessionsFor(count: number): number {
  return Math.max(500, Math.min(60_000, Math.floor(count / 60)))
}

/** I5, U27: sessions come and go; blocks, edges and entries follow what is held, and nothing is left when everything is gone. */
export function soakCycles(index: AccountedIndex, options: SoakOptions): SoakReport {
  const { count, liveSessions = liveSessionsFor(count), onProgress } = options
  const watch = new Watch(index, 1)
  const churn = new Churn(index, { ranks: 8, liveSessions, tiers: [DEVICE], seed: 1 })
  churn.start()
  for (let cycle = 1; churn.operations < count; cycle++) {
    churn.cycle()
    if (cycle % 1000 !== 0) continue
    watch.look(churn.entries, cycle > 2 * liveSessions)
    onProgress?.(churn.operations)
  }
  churn.drain()
  return watch.report(churn.operations)
}

/** U30: sessions without end, on every tier, on engines that restart; every gauge comes to rest. */
export function soakSessions(
  index: AccountedIndex,
  { count, liveSessions = 2000, onProgress }: SoakOptions,
): SoakReport {
  const watch = new Watch(index, TIERS.length)
  const ranks = 16
  const tiers = [DEVICE, DEVICE, HOST_PINNED, DISK, EXTERNAL]
  const churn = new Churn(index, { ranks, liveSessions, tiers, seed: 2 })
  churn.start()
  for (let session = 1; session <= count; session++) {
    churn.cycle()
    if (session % 5000 === 0) churn.restart((session / 5000) % ranks)
    if (session % 500 !== 0) continue
    watch.look(churn.entries, session > 5 * liveSessions)
    onProgress?.(session)
  }
  churn.drain()
  return watch.report(churn.operations)
}

/** U28: adapters one after the other, each with content of its own; with the last block of one everything about it is gone. */
export function soakAdapters(index: AccountedIndex, { count, onProgress }: SoakOptions): SoakReport {
  const watch = new Watch(index, 1)
  let operations = 0
  for (let adapter = 1; adapter <= count; adapter++) {
    // Like a seed of its own: no local hash is any other adapter's.
    const path = Array.from({ length: 12 }, (_, at) => (BigInt(adapter) << 20n) + BigInt(at))
    const names = namesOf(path)
    for (const rank of [1, 2]) {
      index.store(rank, DEVICE, runOf(undefined, names, path))
      for (let fork = 2; fork < 5; fork++) {
        const tail = [path[fork]! + 64n, path[fork]! + 65n]
        index.store(rank, DEVICE, runOf(names[fork - 1], [names[fork]! ^ 1n, names[fork]! ^ 2n], tail))
      }
    }
    const matches = matchesOf(index, path, 3)
    if (matches[1]?.[0] !== 12 || matches[2]?.[0] !== 12) throw new Error(`adapter ${adapter} does not match`)
    watch.look(36, adapter > 100)
    const tails = [2, 3, 4].flatMap((fork) => [names[fork]! ^ 1n, names[fork]! ^ 2n])
    const run = runOf(undefined, [...names, ...tails], [...path, ...tails])
    for (const rank of [1, 2]) {
      // One engine says so block by block, the other restarts.
      if ((adapter + rank) % 2 === 0) index.remove(rank, DEVICE, run.engine, 0, run.count)
      else index.removeRank(rank)
    }
    operations += 10
    watch.look(0, adapter > 100)
    onProgress?.(adapter)
  }
  return watch.report(operations)
}

/** A soak and its full length. */
export interface Soak {
  readonly name: string
  readonly unit: string
  readonly count: number
  readonly run: (index: AccountedIndex, options: SoakOptions) => SoakReport
}

export const soaks: readonly Soak[] = [
  { name: 'I5: store and remove', unit: 'operations', count: 10_000_000, run: soakCycles },
  { name: 'U28: adapters', unit: 'adapters', count: 10_000, run: soakAdapters },
  { name: 'U30: sessions', unit: 'sessions', count: 1_000_000, run: soakSessions },
]
