import { defaultPolicy } from '@router/policy-default'
import type { PolicyDefinition } from '@router/sdk'
import type { Body, Variant } from '../../harness/variant.js'
import { hostFleet, requestOf, selectorOver, tableOf } from '../fleet.js'
import { resolved, stackedPolicy, wrappedPolicy } from '../policies.js'
import type { Group } from './group.js'

interface Case {
  readonly policy: PolicyDefinition
  readonly parameters?: Record<string, unknown>
  /** Taints that the request prefers by 0.5 each; even workers carry all of them. */
  readonly preferredTaints?: number
}

function hostBody(workers: number, { policy, parameters, preferredTaints = 0 }: Case): Body {
  const taints = Array.from({ length: preferredTaints }, (_, index) => `preferred-${index}`)
  const plain = hostFleet(workers)
  const fleet = {
    ...plain,
    workers: plain.workers.map((worker) => ({
      ...worker,
      taints: worker.workerId % 2n === 0n ? taints : [],
    })),
  }
  const selector = selectorOver(tableOf(fleet), resolved(policy, parameters), 'aggregated')
  const request = requestOf(fleet, { preferredTaints: taints.map((taint) => ({ taint, weight: 0.5 })) })
  return () => selector.select(request).slot
}

const variantOf = (workers: number, name: string, one: Case, temperature = 0): Variant => ({
  name,
  temperature,
  prepare: () => hostBody(workers, { ...one, parameters: { ...one.parameters, ...heated(temperature) } }),
})

function heated(temperature: number): Record<string, unknown> {
  return temperature === 0 ? {} : { router_temperature: temperature }
}

const cold = (name: string) => ({ name, temperature: 0 })
const ranks = 1
const decay = { overlap_score_credit_decay: 1 }

/** The host around the default policy, one rank a worker. */
export const hostGroup: Group = {
  name: 'host',
  title: 'host selection: one rank a worker, estimates only',
  sizes: [2, 32, 1024, 10_000],
  contest: (workers) => ({
    group: 'host',
    workers,
    ranks,
    variants: [
      ...[0, 0.7].flatMap((temperature) => [
        variantOf(workers, 'host/direct', { policy: defaultPolicy }, temperature),
        variantOf(workers, 'host/decay-1', { policy: defaultPolicy, parameters: decay }, temperature),
      ]),
      variantOf(workers, 'host/wrapped', { policy: wrappedPolicy(defaultPolicy) }),
    ],
    comparisons: [
      { of: cold('host/decay-1'), to: cold('host/direct') },
      { of: cold('host/wrapped'), to: cold('host/direct') },
    ],
  }),
}

const taintCounts = [0, 1, 4]

/** What filters and preferred taints add for a policy of one load scorer and for the default. */
export const customGroup: Group = {
  name: 'custom',
  title:
    'one load scorer: filters, preferred taints that nobody reads; and taints that the default policy reads',
  sizes: [10_000],
  contest: (workers) => ({
    group: 'custom',
    workers,
    ranks,
    variants: [
      variantOf(workers, 'custom/no-filter', { policy: stackedPolicy(1) }),
      variantOf(workers, 'custom/keep-all', { policy: stackedPolicy(1, true) }),
      ...taintCounts.flatMap((preferredTaints) => [
        variantOf(workers, `custom/unused-taints-${preferredTaints}`, {
          policy: stackedPolicy(1),
          preferredTaints,
        }),
        variantOf(workers, `custom/default-taints-${preferredTaints}`, {
          policy: defaultPolicy,
          preferredTaints,
        }),
      ]),
    ],
    comparisons: [
      { of: cold('custom/keep-all'), to: cold('custom/no-filter') },
      ...taintCounts.slice(1).flatMap((count) => [
        { of: cold(`custom/unused-taints-${count}`), to: cold('custom/unused-taints-0') },
        { of: cold(`custom/default-taints-${count}`), to: cold('custom/default-taints-0') },
      ]),
    ],
  }),
}
