type Counts = Iterable<readonly [key: string, count: number]>

/**
 * Sums of counters whose owners come and go: what an owner has counted stays when it is gone. To be gathered every now and then, since an
 * owner that comes and goes in between is never seen.
 */
export class LastingSums<Owner extends object> {
  readonly sums = new Map<string, number>()
  readonly #countsOf: (owner: Owner) => Counts
  // What of each owner is in the sums. Bounded by the owners that there are.
  readonly #gathered = new Map<Owner, Map<string, number>>()

  /** @param countsOf counters of an owner, which only grow, by keys of a bounded set */
  constructor(countsOf: (owner: Owner) => Counts) {
    this.#countsOf = countsOf
  }

  /** Owners that are known. */
  get size(): number {
    return this.#gathered.size
  }

  get(key: string): number {
    return this.sums.get(key) ?? 0
  }

  /** @param owners those that there are now; others are asked for the last time */
  gather(owners: Iterable<Owner>): void {
    const present = new Set(owners)
    for (const owner of present) if (!this.#gathered.has(owner)) this.#gathered.set(owner, new Map())
    for (const [owner, known] of this.#gathered) {
      for (const [key, count] of this.#countsOf(owner)) {
        this.sums.set(key, this.get(key) + count - (known.get(key) ?? 0))
        known.set(key, count)
      }
      if (!present.has(owner)) this.#gathered.delete(owner)
    }
  }
}
