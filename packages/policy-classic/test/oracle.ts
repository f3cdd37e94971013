import type { HandMadeRow } from '@router/conformance'
import type { WyRand } from '@router/sdk'

/** A request as the rules see it. */
export interface OracleRequest {
  readonly target?: { readonly workerId: bigint; readonly dpRank?: number }
  readonly queryOnly?: boolean
  readonly requiredCacheHits?: number
}

interface Rank {
  readonly name: string
  readonly dpRank: number
  readonly load: number
  readonly isCpu: boolean
  readonly hits: number
}

interface Worker {
  readonly id: bigint
  readonly ranks: readonly Rank[]
  readonly load: number
}

/** The text of the rules once more, with objects and lists: slow and obvious. `refused` is the reason of an error. */
export class Oracle {
  readonly #type: string
  readonly #random: WyRand
  readonly #ratio: number
  #turn = 0
  readonly #turns = new Map<bigint, number>()

  constructor(type: string, random: WyRand, ratio = 8) {
    this.#type = type
    this.#random = random
    this.#ratio = ratio
  }

  pick(rows: readonly HandMadeRow[], request: OracleRequest = {}): string | { refused: string } {
    const workers = groupsOf(rows)
    const { target } = request
    const named = workers.find(({ id }) => id === target?.workerId)
    if (target?.dpRank !== undefined) {
      const rank = named?.ranks.find(({ dpRank }) => dpRank === target.dpRank)
      if (rank !== undefined) return rank.name
    }
    const usesTarget = named !== undefined && target?.dpRank === undefined
    if (this.#type === 'dynamo-direct') {
      if (target === undefined) return { refused: 'target-required' }
      return usesTarget ? named.ranks[0]!.name : { refused: 'target-not-eligible' }
    }
    const worker = usesTarget ? named : this.#worker(workers, request)
    return worker.ranks.length === 1 ? worker.ranks[0]!.name : this.#rank(worker, request).name
  }

  /** Workers that left lose their cursor. */
  join(rows: readonly HandMadeRow[]): void {
    const ids = new Set(rows.map(({ workerId }) => workerId))
    for (const id of this.#turns.keys()) if (!ids.has(id)) this.#turns.delete(id)
  }

  #worker(workers: readonly Worker[], { queryOnly = false, requiredCacheHits = 0 }: OracleRequest): Worker {
    switch (this.#type) {
      case 'dynamo-round-robin': {
        const worker = workers[this.#turn % workers.length]!
        if (!queryOnly) this.#turn = (this.#turn + 1) % 2 ** 32
        return worker
      }
      case 'dynamo-random':
        return workers[this.#random.below(workers.length)]!
      case 'dynamo-power-of-two-choices':
        return this.#ofTwo(workers)
      case 'dynamo-least-loaded':
        return this.#least(workers)
      default:
        return this.#byDevice(workers, requiredCacheHits)
    }
  }

  #rank(worker: Worker, { queryOnly = false }: OracleRequest): Rank {
    const { id, ranks } = worker
    switch (this.#type) {
      case 'dynamo-round-robin': {
        const turn = this.#turns.get(id) ?? 0
        if (!queryOnly) this.#turns.set(id, (turn + 1) % 2 ** 32)
        return ranks[turn % ranks.length]!
      }
      case 'dynamo-random':
        return ranks[this.#random.below(ranks.length)]!
      case 'dynamo-power-of-two-choices':
        return this.#ofTwo(ranks)
      default:
        return this.#least(ranks)
    }
  }

  #ofTwo<T extends { readonly load: number }>(all: readonly T[]): T {
    const first = this.#random.below(all.length)
    if (all.length === 1) return all[0]!
    const second = (first + 1 + this.#random.below(all.length - 1)) % all.length
    return all[first]!.load <= all[second]!.load ? all[first]! : all[second]!
  }

  #least<T extends { readonly load: number }>(all: readonly T[]): T {
    let best: T[] = []
    for (const one of all) best = this.#reservoir(best, one)
    return best[0]!
  }

  /** The best so far, then its ties: one more of them replaces the best with the chance of one in so many. */
  #reservoir<T extends { readonly load: number }>(best: readonly T[], next: T): T[] {
    if (best.length === 0 || next.load < best[0]!.load) return [next]
    if (next.load > best[0]!.load) return [...best]
    return this.#random.below(best.length + 1) === 0 ? [next, ...best] : [...best, next]
  }

  #byDevice(workers: readonly Worker[], required: number): Worker {
    let cpus: Worker[] = []
    let accelerators: Worker[] = []
    let fullHits: Worker[] = []
    for (const worker of workers) {
      const [lowest] = worker.ranks
      if (lowest!.isCpu) cpus = this.#reservoir(cpus, worker)
      else accelerators = this.#reservoir(accelerators, worker)
      if (required > 0 && lowest!.hits >= required) fullHits = this.#reservoir(fullHits, worker)
    }
    if (fullHits.length > 0) return fullHits[0]!
    if (cpus.length === 0) return accelerators[0]!
    if (accelerators.length === 0) return cpus[0]!
    const ofKind = (isCpu: boolean): Worker[] => workers.filter(({ ranks }) => ranks[0]!.isCpu === isCpu)
    const total = (some: readonly Worker[]): number => some.reduce((sum, { load }) => sum + load, 0)
    const allowed = Math.floor(
      (total(ofKind(false)) * ofKind(true).length) / (this.#ratio * ofKind(false).length),
    )
    return total(ofKind(true)) < allowed ? cpus[0]! : accelerators[0]!
  }
}

function groupsOf(rows: readonly HandMadeRow[]): Worker[] {
  const ids = [...new Set(rows.map(({ workerId }) => workerId))].toSorted((a, b) => (a < b ? -1 : 1))
  return ids.map((id) => {
    const ranks = rows
      .filter(({ workerId }) => workerId === id)
      .map(({ dpRank = 0, reservations: load = 0, cacheHits: hits = 0, worker }) => {
        return { name: `${id}.${dpRank}`, dpRank, load, hits, isCpu: worker?.deviceKind === 'cpu' }
      })
      .toSorted((a, b) => a.dpRank - b.dpRank)
    return { id, ranks, load: ranks.reduce((sum, { load }) => sum + load, 0) }
  })
}
