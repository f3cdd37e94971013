import { oneDrawIndex, oneDrawUniform, pickMinimumCost, WyRand } from '@router/sdk'
import { type RngLine, rngLine } from '../shapes/rng.js'
import type { Checks } from './checks.js'
import { defineFamily } from './family.js'
import { kindsOf } from './kinds.js'
import { permutations } from './permutations.js'

/** The random stream, with the position of the stream after each call. */
export const rngFamily = defineFamily({
  name: 'rng',
  recognises: kindsOf(rngLine),
  covers: '@router/sdk',
  schema: rngLine,
  evaluate: (line, checks) => evaluators[line.kind](line as never, checks),
})

type Evaluators = { [K in RngLine['kind']]: (line: Extract<RngLine, { kind: K }>, checks: Checks) => void }

const evaluators: Evaluators = {
  next: ({ seed, values }, checks) => {
    const random = new WyRand(BigInt(seed))
    checks.list(
      'values',
      values.map(BigInt),
      values.map(() => random.next()),
    )
  },
  below: ({ seed, n, values, drawsUsed }, checks) => {
    const random = new Counted(seed)
    checks.list(
      'values',
      values,
      values.map(() => random.stream.below(n)),
    )
    checks.equal('drawsUsed', drawsUsed, random.taken())
    checks.within('as a u64', () => belowU64(seed, BigInt(n), values.map(BigInt), drawsUsed, checks))
  },
  'below-u64': ({ seed, n, values, drawsUsed }, checks) => {
    belowU64(seed, BigInt(n), values.map(BigInt), drawsUsed, checks)
  },
  unit: ({ seed, values }, checks) => {
    const random = new WyRand(BigInt(seed))
    checks.list(
      'values',
      values,
      values.map(() => random.unit()),
      { signOfZero: true },
    )
  },
  'one-draw': ({ seed, tieCount, indexes, uniforms }, checks) => {
    const random = new WyRand(BigInt(seed))
    const draws = uniforms.map(() => {
      random.step()
      return { index: oneDrawIndex(random, tieCount), uniform: oneDrawUniform(random) }
    })
    checks.list(
      'indexes',
      indexes,
      draws.map((draw) => draw.index),
    )
    checks.list(
      'uniforms',
      uniforms,
      draws.map((draw) => draw.uniform),
      { signOfZero: true },
    )
  },
  reservoir: ({ seed, costs, picks, drawsPerPick }, checks) => {
    const count = costs.length
    for (const { name, rowOf, canonicalRows } of permutations(count)) {
      const random = new Counted(seed)
      const column = Float64Array.from(rowOf, (canonical) => costs[canonical]!)
      const taken: number[] = []
      const picked = picks.map(() => {
        const row = pickMinimumCost(column, count, canonicalRows, random.stream)
        taken.push(random.taken())
        return rowOf[row]
      })
      checks.within(name, () => {
        checks.list('picks', picks, picked)
        checks.list('drawsPerPick', drawsPerPick, taken)
      })
    }
  },
}

function belowU64(
  seed: string,
  n: bigint,
  values: readonly bigint[],
  drawsUsed: number,
  checks: Checks,
): void {
  const random = new Counted(seed)
  checks.list(
    'values',
    values,
    values.map(() => random.stream.belowU64(n)),
  )
  checks.equal('drawsUsed', drawsUsed, random.taken())
}

/** A stream, and a second one that follows it step by step to count. */
class Counted {
  readonly stream: WyRand
  readonly #follower: WyRand
  constructor(seed: string) {
    this.stream = new WyRand(BigInt(seed))
    this.#follower = new WyRand(BigInt(seed))
  }
  /** Outputs taken from the stream since the last call; NaN when it cannot be followed. */
  taken(): number {
    for (let steps = 0; steps <= 1_000_000; steps++) {
      if (this.#follower.state === this.stream.state) return steps
      this.#follower.step()
    }
    return Number.NaN
  }
}
