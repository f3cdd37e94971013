import type { RankLoad } from '@router/core'
import type { Fleet } from '../fleet/fleet.js'
import type { WorkerView } from '../fleet/worker-registration.js'
import { type RequestStage, requestStages } from '../proxy/proxy-state.js'
import type { RequestFacts } from '../proxy/request-facts.js'
import type { BoundedLabels } from './bounded-labels.js'
import { LastingSums } from './lasting-sums.js'
import { type Child, type Metric, byLabel, single } from './metric.js'
import type { RequestTimes } from './request-times.js'
import { type LastRequest, WorkerTraces } from './worker-traces.js'

/** How many requests are in flight, and where. */
export interface RequestsInFlight {
  readonly inFlight: number
  readonly stages: Readonly<Record<RequestStage, number>>
}

interface Rank {
  readonly labels: Readonly<Record<'worker_id' | 'dp_rank' | 'worker_type', string>>
  readonly load: RankLoad
  readonly last: LastRequest | undefined
}

type WorkerState = 'available' | 'excluded' | 'pending'

/** Between two looks at the books. */
const auditEveryMs = 60_000

/** Workers, their ranks and their books. Series of a worker end with it. */
export class WorkerMetrics {
  readonly #fleet: Fleet
  readonly #models: BoundedLabels
  readonly #requests: () => RequestsInFlight | undefined
  readonly #traces = new WorkerTraces()
  readonly #expired = new LastingSums<{ readonly expired: number }>(({ expired }) => [['expired', expired]])
  readonly #stopListening: () => void
  #views: readonly WorkerView[] = []
  #ranks: readonly Rank[] = []
  #violations = 0
  #auditedMs: number

