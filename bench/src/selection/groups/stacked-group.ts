import type { Body } from '../../harness/variant.js'
import { requestOf, selectorOver, standardFleet, tableOf } from '../fleet.js'
import { resolved, stackedPolicy } from '../policies.js'
import type { Group } from './group.js'

const stacks = [1, 2, 4]

function stackedBody(workers: number, scorers: number): Body {
  const fleet = standardFleet(workers)
  const selector = selectorOver(tableOf(fleet), resolved(stackedPolicy(scorers)))
  const request = requestOf(fleet)
  return () => selector.select(request).slot
}

const named = (scorers: number) => ({ name: `stacked/s${scorers}`, temperature: 0 })

/** What one more scorer costs. */
export const stackedGroup: Group = {
  name: 'stacked',
  title: 'stacked scorers: n plain load scorers weighted 1 to n, lowest sum',
  sizes: [8, 64, 1024, 4096],
  contest: (workers) => ({
    group: 'stacked',
    workers,
    ranks: 2,
    variants: stacks.map((scorers) => ({
      ...named(scorers),
      prepare: () => stackedBody(workers, scorers),
    })),
    comparisons: stacks.slice(1).map((scorers) => ({ of: named(scorers), to: named(1) })),
  }),
}
