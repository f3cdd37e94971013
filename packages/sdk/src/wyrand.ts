const incrementHigh = 0x2d358dcc
const incrementLow = 0xaa6c78a5
const maskHigh = 0x8bb84b93
const maskLow = 0x962eacc9
const two32 = 2 ** 32
const two63 = 2 ** 63
const exactBound = 2 ** 21

/**
 * The seeded random stream of every policy: WyRand with the constants of fastrand >= 2.4. State and output live in 32-bit
 * halves: nothing allocates but `next`, `state`, `belowU64` and a `below` beyond 2^21.
 * @source https://github.com/smol-rs/fastrand
 *
 * **Deviations** none in the numbers. `mark` and `rewind` are additions, and `state` stands for the crate's `get_seed`.
 */
export class WyRand {
  // Signed 32-bit halves, so that V8 keeps them as small integers.
  #high = 0
  #low = 0
  #outputHigh = 0
  #outputLow = 0
  #markHigh = 0
  #markLow = 0
  #markOutputHigh = 0
  #markOutputLow = 0

  /** `seed` is taken modulo 2^64. */
  constructor(seed: bigint) {
    this.#high = Number((seed >> 32n) & 0xffff_ffffn) | 0
    this.#low = Number(seed & 0xffff_ffffn) | 0
    this.mark()
  }

  /** Upper half of the last output, unsigned. */
  get high(): number {
    return this.#outputHigh >>> 0
  }

  /** Lower half of the last output, unsigned. */
  get low(): number {
    return this.#outputLow >>> 0
  }

  /** Draws one u64 into `high` and `low`. */
  step(): void {
    const sumLow = (this.#low >>> 0) + incrementLow
    const aLow = sumLow | 0
    const aHigh = (this.#high + incrementHigh + (sumLow >= two32 ? 1 : 0)) | 0
    this.#low = aLow
    this.#high = aHigh
    const bLow = aLow ^ maskLow
    const bHigh = aHigh ^ maskHigh
    // 64 x 64 -> 128 bits from 16-bit limbs: a = a3 a2 a1 a0, b likewise; columns are summed in doubles, exactly.
    const a0 = aLow & 0xffff
    const a1 = aLow >>> 16
    const a2 = aHigh & 0xffff
    const a3 = aHigh >>> 16
    const b0 = bLow & 0xffff
    const b1 = bLow >>> 16
    const b2 = bHigh & 0xffff
    const b3 = bHigh >>> 16
    const c0 = a0 * b0
    const c1 = a0 * b1 + a1 * b0 + (c0 >>> 16)
    const c2 = a0 * b2 + a1 * b1 + a2 * b0 + Math.floor(c1 / 0x10000)
    const c3 = a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0 + Math.floor(c2 / 0x10000)
    const c4 = a1 * b3 + a2 * b2 + a3 * b1 + Math.floor(c3 / 0x10000)
    const c5 = a2 * b3 + a3 * b2 + Math.floor(c4 / 0x10000)
    const c6 = a3 * b3 + Math.floor(c5 / 0x10000)
    const c7 = Math.floor(c6 / 0x10000)
    const word0 = (c0 & 0xffff) | ((c1 & 0xffff) << 16)
    const word1 = (c2 & 0xffff) | ((c3 & 0xffff) << 16)
    const word2 = (c4 & 0xffff) | ((c5 & 0xffff) << 16)
    const word3 = (c6 & 0xffff) | (c7 << 16)
    this.#outputLow = word0 ^ word2
    this.#outputHigh = word1 ^ word3
  }

  /** Draws one u64. Allocates; hot paths use `step`, `below` or `unit`. */
  next(): bigint {
    this.step()
    return (BigInt(this.high) << 32n) | BigInt(this.low)
  }

  /**
   * Uniform integer in `[0, n)` for a safe integer `n >= 1`, anything else is a `RangeError`. Draws at least once, also for
   * `n = 1`. Allocates nothing for `n` up to 2^21.
   */
  below(n: number): number {
    if (!(Number.isSafeInteger(n) && n >= 1))
      throw new RangeError(`below(n) takes a safe integer >= 1, got ${n}`)
    if (n > exactBound) return Number(this.belowU64(BigInt(n)))
    for (;;) {
      this.step()
      // value x n = quotient x 2^64 + (middle, bottom), exact in doubles for n <= 2^21.
      const lowProduct = this.low * n
      const carry = Math.floor(lowProduct / two32)
      const middle = this.high * n + carry
      const quotient = Math.floor(middle / two32)
      const remainderHigh = middle - quotient * two32
      if (remainderHigh !== 0) return quotient
      const remainderLow = lowProduct - carry * two32
      if (remainderLow >= n) return quotient
      const remainder32 = two32 % n
      if (remainderLow >= (remainder32 * remainder32) % n) return quotient
    }
  }

  /** `below` for any u64 `n >= 1`: the same draws, the same results. Allocates. */
  belowU64(n: bigint): bigint {
    if (n < 1n || n >= 1n << 64n) throw new RangeError(`belowU64(n) takes 1 <= n < 2^64, got ${n}`)
    const threshold = (1n << 64n) % n
    for (;;) {
      const product = this.next() * n
      const low = product & 0xffff_ffff_ffff_ffffn
      if (low >= n || low >= threshold) return product >> 64n
    }
  }

  /** Uniform double in `[0, 1)`: 63 bits of one draw, rounded once; a result of exactly 1 is drawn again. */
  unit(): number {
    for (;;) {
      this.step()
      const value = ((this.high >>> 1) * two32 + ((this.high & 1) * 2 ** 31 + (this.low >>> 1))) / two63
      if (value !== 1) return value
    }
  }

  /** Remembers position and last output for `rewind`. The host calls both around a query. */
  mark(): void {
    this.#markHigh = this.#high
    this.#markLow = this.#low
    this.#markOutputHigh = this.#outputHigh
    this.#markOutputLow = this.#outputLow
  }

  /** Returns to the last `mark`; without one, to the seed. */
  rewind(): void {
    this.#high = this.#markHigh
    this.#low = this.#markLow
    this.#outputHigh = this.#markOutputHigh
    this.#outputLow = this.#markOutputLow
  }

  /** The position as a u64; `new WyRand(state)` continues the stream from here. */
  get state(): bigint {
    return (BigInt(this.#high >>> 0) << 32n) | BigInt(this.#low >>> 0)
  }
}
