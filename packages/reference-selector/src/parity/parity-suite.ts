import fc from 'fast-check'
import {
  type MatrixCell,
  type SnapshotSequence,
  goldenPrefixes,
  matrixA,
  matrixB,
  matrixC,
  matrixSelections,
  pinPattern,
  sweep,
} from '../fixtures.js'
import { ReferenceSelector } from '../reference-selector.js'
import type { DefaultOptions, ReferenceOutcome, Snapshot } from '../snapshot.js'
import { caseArbitrary, optionsArbitrary, sequenceArbitrary } from './arbitraries.js'
import { ParityMismatch, requireSameExplanation, requireSameOutcome } from './compare.js'
import type { ParityImplementation } from './implementation.js'

/** The part of a test runner that the suite needs; vitest, jest and node:test fit. */
export interface TestRunner {
  readonly describe: (name: string, body: () => void) => unknown
  readonly it: (name: string, body: () => void) => unknown
}

export interface ParityOptions {
  /** Random cases, and half as many sequences. Default 1,000. */
  readonly runs?: number
  /** Seed of the random cases. Default 20,250. */
  readonly seed?: number
  /** False = report the first failing case as it was drawn, sooner. Default true. */
  readonly shrinks?: boolean
}

/** An oracle: what an implementation must do with the snapshots of one policy object. */
export interface Oracle {
  readonly select: (snapshot: Snapshot) => ReferenceOutcome
}

/**
 * Plays snapshots through one object of the implementation and one oracle, and compares every outcome. With an `explain`, each
 * new snapshot is explained first, which must change nothing.
 */
export function requireParity<O>(
  implementation: ParityImplementation<O>,
  oracle: Oracle,
  options: O,
  snapshots: readonly Snapshot[],
): void {
  const subject = implementation.create(options)
  snapshots.forEach((snapshot, selection) => {
    const context = { selection, options, snapshot }
    const isNew = snapshot !== snapshots[selection - 1]
    const explanation = isNew ? subject.explain?.(snapshot) : undefined
    const actual = subject.select(snapshot)
    const expected = oracle.select(snapshot)
    requireSameOutcome(expected, actual, context)
    if (explanation !== undefined) requireSameExplanation(expected, explanation, snapshot, context)
  })
}

/** Random cases and sequences of any policy family against its oracle. */
export function defineRandomParity<O>(
  runner: TestRunner,
  implementation: ParityImplementation<O>,
  oracleFor: (options: O) => Oracle,
  options: fc.Arbitrary<O>,
  { runs = 1000, seed = 20_250, shrinks = true }: ParityOptions = {},
): void {
  const { describe, it } = runner
  describe('random cases', () => {
    it('one snapshot, a few selections', () => {
      const property = fc.property(caseArbitrary(options), ({ options: drawn, snapshot, selections }) => {
        const snapshots = Array.from({ length: selections }, () => snapshot)
        requireParity(implementation, oracleFor(drawn), drawn, snapshots)
      })
      fc.assert(property, { numRuns: runs, seed, endOnFailure: !shrinks })
    })

    it('one policy object over fleets that grow and shrink', () => {
      const property = fc.property(sequenceArbitrary(options), ({ options: drawn, snapshots }) => {
        requireParity(implementation, oracleFor(drawn), drawn, snapshots)
      })
      fc.assert(property, { numRuns: Math.ceil(runs / 2), seed, endOnFailure: !shrinks })
    })

    it('rows and workers in any order', () => {
      const property = fc.property(caseArbitrary(options), ({ options: drawn, snapshot }) => {
        requireParity(implementation, oracleFor(drawn), drawn, [snapshot, reversed(snapshot), snapshot])
      })
      fc.assert(property, { numRuns: Math.ceil(runs / 5), seed, endOnFailure: !shrinks })
    })

    it('a reused object scores like a fresh one', () => {
      const property = fc.property(sequenceArbitrary(options), ({ options: drawn, snapshots }) => {
        const reused = implementation.create(drawn)
        for (const [selection, snapshot] of snapshots.entries()) {
          const outcome = reused.select(snapshot)
          const fresh = implementation.create(drawn).select(snapshot)
          const isSame = (outcome.costs ?? []).every((cost, row) => Object.is(cost, fresh.costs?.[row]))
          if (isSame && outcome.costs?.length === fresh.costs?.length) continue
          throw new ParityMismatch(`selection ${selection}: reused ${outcome.costs}, fresh ${fresh.costs}`)
        }
      })
      fc.assert(property, { numRuns: Math.ceil(runs / 5), seed, endOnFailure: !shrinks })
    })
  })
}

/** The same facts told in the opposite order. */
function reversed(snapshot: Snapshot): Snapshot {
  return { ...snapshot, workers: snapshot.workers.toReversed(), rows: snapshot.rows.toReversed() }
}

/**
 * Defines the parity suite of the default family: the golden prefixes, matrices A, B and C (also with rows in reverse order),
 * the sweep, the pin pattern, random cases and random sequences. Rows and cost bits (`Object.is`) are compared with
 * `ReferenceSelector`; a failure throws `ParityMismatch` and prints its case.
 */
export function defineParitySuite(
  runner: TestRunner,
  implementation: ParityImplementation,
  options: ParityOptions = {},
): void {
  const { describe, it } = runner
  const play = ({ options: drawn, snapshots }: Pick<SnapshotSequence, 'options' | 'snapshots'>): void =>
    requireParity(implementation, new ReferenceSelector(drawn), drawn, snapshots)

  describe('golden prefixes', () => {
    for (const { name, options: drawn, snapshots, picks } of goldenPrefixes()) {
      it(name, () => {
        const subject = implementation.create(drawn)
        const actual = snapshots.map((snapshot) => subject.select(snapshot).result?.workerId)
        if (actual.join() === picks.join()) return
        throw new ParityMismatch(`${name}: expected ${picks.join(' ')}, got ${actual.join(' ')}`)
      })
    }
  })

  const matrices: readonly (readonly [string, () => MatrixCell[]])[] = [
    ['A', matrixA],
    ['B', matrixB],
    ['C', matrixC],
  ]
  describe('matrices', () => {
    for (const [name, cells] of matrices) {
      const partOf = ({ temperature, promptTokens }: MatrixCell): string => `${temperature}/${promptTokens}`
      const all = cells()
      for (const part of new Set(all.map(partOf))) {
        it(`matrix ${name}, ${part}`, () => {
          for (const { options: drawn, snapshot } of all.filter((cell) => partOf(cell) === part)) {
            const backwards = reversed(snapshot)
            const snapshots = Array.from({ length: matrixSelections }, (_, selection) =>
              selection >= matrixSelections - 2 ? backwards : snapshot,
            )
            play({ options: drawn, snapshots })
          }
        })
      }
    }
  })

  describe('sequences', () => {
    for (const sequence of [...sweep(), pinPattern()]) it(sequence.name, () => play(sequence))
  })

  const oracleFor = (drawn: DefaultOptions): Oracle => new ReferenceSelector(drawn)
  defineRandomParity(runner, implementation, oracleFor, optionsArbitrary(), options)
}
