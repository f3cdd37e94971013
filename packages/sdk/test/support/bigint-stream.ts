const mask64 = 2n ** 64n - 1n

/** WyRand written down from its definition, in plain bigints: the oracle of the implementation in halves. */
export class BigintStream {
  #state: bigint

  constructor(seed: bigint) {
    this.#state = seed & mask64
  }

  next(): bigint {
    this.#state = (this.#state + 0x2d358dccaa6c78a5n) & mask64
    const product = this.#state * (this.#state ^ 0x8bb84b93962eacc9n)
    return (product & mask64) ^ (product >> 64n)
  }

  below(n: bigint): bigint {
    return belowFrom(() => this.next(), n)
  }

  unit(): number {
    return unitFrom(() => this.next())
  }
}

/** Uniform integer in `[0, n)` from a source of u64 draws. */
export function belowFrom(next: () => bigint, n: bigint): bigint {
  let product = next() * n
  if ((product & mask64) < n) {
    const threshold = 2n ** 64n % n
    while ((product & mask64) < threshold) product = next() * n
  }
  return product >> 64n
}

/** Uniform double in `[0, 1)` from a source of u64 draws; `Number(bigint)` rounds once, to nearest even. */
export function unitFrom(next: () => bigint): number {
  for (;;) {
    const value = Number(next() >> 1n) / 2 ** 63
    if (value !== 1) return value
  }
}
