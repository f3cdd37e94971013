import type { AllocationCheck } from '../harness/allocation.js'
import type { Measurement } from '../harness/contest-run.js'
import { median, quantile } from '../harness/statistics.js'
import type { Effort } from '../harness/timing.js'
import { type Comparison, type Contest, type VariantName, isSame } from '../harness/variant.js'
import type { Machine } from '../machine.js'
import type { ReachedFigure } from './reach.js'

/** One variant at one size. */
export interface ResultRow {
  readonly group: string
  readonly workers: number
  /** Ranks of each worker. */
  readonly ranks: number
  readonly temperature: number
  readonly variant: string
  /** Nanoseconds a selection: median over the rounds, as the next two. */
  readonly p50Ns: number
  readonly p99Ns: number
  readonly bytesPerSelection: number
}

/** `variant` divided by `base`, by p50. */
export interface ResultRatio {
  readonly group: string
  readonly workers: number
  readonly variant: string
  readonly temperature: number
  readonly base: string
  readonly baseTemperature: number
  /** Median over the rounds of the ratio within a round, so that drift of the machine cancels out. */
  readonly ratio: number
  /** Half of the rounds lie between these. */
  readonly lowerQuartile: number
  readonly upperQuartile: number
}

/** What `--json` writes. */
export interface SelectionReport {
  readonly name: 'selection'
  readonly recordedAt: string
  readonly machine: Machine
  readonly effort: Effort
  /** Whether every variant and round had a process of its own. */
  readonly isIsolated: boolean
  readonly allocationMethod: readonly AllocationCheck[]
  /** Code of the floor, as it ran. */
  readonly floor: string
  readonly rows: readonly ResultRow[]
  readonly ratios: readonly ResultRatio[]
  readonly reach: readonly ReachedFigure[]
}

/** Rows of a contest, in its order. */
export function rowsOf(
  { group, workers, ranks }: Contest,
  measurements: readonly Measurement[],
): ResultRow[] {
  return measurements.map(({ variant, rounds }) => ({
    group,
    workers,
    ranks,
    temperature: variant.temperature,
    variant: variant.name,
    p50Ns: rounded(median(rounds.map(({ p50Ns }) => p50Ns))),
    p99Ns: rounded(median(rounds.map(({ p99Ns }) => p99Ns))),
    bytesPerSelection: rounded(median(rounds.map(({ bytes }) => bytes))),
  }))
}

/** Its comparisons, as far as both sides were measured. */
export function ratiosOf(contest: Contest, measurements: readonly Measurement[]): ResultRatio[] {
  const find = (name: VariantName): Measurement | undefined =>
    measurements.find(({ variant }) => isSame(variant, name))
  return contest.comparisons.flatMap(({ of, to }) => {
    const [variant, base] = [find(of), find(to)]
    return variant === undefined || base === undefined ? [] : [ratio(contest, { of, to }, variant, base)]
  })
}

function ratio(
  { group, workers }: Contest,
  { of, to }: Comparison,
  variant: Measurement,
  base: Measurement,
): ResultRatio {
  const byRound = variant.rounds.map(({ p50Ns }, round) => p50Ns / base.rounds[round]!.p50Ns)
  return {
    group,
    workers,
    variant: of.name,
    temperature: of.temperature,
    base: to.name,
    baseTemperature: to.temperature,
    ratio: rounded(median(byRound)),
    lowerQuartile: rounded(quantile(byRound, 0.25)),
    upperQuartile: rounded(quantile(byRound, 0.75)),
  }
}

/** Four significant digits are more than any machine repeats; small ones keep two decimals. */
function rounded(value: number): number {
  return Math.abs(value) < 100 ? Math.round(value * 1000) / 1000 : Math.round(value * 10) / 10
}
