import { type PromptCounters, promptCauses } from '@router/prompt'
import type { Fleet } from '../fleet/fleet.js'
import { type HealthCauses, healthCauseCodes } from '../fleet/health-causes.js'
import type { DeliveredSelection } from '../fleet/selection-measures.js'
import type { RequestFacts } from '../proxy/request-facts.js'
import { BoundedLabels } from './bounded-labels.js'
import { type Metric, byLabel } from './metric.js'

/** Sizes by the name of what is kept. */
export type Sizes = Readonly<Record<string, number>>

/** Hints with a child of their own: more than the router knows. */
const mostHints = 32

/** How well the process is: causes, sizes, fallbacks, hints, revisions. */
export class StateMetrics {
  readonly #fleet: Fleet
  readonly #causes: HealthCauses
  readonly #prompts: () => PromptCounters | undefined
  readonly #hints = new BoundedLabels(mostHints)
  readonly #ignoredHints = new Map<string, number>()
  #withoutEvents = 0
  #staleConnections = 0

  /** @param prompts absent = this process reads none */
  constructor(fleet: Fleet, causes: HealthCauses, prompts: () => PromptCounters | undefined) {
    this.#fleet = fleet
    this.#causes = causes
    this.#prompts = prompts
  }

  /** A selection goes to its rank. */
  delivered({ workerId }: DeliveredSelection): void {
    const { settings, workers } = this.#fleet
    if (settings.usesKvEvents !== false && workers.eventCounters(workerId) === undefined)
      this.#withoutEvents++
  }

  /** A request of the proxy is over. */
  finished({ freshTries, ignoredHints }: RequestFacts): void {
    this.#staleConnections += freshTries
    for (const hint of ignoredHints) {
      const label = this.#hints.of(hint)
      this.#ignoredHints.set(label, (this.#ignoredHints.get(label) ?? 0) + 1)
    }
  }

  /** @param lruFallbacks ranks that were to be kept by LRU; absent = no caches are looked at */
  metrics(sizes: () => Sizes, lruFallbacks: (() => number) | undefined): Metric[] {
    return [
      byLabel(
        'gauge',
        'router_degraded',
        'cause',
        'Where something is not well, by cause: 0 = nowhere',
        () => {
          const counts = new Map<string, number>(healthCauseCodes.map((code) => [code, 0]))
          for (const { code } of this.#causes.list()) counts.set(code, counts.get(code)! + 1)
          return counts
        },
      ),
      byLabel(
        'gauge',
        'router_state_entries',
        'map',
        'Entries of everything that is kept, each bounded; those that end in _bytes are bytes',
        () => Object.entries(sizes()),
      ),
      byLabel(
        'counter',
        'router_fallbacks_total',
        'cause',
        'Requests that were routed on less than could be known, by cause: prompts on content chunks, ranks without events; and further tries after a stale connection',
        () => this.#fallbacks(lruFallbacks),
      ),
      byLabel(
        'counter',
        'router_ignored_hints_total',
        'hint',
        'Hints of requests that nothing acted on',
        () => this.#ignoredHints,
      ),
    ]
  }

  /** What is known of policies alone. */
  policyMetrics(): Metric[] {
    const { core } = this.#fleet
    return [
      byLabel(
        'gauge',
        'router_policy_revision',
        'policy',
        'Revision of the parameters of a policy, from 1',
        () => core.policies().map(({ name, revision }) => [name, revision]),
      ),
      {
        type: 'counter',
        name: 'router_policy_patches_total',
        help: 'Changes of parameters while running',
        labels: ['policy', 'result'],
        read: () =>
          core.policies().map(({ name, revision }) => ({
            labels: { policy: name, result: 'applied' },
            value: revision - 1,
          })),
      },
    ]
  }

  #fallbacks(lruFallbacks: (() => number) | undefined): [string, number][] {
    const causes = this.#prompts()?.causes
    return [
      ...promptCauses.map((cause): [string, number] => [cause, causes?.[cause] ?? 0]),
      ['events_missing', this.#withoutEvents],
      ['stale_connection', this.#staleConnections],
      ...(lruFallbacks === undefined ? [] : [['lru_capacity_missing', lruFallbacks()] as [string, number]]),
    ]
  }
}
