import type { WorkerRole } from '@router/sdk'
import type { DeliveredSelection, SelectionMeasures } from '../fleet/selection-measures.js'
import type { RequestFacts } from '../proxy/request-facts.js'
import type { BoundedLabels } from './bounded-labels.js'
import { Distribution, powerBounds, shareBounds } from './distribution.js'
import { type Child, type Metric, histogram, single } from './metric.js'

const computeBounds = powerBounds(0.001, 2, 15)
const waitBounds = powerBounds(0.01, 3, 17)

/** Tokens of the prompts of one phase and model, as they were predicted and as they came. */
interface Funnel {
  readonly labels: { readonly phase: string; readonly model: string }
  best: number
  selected: number
  reused: number
}

/** Selections below the best, of the routers of one worker type. */
class NonMaxObserver {
  selections = 0
  readonly lost = new Distribution(powerBounds(0.25, 2, 16))

  observe({ isPinned, overlapBlocks, bestOverlapBlocks }: SelectionMeasures): void {
    // An unknown overlap is below nothing.
    if (isPinned || overlapBlocks === undefined || overlapBlocks >= bestOverlapBlocks) return
    this.selections++
    this.lost.observe(bestOverlapBlocks - overlapBlocks)
  }
}

/** What selections by caches are worth and what they cost. Nothing here is asked of a query or a failure. */
export class RoutingMetrics {
  readonly #models: BoundedLabels
  readonly #hitRate = new Distribution(shareBounds)
  #overlapBlocks = 0
  #requestBlocks = 0
  /** Upstream calls the type of aggregated routers `decode`, here alone; those of decode pools have no observer. */
  readonly #nonMax = { prefill: new NonMaxObserver(), decode: new NonMaxObserver() }
  // By model, or `other`: bounded by the models that have labels.
  readonly #funnels: Readonly<Record<WorkerRole, Map<string, Funnel>>> = {
    aggregated: new Map(),
    prefill: new Map(),
    decode: new Map(),
    encode: new Map(),
  }
  readonly #blockHashing = new Distribution(computeBounds)
  readonly #sequenceHashing = new Distribution(computeBounds)
  readonly #matching = new Distribution(computeBounds)
  readonly #scheduling = new Distribution(waitBounds)
  readonly #sharedQuery = new Distribution(waitBounds)
  readonly #total = new Distribution(waitBounds)

  /** @param models labels of models */
  constructor(models: BoundedLabels) {
    this.#models = models
  }

  /** A selection goes to its rank. See `SelectionListener`. */
  delivered({ partition, measures }: DeliveredSelection, isFurtherTry: boolean, readingMs = 0): void {
    const { name, router } = partition
    const { promptTokens, requestBlocks, overlapBlocks, bestOverlapBlocks } = measures
    if (!isFurtherTry) this.#observeCost(measures, readingMs)
    if (name.role === 'aggregated') this.#nonMax.decode.observe(measures)
    else if (name.role === 'prefill') this.#nonMax.prefill.observe(measures)
    const tokensOf = (blocks: number): number => Math.min(promptTokens, Math.round(blocks * router.blockSize))
    const funnel = this.#funnelOf(name.role, name.model)
    funnel.best += tokensOf(bestOverlapBlocks)
    if (overlapBlocks === undefined) return
    funnel.selected += tokensOf(overlapBlocks)
    // Without blocks none, and left out.
    this.#hitRate.observe(overlapBlocks / requestBlocks)
    this.#overlapBlocks += overlapBlocks
    this.#requestBlocks += requestBlocks
  }

  /** A request of the proxy is over. */
  finished({ model, usage }: RequestFacts): void {
    if (model !== undefined && usage?.cachedTokens !== undefined)
      this.#funnelOf('aggregated', model).reused += usage.cachedTokens
  }

  metrics(): Metric[] {
    return [...this.#hitMetrics(), ...this.#nonMaxMetrics(), ...this.#funnelMetrics(), ...this.#costMetrics()]
  }

  #observeCost(
    { hashingMs, trackingMs, matchingMs, schedulingMs }: SelectionMeasures,
    readingMs: number,
  ): void {
    const beforeMs = readingMs + hashingMs
    this.#blockHashing.observe(beforeMs)
    this.#sequenceHashing.observe(trackingMs)
    this.#matching.observe(matchingMs)
    this.#scheduling.observe(schedulingMs)
    this.#sharedQuery.observe(0)
    this.#total.observe(beforeMs + trackingMs + matchingMs + schedulingMs)
  }

  #funnelOf(phase: WorkerRole, modelName: string): Funnel {
    const ofPhase = this.#funnels[phase]
    const known = ofPhase.get(modelName)
    if (known !== undefined) return known
    const model = this.#models.of(modelName)
    const funnel = ofPhase.get(model) ?? { labels: { phase, model }, best: 0, selected: 0, reused: 0 }
    ofPhase.set(model, funnel)
    return funnel
  }

  #hitMetrics(): Metric[] {
    return [
      histogram(
        'router_kv_hit_rate',
        "Overlap blocks / blocks of the prompt, a value for each selection that went to its rank. Its sum / count is a mean of ratios, in which a short prompt weighs as much as a long one; the block-weighted hit rate, which an engine's own compares with, is router_kv_overlap_blocks_total / router_kv_isl_blocks_total. Prompts without blocks, and ranks of which nobody knows what they hold, are left out of all three",
        this.#hitRate,
      ),
      single(
        'counter',
        'router_kv_overlap_blocks_total',
        'Weighed blocks of prompts that their ranks held when they were selected. Divided by router_kv_isl_blocks_total: the block-weighted hit rate',
        () => this.#overlapBlocks,
      ),
      single(
        'counter',
        'router_kv_isl_blocks_total',
        'Blocks of prompts that were sent to ranks',
        () => this.#requestBlocks,
      ),
      histogram(
        'router_shared_cache_hit_rate',
        'Blocks of the prompt that a shared cache holds / all of them: no shared cache is asked, it is empty',
        new Distribution(shareBounds),
      ),
      histogram(
        'router_shared_cache_beyond_blocks',
        'Blocks that a shared cache holds beyond the rank: no shared cache is asked, it is empty',
        new Distribution(powerBounds(1, 2, 12)),
      ),
    ]
  }

  #nonMaxMetrics(): Metric[] {
    const types = Object.entries(this.#nonMax)
    const labelled = <Value>(value: (observer: NonMaxObserver) => Value): Child<Value>[] =>
      types.map(([type, observer]) => ({ labels: { worker_type: type }, value: value(observer) }))
    const labels = ['worker_type']
    const whose =
      'worker_type: prefill pools are prefill, aggregated routers are decode; decode pools are not looked at'
    return [
      {
        type: 'counter',
        name: 'router_non_max_overlap_selections_total',
        help: `Selections that went to a rank with less overlap than the best eligible one; ties and pins do not count. ${whose}`,
        labels,
        read: () => labelled(({ selections }) => selections),
      },
      {
        type: 'histogram',
        name: 'router_overlap_blocks_lost',
        help: `How many blocks less than the best, of those selections. ${whose}`,
        labels,
        read: () => labelled(({ lost }) => lost),
      },
    ]
  }

  #funnelMetrics(): Metric[] {
    const funnel = (name: string, help: string, value: (funnel: Funnel) => number): Metric => ({
      type: 'counter',
      name,
      help,
      labels: ['phase', 'model'],
      read: () =>
        Object.values(this.#funnels).flatMap((ofPhase) =>
          [...ofPhase.values()].map((one) => ({ labels: one.labels, value: value(one) })),
        ),
    })
    return [
      funnel(
        'router_kv_best_eligible_cached_prefix_tokens_total',
        'Tokens of prompts that the best eligible rank held when they were selected',
        ({ best }) => best,
      ),
      funnel(
        'router_kv_selected_cached_prefix_tokens_total',
        'Tokens of prompts that the selected rank held',
        ({ selected }) => selected,
      ),
      funnel(
        'router_kv_worker_reused_tokens_total',
        'Tokens of prompts that engines report as found in their cache; 0 where they do not report it (vLLM: --enable-prompt-tokens-details)',
        ({ reused }) => reused,
      ),
    ]
  }

  #costMetrics(): Metric[] {
    const stage = (name: string, help: string, value: Distribution): Metric =>
      histogram(`router_overhead_${name}_ms`, `${help}. One value for each started request`, value)
    return [
      stage(
        'block_hashing',
        'From the body of a request to the hashes of its blocks or content chunks, tokenising included; of the selection API hashing alone',
        this.#blockHashing,
      ),
      stage('seq_hashing', 'Hashes by which the books know its blocks', this.#sequenceHashing),
      stage('indexer_find_matches', 'Finding what every rank holds of it', this.#matching),
      stage('scheduling', 'Loads, policy and booking', this.#scheduling),
      stage('shared_cache_query', 'Asking the shared cache: 0, there is none', this.#sharedQuery),
      stage('total', 'All stages together', this.#total),
    ]
  }
}
