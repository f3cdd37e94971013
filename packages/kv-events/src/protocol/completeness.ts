/**
 * What a socket knows about the ranks that it feeds: everything since sequence 0, or, rank by rank, everything since a `cleared`.
 * Holds at most one entry per rank of the worker.
 */
export class Completeness {
  readonly #fed = new Set<number>()
  readonly #exact = new Set<number>()
  #isWhole = false

  /** Every rank that was fed, in the order of their first batches. */
  get fedRanks(): readonly number[] {
    return [...this.#fed]
  }

  /** Whether nothing that the engine holds is missing, on any rank that this socket feeds. */
  get isComplete(): boolean {
    return this.#isWhole || (this.#fed.size > 0 && this.#exact.size === this.#fed.size)
  }

  /** The history from sequence 0 on is known. */
  becomeWhole(): void {
    this.#isWhole = true
  }

  /** A part of the history is gone. */
  lose(): void {
    this.#isWhole = false
    this.#exact.clear()
  }

  /** As `lose`, unless the socket never fed the rank; whether it did. */
  loseRank(dpRank: number): boolean {
    if (!this.#fed.has(dpRank)) return false
    this.lose()
    return true
  }

  /** A batch of the rank was applied. `isCleared`: it said that the rank holds nothing. */
  feed(dpRank: number, isCleared: boolean): void {
    this.#fed.add(dpRank)
    if (isCleared && !this.#isWhole) this.#exact.add(dpRank)
  }

  /** As new: another life of the engine. */
  forget(): void {
    this.lose()
    this.#fed.clear()
  }
}