  /** @param requests absent = this process relays none */
  constructor(
    fleet: Fleet,
    models: BoundedLabels,
    requests: () => RequestsInFlight | undefined,
    nowMs: number,
  ) {
    this.#fleet = fleet
    this.#models = models
    this.#requests = requests
    this.#auditedMs = nowMs
    const { workers } = fleet
    this.#stopListening = workers.listen({
      onUpsert: (view) => this.#traces.follow(view),
      onRemove: (workerId) => this.#traces.forget(workerId),
      onRestart: (workerId) => this.#traces.restarted(workerId),
    })
    for (const view of workers.list()) this.#traces.follow(view)
  }

  /** Workers of which something is kept. */
  get size(): number {
    return this.#traces.size
  }

  /** A request of the proxy is over. */
  finished({ workerId, dpRank, promptTokens, ending }: RequestFacts, times: RequestTimes): void {
    if (workerId === undefined || dpRank === undefined || ending !== 'answered') return
    const last = this.#traces.lastToWrite(workerId, dpRank)
    if (last === undefined) return
    const { firstTokenSeconds, betweenTokensSeconds } = times
    if (promptTokens !== undefined) last.inputTokens = promptTokens
    if (firstTokenSeconds !== undefined) last.firstTokenSeconds = firstTokenSeconds
    if (betweenTokensSeconds !== undefined) last.betweenTokensSeconds = betweenTokensSeconds
  }

  /** Gathers what the books counted, and looks at all of them once a minute. */
  tick(nowMs: number): void {
    const ledgers = this.#fleet.partitions.map(({ router }) => router.ledger)
    this.#expired.gather(ledgers)
    if (nowMs - this.#auditedMs < auditEveryMs) return
    this.#auditedMs = nowMs
    for (const ledger of ledgers) this.#violations += ledger.audit().length
  }

  /** Takes down how workers and ranks are, for the scrape that comes. `O(ranks)`. */
  look(): void {
    this.#views = this.#fleet.workers.list()
    this.#ranks = this.#readRanks()
  }

  close(): void {
    this.#stopListening()
  }

  metrics(): Metric[] {
    return [...this.#rankMetrics(), ...this.#workerMetrics(), ...this.#modelMetrics(), ...this.#bookMetrics()]
  }

  #rankMetrics(): Metric[] {
    const gauge = (name: string, help: string, valueOf: (rank: Rank) => number | undefined): Metric => ({
      type: 'gauge',
      name: `router_worker_${name}`,
      help,
      labels: ['worker_id', 'dp_rank', 'worker_type'],
      read: () =>
        this.#ranks.flatMap((rank): Child[] => {
          const value = valueOf(rank) ?? Number.NaN
          return Number.isNaN(value) ? [] : [{ labels: rank.labels, value }]
        }),
    })
    const last = 'of the last request of the rank that was answered whole'
    return [
      gauge('active_decode_blocks', 'Blocks of the requests in flight', ({ load }) => load.activeBlocks),
      gauge('active_prefill_tokens', 'Tokens in prefill', ({ load }) => load.activePrefillTokens),
      gauge(
        'last_time_to_first_token_seconds',
        `Time to the first byte, ${last} as a stream`,
        (rank) => rank.last?.firstTokenSeconds,
      ),
      gauge('last_input_sequence_tokens', `Tokens of the prompt, ${last}`, (rank) => rank.last?.inputTokens),
      gauge(
        'last_inter_token_latency_seconds',
        `Mean time between tokens, ${last} as a stream`,
        (rank) => rank.last?.betweenTokensSeconds,
      ),
    ]
  }

  #workerMetrics(): Metric[] {
    return [
      byLabel(
        'gauge',
        'router_workers',
        'state',
        'Workers: available = takes requests, excluded = complete but takes none, pending = its record lacks something',
        () => {
          const counts = { available: 0, excluded: 0, pending: 0 }
          for (const view of this.#views) counts[stateOf(view)]++
          return Object.entries(counts)
        },
      ),
      {
        type: 'gauge',
        name: 'router_worker_state',
        help: 'Workers by state and why; one that has several reasons counts for each',
        labels: ['state', 'reason'],
        read: () => countedStates(this.#views),
      },
      byLabel('gauge', 'router_worker_registered', 'worker_id', 'Workers that there are, 1 each', () =>
        this.#views.map(({ registration }) => [String(registration.workerId), 1]),
      ),
      byLabel(
        'counter',
        'router_worker_incarnations_total',
        'worker_id',
        'Processes of the engine that were seen, the first one included',
        () =>
          this.#views.map(({ registration: { workerId } }) => [
            String(workerId),
            this.#traces.livesOf(workerId) ?? 1,
          ]),
      ),
    ]
  }

  #modelMetrics(): Metric[] {
    const gauge = (name: string, help: string, valueOf: (view: WorkerView) => number | undefined): Metric =>
      byLabel('gauge', `router_model_${name}`, 'model', `${help}; the largest that a worker says`, () => {
        const largest = new Map<string, number>()
        for (const view of this.#views) {
          const value = valueOf(view)
          if (view.lifecycle === 'incomplete' || value === undefined || value === 0) continue
          const model = this.#models.of(view.registration.modelName ?? 'default')
          largest.set(model, Math.max(value, largest.get(model) ?? 0))
        }
        return largest
      })
    return [
      gauge('total_kv_blocks', 'KV blocks of a rank', ({ registration }) => registration.totalKvBlocks),
      gauge(
        'max_num_seqs',
        'Requests that a rank runs at a time',
        ({ registration }) => registration.maxNumSeqs,
      ),
      gauge(
        'max_num_batched_tokens',
        'Tokens that a rank takes in one pass',
        ({ registration }) => registration.maxNumBatchedTokens,
      ),
      gauge('context_length', 'Tokens of prompt and answer', ({ registration, facts }) => {
        const { modelName = 'default' } = registration
        return facts?.models.find(({ id }) => id === modelName)?.maxModelLen
      }),
      gauge('kv_cache_block_size', 'Tokens of a block', ({ registration }) => registration.blockSize),
      byLabel(
        'gauge',
        'router_model_migration_limit',
        'model',
        'How often a stream may be moved: never',
        () => new Map(this.#fleet.partitions.map(({ name }) => [this.#models.of(name.model), 0])),
      ),
    ]
  }

  #bookMetrics(): Metric[] {
    const live = (): number => this.#fleet.partitions.reduce((sum, { router }) => sum + router.ledger.live, 0)
    return [
      single(
        'gauge',
        'router_active_requests',
        'Requests of the proxy in flight; without a proxy, live bookings',
        () => this.#requests()?.inFlight ?? live(),
      ),
      {
        type: 'gauge',
        name: 'router_stage_requests',
        help: 'Requests of the proxy by where they are: preprocess = the body comes and is read, route = waits for a worker, dispatch = no byte of the answer yet, relay = the answer passes',
        labels: ['stage', 'phase'],
        read: () => {
          const stages = this.#requests()?.stages
          return requestStages.map((stage) => ({
            labels: { stage, phase: 'aggregated' },
            value: stages?.[stage] ?? 0,
          }))
        },
      },
      single(
        'counter',
        'router_bookings_expired_total',
        'Bookings that nobody freed, and that went for want of a sign of life',
        () => this.#expired.get('expired'),
      ),
      single(
        'counter',
        'router_ledger_violations_total',
        'Counts of the books that were not what the live bookings give, looked at each minute: more than 0 is a fault of the router',
        () => this.#violations,
      ),
    ]
  }

  #readRanks(): Rank[] {
    return this.#fleet.partitions.flatMap(({ name, router }) => {
      const { table } = router.partition
      table.settle()
      return Array.from({ length: table.count }, (_, row) => {
        const { workerId } = table.workers[table.workerOfRow[row]!]!
        const dpRank = table.columns.views.identity!.dpRank[row]!
        return {
          labels: { worker_id: String(workerId), dp_rank: String(dpRank), worker_type: name.role },
          load: router.ledger.loadOf(table.slotOfRow[row]!),
          last: this.#traces.lastOf(workerId, dpRank),
        }
      })
    })
  }
}

function stateOf({ lifecycle }: WorkerView): WorkerState {
  if (lifecycle === 'incomplete') return 'pending'
  return lifecycle === 'schedulable' ? 'available' : 'excluded'
}

function reasonsOf({ lifecycle, hindrances }: WorkerView): readonly string[] {
  if (lifecycle === 'schedulable') return ['none']
  if (lifecycle === 'draining') return ['draining']
  const codes = [...new Set(hindrances.map(({ code }) => code))]
  return codes.length > 0 ? codes : [lifecycle]
}

function countedStates(views: readonly WorkerView[]): Child[] {
  const counts = new Map<string, { readonly labels: { state: string; reason: string }; value: number }>()
  for (const view of views) {
    const state = stateOf(view)
    for (const reason of reasonsOf(view)) {
      const key = `${state} ${reason}`
      const known = counts.get(key)
      if (known === undefined) counts.set(key, { labels: { state, reason }, value: 1 })
      else known.value++
    }
  }
  return [...counts.values()]
}
