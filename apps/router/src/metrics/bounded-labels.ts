/** What further values of a label are called. */
const otherLabel = 'other'

/** Values of a label that may be many: the first ones have their own child, all others share one. */
export class BoundedLabels {
  readonly #most: number
  readonly #known = new Set<string>()

  /** @param most values with a child of their own */
  constructor(most = 64) {
    this.#most = most
  }

  get size(): number {
    return this.#known.size
  }

  /** The value under which this one is counted. */
  of(value: string): string {
    if (this.#known.has(value)) return value
    if (this.#known.size >= this.#most) return otherLabel
    this.#known.add(value)
    return value
  }
}
