const mask = (1n << 64n) - 1n

/** WyRand in 64-bit integers, as the formula is written. */
export class ReferenceRandom {
  #state: bigint

  constructor(seed: bigint) {
    this.#state = seed & mask
  }

  /** The state; a stream built from it continues here. */
  get state(): bigint {
    return this.#state
  }

  set state(state: bigint) {
    this.#state = state
  }

  next(): bigint {
    this.#state = (this.#state + 0x2d35_8dcc_aa6c_78a5n) & mask
    const product = this.#state * (this.#state ^ 0x8bb8_4b93_962e_acc9n)
    return (product & mask) ^ (product >> 64n)
  }

  /** Uniform in `[0, n)`, at least one draw. */
  below(n: number): number {
    const bound = BigInt(n)
    const threshold = (1n << 64n) % bound
    for (;;) {
      const product = this.next() * bound
      if ((product & mask) >= threshold) return Number(product >> 64n)
    }
  }

  /** Uniform in `[0, 1)`: 63 bits rounded once to a double. */
  unit(): number {
    for (;;) {
      const value = Number(this.next() >> 1n) / 2 ** 63
      if (value < 1) return value
    }
  }
}
