import { createHash } from 'node:crypto'
import { picksPerCell } from '../shapes/parity.js'
import { Checks } from './checks.js'
import { type RunState, cellKey, sweepKey } from './run-state.js'
import { type Failure, type FileReport } from './run.js'

const temperatures = [0, 0.7]
const prompts = [1, 17, 127, 2048]

/** A published digest over the picks of a whole set. */
interface GoldenSet {
  readonly name: string
  /** SHA-256 of the lines, each with a newline. */
  readonly digest: string
  /** Start of each line, and where its picks are. */
  readonly lines: readonly { readonly prefix: string; readonly key: string }[]
}

const modes = (from: number, to: number, step = 1): number[] =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step)

function matrix(name: string, role: string, ofModes: readonly number[], digest: string): GoldenSet {
  const lines = temperatures.flatMap((temperature) =>
    prompts.flatMap((prompt) =>
      ofModes.map((mode) => ({
        prefix: `${temperature}/${prompt}/${mode}:`,
        key: cellKey(role, temperature, prompt, mode),
      })),
    ),
  )
  return { name, digest, lines }
}

/** The sets whose digests are published. */
const goldenSets: readonly GoldenSet[] = [
  matrix(
    'matrix A',
    'prefill',
    modes(0, 31),
    'b48a57e34b9e7ffcb3e42665dac53aeef4f2dca0c2ed7a94469e35d90d5914b9',
  ),
  matrix(
    'matrix B',
    'prefill',
    modes(32, 63),
    'd02a1f44db7d0814f09f3a1a59379f76a4bfbdd7a483c1de8029b26e6413f7d0',
  ),
  matrix(
    'matrix C',
    'aggregated',
    modes(3, 63, 4),
    'fbef368a7ed0d6ae45f1c6539fe4ebc536f5f9392bcdaf37be3fb6f8642e541e',
  ),
  {
    name: 'sweep',
    digest: '6430212354fad45242379530ab683612a1f7f34ae5e3bfff54325002fbdfc82b',
    lines: ['prefill', 'decode'].flatMap((label) =>
      temperatures.map((temperature) => ({
        prefix: `${label}/${temperature}:`,
        key: sweepKey(label, temperature),
      })),
    ),
  },
]

/** Digest of a set from the picks of the shipped code; `undefined` when the run did not cover all of it. */
function digestOf(set: GoldenSet, state: RunState): string | undefined {
  const hash = createHash('sha256')
  for (const { prefix, key } of set.lines) {
    const picks = state.cells.get(key)
    if (picks?.length !== picksPerCell) return undefined
    hash.update(`${prefix}${picks.map((row) => `${row >> 1}.${row & 1}`).join(' ')}\n`)
  }
  return hash.digest('hex')
}

/** Compares the digest of every set that the run covered as a whole; `undefined` when it covered none. */
export function checkGoldenDigests(state: RunState): FileReport | undefined {
  const failures: Failure[] = []
  let covered = 0
  for (const set of goldenSets) {
    const digest = digestOf(set, state)
    if (digest === undefined) continue
    covered++
    const checks = new Checks()
    checks.equal('SHA-256', set.digest, digest)
    if (checks.mismatches.length > 0) failures.push({ name: set.name, mismatches: checks.mismatches })
  }
  if (covered === 0) return undefined
  const name = 'golden digests of the parity files'
  return { name, passed: covered - failures.length, failed: failures.length, failures, notCovered: [] }
}
