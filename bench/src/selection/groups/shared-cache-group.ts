import { defaultPolicy } from '@router/policy-default'
import { withoutTierMatches } from '@router/reference-selector'
import { sharedHitsFrom } from '@router/sdk'
import type { Body } from '../../harness/variant.js'
import { requestOf, selectorOver, standardFleet, tableOf } from '../fleet.js'
import { resolved } from '../policies.js'
import type { Group } from './group.js'

const cases = [false, true].flatMap((hasTiers) =>
  [1, 5, 32].flatMap((ranges) => [0, 0.6].map((credit) => ({ hasTiers, ranges, credit }))),
)
type Case = (typeof cases)[number]

function sharedBody(workers: number, { hasTiers, ranges, credit }: Case): Body {
  const standard = standardFleet(workers)
  const fleet = hasTiers ? standard : withoutTierMatches(standard)
  const parameters = { overlap_score_credit_decay: 0.6, shared_cache_multiplier: credit }
  const selector = selectorOver(tableOf(fleet), resolved(defaultPolicy, parameters))
  const hits = Array.from({ length: ranges }, (_, index) => [4 * index, 4 * index + 2] as const)
  const request = requestOf(fleet, { sharedHits: sharedHitsFrom(hits) })
  return () => selector.select(request).slot
}

const named = ({ hasTiers, ranges, credit }: Case) => ({
  name: `shared-cache/tiers-${hasTiers}/ranges-${ranges}/credit-${credit}`,
  temperature: 0,
})

/** Prompts of which a shared cache holds some ranges of blocks. */
export const sharedCacheGroup: Group = {
  name: 'shared-cache',
  title: 'shared cache: ranges [4i, 4i + 2) of blocks, decay 0.6; credit = shared_cache_multiplier',
  sizes: [8, 1024, 4096],
  contest: (workers) => ({
    group: 'shared-cache',
    workers,
    ranks: 2,
    variants: cases.map((one) => ({ ...named(one), prepare: () => sharedBody(workers, one) })),
    comparisons: [],
  }),
}
