import type { Effort } from './timing.js'
import type { VariantFigures } from './variant-figures.js'
import type { Contest, Variant } from './variant.js'

/** Measures a variant once: in this process, or in a new one. */
export type Launch = (contest: Contest, variant: Variant, effort: Effort) => Promise<VariantFigures>

/** What one variant of a contest came to. */
export interface Measurement {
  readonly variant: Variant
  /** One entry a round. The variants ran in turns, so equal indexes are neighbours in time. */
  readonly rounds: readonly VariantFigures[]
}

/** Measures the variants of a contest in turns: A B C, A B C, ... `onStep` is told before each. */
export async function runContest(
  contest: Contest,
  effort: Effort,
  launch: Launch,
  onStep: (what: string) => void,
): Promise<Measurement[]> {
  const measured = contest.variants.map((variant) => ({ variant, rounds: [] as VariantFigures[] }))
  const rounds = effort.rounds * (contest.roundsFactor ?? 1)
  for (let round = 1; round <= rounds; round++) {
    for (const entry of measured) {
      onStep(`round ${round} of ${rounds}, ${entry.variant.name}`)
      entry.rounds.push(await launch(contest, entry.variant, effort))
    }
  }
  return measured
}
