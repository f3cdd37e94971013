import { setImmediate as nextTurn } from 'node:timers/promises'
import type { PartitionRouter } from '@router/core'
import type { PromptReader } from '@router/prompt'
import type { Registry } from 'prom-client'
import type { Fleet } from '../fleet/fleet.js'
import type { HealthCauses } from '../fleet/health-causes.js'
import type { JsonRoute } from '../http/json-routes.js'
import type { OpenAiProxy } from '../proxy/openai-proxy.js'
import type { RequestFacts } from '../proxy/request-facts.js'
import { snakeCase } from '../snake-case.js'
import { BoundedLabels } from './bounded-labels.js'
import { EventMetrics } from './event-metrics.js'
import { type Metric, registryOf } from './metric.js'
import { RequestMetrics } from './request-metrics.js'
import { requestTimes } from './request-times.js'
import { RoutingMetrics } from './routing-metrics.js'
import { type Sizes, StateMetrics } from './state-metrics.js'
import { WorkerMetrics } from './worker-metrics.js'

/** Letters of a text that takes a millisecond or two to write. */
const longText = 65_536

/** What a process has that relays requests itself. */
export interface MetricsFront {
  readonly proxy: Pick<OpenAiProxy, 'inFlight' | 'stages' | 'sizes'>
  readonly reader: Pick<PromptReader, 'counters'>
  /** Of what is kept beside them, by name. */
  readonly sizes?: (() => Sizes) | undefined
}

export interface RouterMetricsOptions {
  readonly fleet: Fleet
  readonly causes: HealthCauses
  /** Router mode: in any but `kv` there are metrics of requests, and of how well the process is. */
  readonly mode: string
  /** Value of the label `router_id` that every series has. */
  readonly routerId: string
  /** In front of every name. Default none. */
  readonly prefix?: string | undefined
  /** Sizes of what is kept elsewhere, by name. */
  readonly sizes?: (() => Sizes) | undefined
  /** Monotonic, milliseconds. */
  readonly nowMs?: (() => number) | undefined
  /** Milliseconds since 1970. */
  readonly wallMs?: (() => number) | undefined
}

/**
 * The metrics of a router (host.md 15). A request costs a few additions; everything else is read when somebody scrapes. Call `finished`
 * for every request of the proxy that is over, and `tick` about once a second.
 */
export class RouterMetrics {
  /** Of what `text` gives. */
  readonly contentType: string
  readonly #options: RouterMetricsOptions
  readonly #nowMs: () => number
  readonly #models = new BoundedLabels()
  readonly #requests = new RequestMetrics()
  readonly #routing: RoutingMetrics | undefined
  readonly #workers: WorkerMetrics | undefined
  readonly #events: EventMetrics | undefined
  readonly #state: StateMetrics
  readonly #registry: Registry
  readonly #stopListening: () => void
  #front: MetricsFront | undefined

