import { WyRand } from '../../src/wyrand.js'

/** A stream whose draws are given; counts how many were taken and throws when they run out. */
export class ScriptedStream extends WyRand {
  draws = 0
  readonly #values: readonly bigint[]

  constructor(values: readonly bigint[]) {
    super(0n)
    this.#values = values
  }

  override step(): void {
    if (this.draws >= this.#values.length)
      throw new Error(`draw ${this.draws + 1} of a script of ${this.draws}`)
    this.draws++
  }

  override get high(): number {
    return Number(this.#values[this.draws - 1]! >> 32n)
  }

  override get low(): number {
    return Number(this.#values[this.draws - 1]! & 0xffff_ffffn)
  }
}

/** A draw from which `unit` gives exactly `uniform`, a multiple of 2^-63 below 1. */
export function drawOfUnit(uniform: number): bigint {
  return BigInt(uniform * 2 ** 63) << 1n
}
