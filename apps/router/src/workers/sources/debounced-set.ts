/** Members that leave only when they are missing in two successive looks, at least so long apart. Bounded by what a look holds. */
export class DebouncedSet<T> {
  readonly #members = new Map<bigint, T>()
  readonly #missingSinceMs = new Map<bigint, number>()
  readonly #graceMs: number

  /** @param graceMs between the looks, milliseconds */
  constructor(graceMs: number) {
    this.#graceMs = graceMs
  }

  /** What is there now, by key; returns the members: those that are there, and those that may only seem to be gone. */
  look(seen: ReadonlyMap<bigint, T>, nowMs: number): ReadonlyMap<bigint, T> {
    for (const [key, member] of seen) {
      this.#members.set(key, member)
      this.#missingSinceMs.delete(key)
    }
    for (const key of this.#members.keys()) {
      if (seen.has(key)) continue
      const sinceMs = this.#missingSinceMs.get(key)
      if (sinceMs === undefined) this.#missingSinceMs.set(key, nowMs)
      else if (nowMs - sinceMs >= this.#graceMs) {
        this.#members.delete(key)
        this.#missingSinceMs.delete(key)
      }
    }
    return this.#members
  }
}