  constructor(options: RouterMetricsOptions) {
    const { fleet, causes, mode, routerId, prefix = '', wallMs = Date.now } = options
    this.#options = options
    this.#nowMs = options.nowMs ?? (() => performance.now())
    this.#state = new StateMetrics(fleet, causes, () => this.#front?.reader.counters())
    if (mode === 'kv') {
      this.#routing = new RoutingMetrics(this.#models)
      this.#workers = new WorkerMetrics(fleet, this.#models, () => this.#front?.proxy, this.#nowMs())
      this.#events = new EventMetrics(fleet, causes, this.#models, wallMs)
    }
    this.#stopListening = fleet.listen((selection, isFurtherTry, readingMs) => {
      if (!isFurtherTry) this.#requests.accepted(selection.measures.promptTokens, readingMs !== undefined)
      this.#routing?.delivered(selection, isFurtherTry, readingMs)
      if (mode === 'kv') this.#state.delivered(selection)
    })
    this.#registry = registryOf(this.#metrics(), prefix, { router_id: routerId })
    this.contentType = this.#registry.contentType
  }

  /** From now on the process relays requests. */
  attach(front: MetricsFront): void {
    this.#front = front
  }

  /** A request of the proxy is over. A few additions. */
  finished(facts: RequestFacts): void {
    const times = requestTimes(facts)
    this.#requests.finished(facts, times)
    this.#routing?.finished(facts)
    this.#workers?.finished(facts, times)
    this.#state.finished(facts)
  }

  /** Gathers what is counted elsewhere, so that it stays when its owner goes; audits the books once a minute. `O(workers)`. */
  tick(): void {
    this.#events?.gather()
    this.#workers?.tick(this.#nowMs())
  }

  /** Every series, as Prometheus reads it. `O(series)`; others get their turn after each metric that is long. */
  async text(): Promise<string> {
    this.tick()
    this.#workers?.look()
    const texts: string[] = []
    for (const { name } of this.#registry.getMetricsAsArray()) {
      const text = await this.#registry.getSingleMetricAsString(name)
      texts.push(text)
      if (text.length > longText) await nextTurn()
    }
    return `${texts.join('\n\n')}\n`
  }

  /** `GET /metrics`, open to whoever reaches the listener. */
  routes(): JsonRoute[] {
    const handle: JsonRoute['handle'] = async () => ({
      status: 200,
      body: null,
      text: { contentType: this.contentType, content: await this.text() },
    })
    return [{ method: 'GET', path: '/metrics', access: 'open', handle }]
  }

  /** Listens to nobody any more. */
  close(): void {
    this.#stopListening()
    this.#workers?.close()
    this.#events?.close()
  }

  #metrics(): Metric[] {
    const events = this.#events
    return [
      ...this.#requests.metrics(),
      ...this.#state.metrics(() => this.#sizes(), events && (() => events.lruFallbacks)),
      ...(events === undefined ? [] : this.#state.policyMetrics()),
      ...(this.#routing?.metrics() ?? []),
      ...(this.#workers?.metrics() ?? []),
      ...(events?.metrics() ?? []),
    ]
  }

  /** Everything bounded that the process keeps. */
  #sizes(): Sizes {
    const { fleet, causes, sizes } = this.#options
    const prompts = this.#front?.reader.counters()
    const proxy = Object.entries<number>({ ...this.#front?.proxy.sizes })
    return {
      ...fleetSizes(fleet),
      health_causes: causes.size,
      metric_models: this.#models.size,
      ...(this.#workers && { metric_workers: this.#workers.size }),
      ...this.#events?.sizes,
      ...Object.fromEntries(proxy.map(([name, size]) => [snakeCase(name), size])),
      ...(prompts && {
        prompt_conversations: prompts.conversations,
        prompt_folders: prompts.folders,
        prompt_models: prompts.models,
        prompts_waiting: prompts.waiting,
      }),
      ...this.#front?.sizes?.(),
      ...sizes?.(),
    }
  }
}

function fleetSizes({ workers, partitions, selectionCache }: Fleet): Sizes {
  const sum = (sizeOf: (router: PartitionRouter) => number): number =>
    partitions.reduce((total, { router }) => total + sizeOf(router), 0)
  return {
    workers: workers.size,
    partitions: partitions.length,
    selections: selectionCache.size,
    selections_bytes: selectionCache.bytes,
    bookings: sum(({ ledger }) => ledger.live),
    index_blocks: sum(({ index }) => index.currentSize),
    stray_ranks: partitions.reduce((total, { strays }) => total + strays.size, 0),
    stray_blocks: partitions.reduce((total, { strays }) => total + strays.blocks, 0),
    believed_blocks: sum(({ prefix }) => prefix.lifetime.size),
    content_chunks: sum(({ prefix }) => prefix.chunks.size),
    predicted_blocks: sum(({ prefix }) => prefix.predicted?.size ?? 0),
    lru_copies: sum(({ prefix }) => prefix.lru?.copiesInUse ?? 0),
    policy_warnings: sum(({ partition }) => partition.selector.rememberedWarnings),
  }
}
