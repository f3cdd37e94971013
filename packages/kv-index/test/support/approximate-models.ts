import type { PromptBlocks } from '../../src/approximate/prompt-blocks.js'
import { hashWords } from '../../src/hash-words.js'
import { namesOf } from './runs.js'

type Path = readonly bigint[]

/** The blocks of a path as callers pass them, in arrays that are too long. */
export function blocksOf(path: Path): PromptBlocks {
  const local = hashWords([...path, 0xdeadn])
  return { local, sequence: hashWords([...namesOf(path), 0xdeadn]), count: path.length }
}

/** Blocks from the left that are in a set of names. */
function prefixOf(names: readonly bigint[], holds: (name: bigint) => boolean): number {
  const end = names.findIndex((name) => !holds(name))
  return end === -1 ? names.length : end
}

/** Retention by lifetime as its rules read: a list of all blocks, searched and sorted each time. */
export class LifetimeModel {
  readonly #options: { ttlMs: number; maxBlocks: number; pruneTargetRatio: number }
  #blocks: { rank: number; name: bigint; depth: number; expiryMs: number }[] = []
  #nowMs = -Infinity

  constructor(options: { ttlMs: number; maxBlocks: number; pruneTargetRatio: number }) {
    this.#options = options
  }

  insert(rank: number, path: Path, nowMs: number): void {
    this.expire(nowMs)
    const { ttlMs, maxBlocks, pruneTargetRatio } = this.#options
    const expiryMs = Math.ceil((this.#nowMs + ttlMs) / 100) * 100
    for (const [depth, name] of namesOf(path).entries()) {
      this.#blocks = this.#blocks.filter((block) => block.rank !== rank || block.name !== name)
      this.#blocks.push({ rank, name, depth, expiryMs })
    }
    if (this.#blocks.length <= maxBlocks) return
    this.#blocks.sort(
      (a, b) =>
        a.expiryMs - b.expiryMs ||
        b.depth - a.depth ||
        (a.name < b.name ? -1 : a.name > b.name ? 1 : a.rank - b.rank),
    )
    this.#blocks = this.#blocks.slice(this.#blocks.length - Math.floor(maxBlocks * pruneTargetRatio))
  }

  expire(nowMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, nowMs)
    this.#blocks = this.#blocks.filter(({ expiryMs }) => expiryMs > this.#nowMs)
  }

  removeRank(rank: number): void {
    this.#blocks = this.#blocks.filter((block) => block.rank !== rank)
  }

  sizeOf(rank: number): number {
    return this.#blocks.filter((block) => block.rank === rank).length
  }

  get size(): number {
    return this.#blocks.length
  }

  match(rank: number, path: Path): number {
    const held = new Set(this.#blocks.filter((block) => block.rank === rank).map(({ name }) => name))
    return prefixOf(namesOf(path), (name) => held.has(name))
  }
}

interface Copy {
  readonly name: bigint
  readonly age: number
  position: number
  references: number
  /** Of its last release. */
  epoch: number
}

interface Lease {
  readonly path: Path
  readonly copies: Copy[]
  privateBlocks: number
}

interface Rank {
  readonly incarnation: number
  readonly mode: 'lru' | 'ttl'
  capacity: number
  copies: Copy[]
  readonly leases: Map<number, Lease>
}

/** LRU retention as its rules read: lists of copies, searched and sorted each time. */
export class LruModel {
  readonly lifetime: LifetimeModel
  readonly ranks = new Map<number, Rank>()
  /** Of the last call. */
  evicted: bigint[] = []
  #epoch = 0
  #age = 0
  #evictedTotal = 0
  #fallbackActivations = 0

  constructor(lifetime: LifetimeModel) {
    this.lifetime = lifetime
  }

  setCapacity(rank: number, incarnation: number, capacity: number | undefined): void {
    this.evicted = []
    const known = this.ranks.get(rank)
    const isSame = known?.incarnation === incarnation
    if (isSame && known?.mode === 'ttl') return
    if (isSame && known !== undefined && capacity !== undefined && capacity > 0) {
      known.capacity = capacity
      this.#evict(known)
      return
    }
    this.resetRank(rank)
    const mode = capacity !== undefined && capacity > 0 ? 'lru' : 'ttl'
    if (mode === 'ttl') this.#fallbackActivations++
    this.ranks.set(rank, { incarnation, mode, capacity: capacity ?? 0, copies: [], leases: new Map() })
  }

  acquire(
    rank: number,
    incarnation: number,
    attempt: number,
    path: Path,
    privateBlocks: number,
    nowMs: number,
  ): string {
    this.evicted = []
    const known = this.ranks.get(rank)
    if (known?.incarnation !== incarnation) return 'ignored'
    if (known.mode === 'ttl') {
      this.lifetime.insert(rank, path, nowMs)
      return 'ttl'
    }
    if (known.leases.has(attempt)) return 'error'
    const lease: Lease = { path, copies: [], privateBlocks }
    let isResident = true
    for (const [position, name] of namesOf(path).entries()) {
      const first = known.copies.find((copy) => copy.name === name)
      isResident &&= first !== undefined
      this.#refer(known, lease, isResident ? first : undefined, name, position)
    }
    known.leases.set(attempt, lease)
    this.#evict(known)
    return 'lru'
  }

  materialize(rank: number, attempt: number, path: Path, from: number, privateBlocks: number): void {
    this.evicted = []
    const known = this.ranks.get(rank)
    const lease = known?.leases.get(attempt)
    if (known === undefined || lease === undefined) return
    for (const [position, name] of namesOf(path).entries()) {
      if (position >= from) this.#refer(known, lease, undefined, name, position)
    }
    known.leases.set(attempt, { ...lease, path, privateBlocks })
    this.#evict(known)
  }

  release(rank: number, attempt: number): void {
    this.evicted = []
    const known = this.ranks.get(rank)
    const lease = known?.leases.get(attempt)
    if (known === undefined || lease === undefined) return
    const epoch = ++this.#epoch
    for (const copy of lease.copies) {
      copy.references--
      copy.epoch = epoch
    }
    known.leases.delete(attempt)
    this.#evict(known)
  }

  resetRank(rank: number): void {
    this.evicted = []
    this.ranks.delete(rank)
    this.lifetime.removeRank(rank)
  }

  match(rank: number, path: Path): number {
    const known = this.ranks.get(rank)
    if (known?.mode !== 'lru') return this.lifetime.match(rank, path)
    return prefixOf(namesOf(path), (name) => known.copies.some((copy) => copy.name === name))
  }

  /** Distinct blocks. */
  sizeOf(rank: number): number {
    const known = this.ranks.get(rank)
    if (known?.mode !== 'lru') return this.lifetime.sizeOf(rank)
    return new Set(known.copies.map(({ name }) => name)).size
  }

  stats(): Record<string, number> {
    const all = [...this.ranks.values()]
    const lru = all.filter(({ mode }) => mode === 'lru')
    const sum = (of: (rank: Rank) => number): number => lru.reduce((total, rank) => total + of(rank), 0)
    const inactive = sum(({ copies }) => copies.filter(({ references }) => references === 0).length)
    const resident = sum((rank) => rank.copies.length + privateOf(rank))
    return {
      ranks: lru.length,
      fallbackRanks: all.length - lru.length,
      fallbackActivations: this.#fallbackActivations,
      leases: sum(({ leases }) => leases.size),
      private: sum(privateOf),
      active: resident - inactive,
      inactive,
      resident,
      overCapacity: sum((rank) => Math.max(0, rank.copies.length + privateOf(rank) - rank.capacity)),
      evictedTotal: this.#evictedTotal,
    }
  }

  #refer(rank: Rank, lease: Lease, known: Copy | undefined, name: bigint, position: number): void {
    const copy = known ?? { name, age: this.#age++, position, references: 0, epoch: 0 }
    if (known === undefined) rank.copies.push(copy)
    copy.references++
    copy.position = position
    lease.copies.push(copy)
  }

  #evict(rank: Rank): void {
    while (rank.copies.length + privateOf(rank) > rank.capacity) {
      const [first] = rank.copies
        .filter(({ references }) => references === 0)
        .toSorted((a, b) => a.epoch - b.epoch || b.position - a.position || a.age - b.age)
      if (first === undefined) return
      rank.copies = rank.copies.filter((copy) => copy !== first)
      this.#evictedTotal++
      if (!rank.copies.some(({ name }) => name === first.name)) this.evicted.push(first.name)
    }
  }
}

function privateOf({ leases }: Rank): number {
  return [...leases.values()].reduce((sum, { privateBlocks }) => sum + privateBlocks, 0)
}
