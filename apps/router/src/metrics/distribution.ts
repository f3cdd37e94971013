/** Values counted by bucket: what a histogram is, at the cost of a search and three additions a value. */
export class Distribution {
  /** Upper bounds, ascending; what is above them all is counted too. */
  readonly bounds: readonly number[]
  readonly #counts: Float64Array
  #sum = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.#counts = new Float64Array(bounds.length + 1)
  }

  get sum(): number {
    return this.#sum
  }

  /** Values up to each bound, then all. */
  get cumulative(): number[] {
    let count = 0
    return Array.from(this.#counts, (own) => (count += own))
  }

  /** `O(bounds)`; what is no finite number is left out. */
  observe(value: number): void {
    if (!Number.isFinite(value)) return
    const { bounds } = this
    let bucket = 0
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++
    this.#counts[bucket]!++
    this.#sum += value
  }
}

/** `count` bounds from `minimum` to `maximum`, each the same multiple of the one before, to three significant digits. */
export function logBounds(minimum: number, maximum: number, count: number): number[] {
  return Array.from({ length: count }, (_, at) =>
    Number((minimum * (maximum / minimum) ** (at / (count - 1))).toPrecision(3)),
  )
}

/** `count` bounds from `first` on, each `factor` times the one before. */
export function powerBounds(first: number, factor: number, count: number): number[] {
  return Array.from({ length: count }, (_, at) => Number((first * factor ** at).toPrecision(12)))
}

/** 0, 0.05 to 1. */
export const shareBounds: readonly number[] = Array.from({ length: 21 }, (_, at) => at / 20)
