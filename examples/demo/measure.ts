import type { Played } from './play.js'
import type { DemoPolicy } from './policies.js'
import type { Ceiling } from './prepare.js'
import type { RouterRates } from './router-rates.js'

/** What came of one policy on one workload. Rates are fractions. */
export interface Measured extends RouterRates {
  readonly policy: string
  readonly requests: number
  /** Cached of all prompt tokens, as the engines report. */
  readonly hitRate: number
  /** `hitRate` as a fraction of what a cache without an end would find. */
  readonly ofCeiling: number
  /** Real milliseconds. */
  readonly firstTokenP50Ms: number
  readonly firstTokenP95Ms: number
  /** Turns that went to another worker than the turn before, of those that had one before. */
  readonly movedTurns: number
  readonly resumedTurns: number
  /** Requests of the busiest worker, by the mean of all. */
  readonly busiestByMean: number
}

/** Sums up a run. */
export function measure(
  { name }: DemoPolicy,
  played: readonly Played[],
  rates: RouterRates,
  { promptTokens: ceilingPrompt, cachedTokens: ceilingCached }: Ceiling,
  workers: number,
): Measured {
  const answers = played.flat()
  const promptTokens = sumOf(answers.map((answer) => answer.promptTokens))
  if (promptTokens !== ceilingPrompt)
    throw new Error(`${name} was asked other prompts: ${promptTokens} tokens instead of ${ceilingPrompt}`)
  const hitRate = sumOf(answers.map(({ cachedTokens }) => cachedTokens)) / promptTokens
  const firstTokens = answers.map(({ firstTokenMs }) => firstTokenMs).toSorted((a, b) => a - b)
  const resumed = played.flatMap((turns) =>
    turns.slice(1).map(({ workerId }, at) => [turns[at]!.workerId, workerId]),
  )
  const perWorker = new Map<string | undefined, number>()
  for (const { workerId } of answers) perWorker.set(workerId, (perWorker.get(workerId) ?? 0) + 1)
  return {
    policy: name,
    requests: answers.length,
    hitRate,
    ofCeiling: hitRate / (ceilingCached / ceilingPrompt),
    ...rates,
    firstTokenP50Ms: quantile(firstTokens, 0.5),
    firstTokenP95Ms: quantile(firstTokens, 0.95),
    movedTurns: resumed.filter(([before, now]) => before !== now).length,
    resumedTurns: resumed.length,
    busiestByMean: (Math.max(...perWorker.values()) * workers) / answers.length,
  }
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

/** Nearest rank. */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!
}
