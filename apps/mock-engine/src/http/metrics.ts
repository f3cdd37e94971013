import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { GenerationEnd, RankFacts, ServedEngine } from '../engine/serving.js'

/** Upper bounds in seconds, as vLLM has them. */
const firstTokenBuckets = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640,
  2560,
]
const latencyBuckets = [
  0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680,
]

/** Where a request of an adapter is; undefined = not in the engine. */
export type AdapterPlace = 'waiting' | 'running' | undefined

/** What the metrics tell of the server besides the engine's own facts. */
export interface MetricsOptions {
  readonly modelName: string
  readonly cachesPrefixes: boolean
  /** LoRA adapters that are served. */
  readonly adapters: number
}

/**
 * The metrics of one incarnation under the names, types and labels of its flavour, in a registry of its own. They read the facts of the
 * engine when they are asked for; only ends and first tokens are counted as they happen.
 */
export class EngineMetrics {
  readonly #engine: ServedEngine
  readonly #options: MetricsOptions
  #registry = new Registry()
  #succeeded: Counter | undefined
  #firstToken!: Histogram
  #latency!: Histogram
  /** Requests by adapter; as many as are served. */
  readonly #adapters = { waiting: new Map<string, number>(), running: new Map<string, number>() }

  constructor(engine: ServedEngine, options: MetricsOptions) {
    this.#engine = engine
    this.#options = options
    this.reset()
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  /** Everything from 0: the engine is a new incarnation. */
  reset(): void {
    this.#registry = new Registry()
    if (this.#engine.flavour === 'vllm') this.#addVllm()
    else this.#addSglang()
    this.#gauge(
      'process_start_time_seconds',
      'Start time of the process since unix epoch in seconds.',
      () => [[{}, this.#engine.startedAtSeconds]],
    )
  }

  text(): Promise<string> {
    return this.#registry.metrics()
  }

  firstToken(rank: number, seconds: number): void {
    this.#firstToken.observe(this.#labels(rank), seconds)
  }

  ended(rank: number, end: GenerationEnd, seconds: number): void {
    if (end !== 'stop' && end !== 'length' && end !== 'aborted') return
    const labels = this.#labels(rank)
    this.#latency.observe(labels, seconds)
    if (this.#engine.flavour === 'sglang') this.#succeeded!.inc(labels)
    else this.#succeeded!.inc({ ...labels, finished_reason: end === 'aborted' ? 'abort' : end })
  }

  /** A request of an adapter goes from one place to another. */
  adapterMoved(name: string, from: AdapterPlace, to: AdapterPlace): void {
    for (const [place, change] of [
      [from, -1],
      [to, 1],
    ] as const) {
      if (place === undefined) continue
      const count = (this.#adapters[place].get(name) ?? 0) + change
      if (count > 0) this.#adapters[place].set(name, count)
      else this.#adapters[place].delete(name)
    }
  }

  #addVllm(): void {
    const { cachesPrefixes, adapters } = this.#options
    if (adapters > 0)
      this.#gauge('vllm:lora_requests_info', 'Running stats on lora requests.', () => [
        [
          {
            max_lora: String(adapters),
            running_lora_adapters: [...this.#adapters.running.keys()].join(','),
            waiting_lora_adapters: [...this.#adapters.waiting.keys()].join(','),
          },
          Date.now() / 1000,
        ],
      ])
    this.#perRank(
      'gauge',
      'vllm:num_requests_running',
      'Number of requests in model execution batches.',
      (rank) => rank.runningRequests,
    )
    this.#perRank(
      'gauge',
      'vllm:num_requests_waiting',
      'Number of requests waiting to be processed.',
      (rank) => rank.waitingRequests,
    )
    this.#perRank('gauge', 'vllm:kv_cache_usage_perc', 'KV-cache usage. 1 means 100 percent usage.', usage)
    this.#perRank(
      'counter',
      'vllm:prefix_cache_queries_total',
      'Prefix cache queries, in terms of number of queried tokens.',
      (rank) => rank.prefixCacheQueriedTokens,
    )
    this.#perRank(
      'counter',
      'vllm:prefix_cache_hits_total',
      'Prefix cache hits, in terms of number of cached tokens.',
      (rank) => rank.prefixCacheHitTokens,
    )
    this.#perRank(
      'counter',
      'vllm:num_preemptions_total',
      'Cumulative number of preemption from the engine.',
      (rank) => rank.preemptions,
    )
    this.#perRank(
      'counter',
      'vllm:prompt_tokens_total',
      'Number of prefill tokens processed.',
      (rank) => rank.promptTokens,
    )
    this.#perRank(
      'counter',
      'vllm:generation_tokens_total',
      'Number of generation tokens processed.',
      (rank) => rank.generatedTokens,
    )
    this.#gauge('vllm:cache_config_info', 'Information of the LLMEngine CacheConfig', () =>
      this.#engine.facts().map(({ rank, totalBlocks }) => [
        {
          block_size: String(this.#engine.blockSize),
          cache_dtype: 'auto',
          enable_prefix_caching: cachesPrefixes ? 'True' : 'False',
          engine: String(rank),
          gpu_memory_utilization: '0.9',
          num_cpu_blocks: 'None',
          num_gpu_blocks: String(totalBlocks),
          num_gpu_blocks_override: 'None',
          prefix_caching_hash_algo: 'sha256',
          sliding_window: 'None',
        },
        1,
      ]),
    )
    this.#succeeded = new Counter({
      name: 'vllm:request_success_total',
      help: 'Count of successfully processed requests.',
      labelNames: ['model_name', 'engine', 'finished_reason'],
      registers: [this.#registry],
    })
    for (const { rank } of this.#engine.facts())
      for (const finished_reason of ['stop', 'length', 'abort'])
        this.#succeeded.inc({ ...this.#labels(rank), finished_reason }, 0)
    this.#firstToken = this.#histogram(
      'vllm:time_to_first_token_seconds',
      'Histogram of time to first token in seconds.',
      firstTokenBuckets,
    )
    this.#latency = this.#histogram(
      'vllm:e2e_request_latency_seconds',
      'Histogram of e2e request latency in seconds.',
      latencyBuckets,
    )
  }

  #addSglang(): void {
    const { blockSize } = this.#engine
    this.#perRank(
      'gauge',
      'sglang:num_running_reqs',
      'The number of running requests.',
      (rank) => rank.runningRequests,
    )
    this.#perRank(
      'gauge',
      'sglang:num_queue_reqs',
      'The number of requests in the waiting queue.',
      (rank) => rank.waitingRequests,
    )
    this.#perRank(
      'gauge',
      'sglang:num_used_tokens',
      'The number of used tokens.',
      (rank) => rank.usedBlocks * blockSize,
    )
    this.#perRank(
      'gauge',
      'sglang:max_total_num_tokens',
      'The maximum total number of tokens in the KV cache pool.',
      (rank) => rank.totalBlocks * blockSize,
    )
    this.#perRank('gauge', 'sglang:token_usage', 'The token usage.', usage)
    this.#perRank('gauge', 'sglang:cache_hit_rate', 'The prefix cache hit rate.', hitRate)
    this.#perRank(
      'counter',
      'sglang:prompt_tokens_total',
      'Number of prefill tokens processed.',
      (rank) => rank.promptTokens,
    )
    this.#perRank(
      'counter',
      'sglang:generation_tokens_total',
      'Number of generation tokens processed.',
      (rank) => rank.generatedTokens,
    )
    this.#perRank(
      'counter',
      'sglang:cached_tokens_total',
      'Number of cached prompt tokens.',
      (rank) => rank.prefixCacheHitTokens,
    )
    this.#succeeded = new Counter({
      name: 'sglang:num_requests_total',
      help: 'Number of requests processed.',
      labelNames: ['model_name', 'dp_rank'],
      registers: [this.#registry],
    })
    this.#firstToken = this.#histogram(
      'sglang:time_to_first_token_seconds',
      'Histogram of time to first token in seconds.',
      firstTokenBuckets,
    )
    this.#latency = this.#histogram(
      'sglang:e2e_request_latency_seconds',
      'Histogram of End-to-end request latency in seconds',
      latencyBuckets,
    )
  }

  #labels(rank: number): Record<string, string> {
    const label = this.#engine.flavour === 'vllm' ? 'engine' : 'dp_rank'
    return { model_name: this.#options.modelName, [label]: String(rank) }
  }

  #perRank(type: 'gauge' | 'counter', name: string, help: string, value: (rank: RankFacts) => number): void {
    // Gauges of SGLang are those of its schedulers, which say where they are.
    const place =
      this.#engine.flavour === 'sglang' && type === 'gauge'
        ? { engine_type: 'unified', pp_rank: '0', tp_rank: '0' }
        : {}
    const read = () =>
      this.#engine.facts().map((rank) => [{ ...this.#labels(rank.rank), ...place }, value(rank)] as const)
    if (type === 'gauge') {
      this.#gauge(name, help, read)
      return
    }
    const counter: Counter = new Counter({
      name,
      help,
      labelNames: Object.keys(this.#labels(0)),
      registers: [this.#registry],
      collect: () => {
        counter.reset()
        for (const [labels, amount] of read()) counter.inc(labels, amount)
      },
    })
  }

  #gauge(
    name: string,
    help: string,
    read: () => readonly (readonly [Record<string, string>, number])[],
  ): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames: Object.keys(read()[0]?.[0] ?? {}),
      registers: [this.#registry],
      collect: () => {
        gauge.reset()
        for (const [labels, value] of read()) gauge.set(labels, value)
      },
    })
  }

  #histogram(name: string, help: string, buckets: number[]): Histogram {
    return new Histogram({
      name,
      help,
      labelNames: Object.keys(this.#labels(0)),
      buckets,
      registers: [this.#registry],
    })
  }
}

function usage({ usedBlocks, totalBlocks }: RankFacts): number {
  return totalBlocks === 0 ? 0 : usedBlocks / totalBlocks
}

function hitRate({ prefixCacheHitTokens, prefixCacheQueriedTokens }: RankFacts): number {
  return prefixCacheQueriedTokens === 0 ? 0 : prefixCacheHitTokens / prefixCacheQueriedTokens
}
