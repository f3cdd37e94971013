import { metricSamples } from './metric-samples.js'

/** Gauges of the share of its KV pool that an engine uses: vLLM, older ones of it, SGLang. */
const gauges = ['vllm:kv_cache_usage_perc', 'vllm:gpu_cache_usage_perc', 'sglang:token_usage']

/** Shares of their KV pools that the ranks of an engine use, 0 to 1, by rank; of several schedulers of one rank the largest. */
export function readKvUsage(metrics: string): ReadonlyMap<number, number> {
  const shares = new Map<number, number>()
  for (const gauge of gauges)
    for (const { labels, value } of metricSamples(metrics, gauge)) {
      const rank = Number(labels.get('engine') ?? labels.get('dp_rank') ?? 0)
      if (!Number.isSafeInteger(rank) || rank < 0 || !(value >= 0 && value <= 1)) continue
      shares.set(rank, Math.max(value, shares.get(rank) ?? 0))
    }
  return shares
}
