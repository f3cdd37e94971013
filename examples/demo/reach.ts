import type { Comparison } from './compare.js'
import { demoPolicies } from './policies.js'

/** Something that was to be reached. */
export interface Reach {
  readonly policy: string
  readonly what: string
  readonly isReached: boolean
}

/** What the policies that look at caches are to reach on sessions. */
const wanted = {
  ofCeiling: { events: 0.95, approximate: 0.92 },
  busiestByMean: 1.25,
  /** Between what the router believes and what engines report, of the latter. */
  rateDifference: 0.03,
}

/** What each policy reached. Balance and rates are asked of a router that hears events alone. */
export function reachOf({ policies }: Comparison): Reach[] {
  return policies.flatMap(({ policy, hitRate, ofCeiling, blockWeightedRate, busiestByMean }) => {
    if (blockWeightedRate === undefined) return []
    const { usesKvEvents } = demoPolicies.find(({ name }) => name === policy)!
    const share = usesKvEvents ? wanted.ofCeiling.events : wanted.ofCeiling.approximate
    const ceiling = {
      policy,
      what: `${percent(ofCeiling)} of the ceiling, wanted ${percent(share)}`,
      isReached: ofCeiling >= share,
    }
    if (!usesKvEvents) return [ceiling]
    const difference = Math.abs(blockWeightedRate / hitRate - 1)
    return [
      ceiling,
      {
        policy,
        what: `busiest / mean ${busiestByMean.toFixed(2)}, wanted at most ${wanted.busiestByMean}`,
        isReached: busiestByMean <= wanted.busiestByMean,
      },
      {
        policy,
        what: `rate by blocks ${percent(difference)} from that of the engines, wanted at most ${percent(wanted.rateDifference)}`,
        isReached: difference <= wanted.rateDifference,
      },
    ]
  })
}

/** One line each. */
export function reachLines(reach: readonly Reach[]): string {
  return reach
    .map(({ policy, what, isReached }) => `${isReached ? 'reached    ' : 'not reached'} ${policy}: ${what}`)
    .join('\n')
}

function percent(fraction: number): string {
  return `${(100 * fraction).toFixed(1)} %`
}
