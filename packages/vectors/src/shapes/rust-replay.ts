import { z } from 'zod'
import { caption, count, double, plain, plainInteger, u32, u64Text } from './common.js'

// Far beyond any case, and no run over them is endless.
const longestPrompt = 1_048_576
const longestOutput = 65_536
const mostTokens = 16_777_216
const mostWorkers = 256

const natural1 = plainInteger(z.int().min(1).max(16_777_216))
const milliseconds = plain(z.number().min(0).max(1e15))
const ratio = plain(z.number().gt(0).max(1e9))
const speed = plain(z.number().min(0).max(1e9))

const traceRow = z.strictObject({
  /** Ms; of a turn after the first of its session it only stands in for a missing `delay`. */
  timestamp: milliseconds.optional(),
  input_length: plainInteger(z.int().min(1).max(longestPrompt)),
  output_length: plainInteger(z.int().min(0).max(longestOutput)),
  /** Each stands for a trace block of tokens that all are this number. */
  hash_ids: z.array(u32),
  session_id: z.string().optional(),
  /** Ms after the end of the turn before. */
  delay: milliseconds.optional(),
  /** Fresh tokens anyway, one per output. */
  output_token_ids: z.array(u32).optional(),
  /** Seconds of head start in the queue of the router; below 0 = 0. */
  priority: plain(z.number()).optional(),
  strict_priority: u32.optional(),
  // Without any effect here: there are no classes.
  request_id: z.string().optional(),
  policy_class: z.string().optional(),
})

/** One row of a trace. */
export type ReplayRow = z.output<typeof traceRow>

/** Rows of a trace, and how many tokens a hash id stands for. */
const trace = z
  .strictObject({ format: z.literal('mooncake'), blockSize: natural1, rows: z.array(traceRow).min(1) })
  .refine(({ rows, blockSize }) => rows.every((row) => row.input_length <= row.hash_ids.length * blockSize), {
    path: ['rows'],
    message: 'expected hash_ids for the whole input_length of each row',
  })
  .refine(
    ({ rows }) =>
      rows.every(({ output_length: count, output_token_ids: ids }) => (ids?.length ?? count) === count),
    { path: ['rows'], message: 'expected one of output_token_ids per output' },
  )
  .refine(
    ({ rows }) => rows.reduce((sum, row) => sum + row.input_length + row.output_length, 0) <= mostTokens,
    {
      path: ['rows'],
      message: `expected at most ${mostTokens} tokens`,
    },
  )
  .refine(
    ({ rows }) => {
      const seen = new Set<string>()
      return rows.every(({ session_id: session, timestamp, delay }) => {
        if (session === undefined || !seen.has(session)) {
          if (session !== undefined) seen.add(session)
          return timestamp !== undefined && delay === undefined
        }
        return true
      })
    },
    { path: ['rows'], message: 'expected a timestamp and no delay of each row that begins something' },
  )

/** What an engine may say that is so anyway. */
const saidAnyway = {
  worker_type: z.literal('aggregated').optional(),
  dp_size: plainInteger(z.literal(1)).optional(),
  prefill_schedule_interval: plainInteger(z.literal(1)).optional(),
  event_visibility: z.literal('pass_end').optional(),
}

const engine = z.strictObject({
  ...saidAnyway,
  backend: z.literal('vllm').optional(),
  num_gpu_blocks: natural1.optional(),
  block_size: plainInteger(z.int().min(2).max(65_536)).optional(),
  max_model_len: natural1.nullable().optional(),
  max_num_seqs: natural1.nullable().optional(),
  max_num_batched_tokens: natural1.nullable().optional(),
  enable_prefix_caching: z.boolean().optional(),
  enable_chunked_prefill: z.boolean().optional(),
  speedup_ratio: speed.optional(),
  decode_speedup_ratio: speed.optional(),
  preemption_mode: z.enum(['lifo', 'fifo']).optional(),
  timing_model: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('polynomial') }),
      z.strictObject({
        type: z.literal('fixed'),
        prefill_ms: plain(z.number().min(0).max(1e9)),
        decode_ms: plain(z.number().min(0).max(1e9)),
      }),
    ])
    .optional(),
})

const weight = plain(z.number().min(0)).optional()

const queuePolicy = z.enum(['fcfs', 'lcfs', 'wspt'])

/** In which order the router takes requests out of its queue. */
export type QueuePolicy = z.output<typeof queuePolicy>

const routerConfig = z.strictObject({
  overlap_score_credit: weight,
  overlap_score_credit_decay: weight,
  prefill_load_scale: weight,
  decode_active_request_weight: weight,
  host_cache_hit_weight: weight,
  disk_cache_hit_weight: weight,
  shared_cache_multiplier: weight,
  prefix_affinity_weight: weight,
  router_temperature: weight,
  router_queue_threshold: plain(z.number().min(0)).nullable().optional(),
  router_queue_policy: queuePolicy.optional(),
})

const kvRouter = z.strictObject({
  mode: z.literal('kv_router'),
  config: routerConfig.optional(),
  tieSeed: u64Text.optional(),
})

/** What a router by cache and load is told. */
export type KvRouterSettings = z.output<typeof kvRouter>

const router = z.discriminatedUnion('mode', [z.strictObject({ mode: z.literal('round_robin') }), kvRouter])

const time = double.nullable()

const request = z.strictObject({
  /** Position in the rows of the trace. */
  row: count,
  arrivalMs: double,
  admitMs: time,
  firstTokenMs: time,
  lastTokenMs: time,
  endMs: time,
  secondTokenGapMs: time,
  outputTokens: count,
  /** The largest hit of all admissions. */
  reusedTokens: count,
  status: z.enum(['completed', 'rejected', 'failed']),
  /** Pool, time, tokens found in the cache, whether it had been admitted before. */
  admissions: z.array(z.tuple([z.literal('agg'), double, count, z.boolean()])),
  /** Pool, worker, outcome, queued at, released at, blocks found on the worker, and on the best one (`null` = not asked). */
  routing: z.array(
    z.tuple([
      z.literal('agg'),
      count,
      z.enum(['immediate', 'queued']),
      time,
      time,
      count.nullable(),
      count.nullable(),
    ]),
  ),
})

/** What became of one row. */
export type ReplayRequest = z.output<typeof request>

const percentiles = { median: double, p75: double, p90: double, p95: double, p99: double }
const moments = { mean: double, min: double, max: double, std: double }
const exact = z.strictObject({ ...moments, ...percentiles })
/** Percentiles that the release estimates, good to 0.1 %. */
const sketched = z.strictObject({ ...moments, sketched: z.strictObject(percentiles) })

const summary = z.strictObject({
  num_requests: count,
  completed_requests: count,
  total_input_tokens: count,
  total_output_tokens: count,
  committed_prefill_tokens: count,
  duration_ms: double,
  request_throughput_rps: double,
  input_throughput_tok_s: double,
  output_throughput_tok_s: double,
  total_throughput_tok_s: double,
  prefill_worker_seconds: double,
  decode_worker_seconds: double,
  prefix_cache_reused_ratio: double,
  first_admission_prefix_cache_reused_ratio: double,
  goodput_completed_requests: count.optional(),
  goodput_request_throughput_rps: double.optional(),
  goodput_output_throughput_tok_s: double.optional(),
  ttft_ms: exact,
  ttst_ms: exact,
  tpot_ms: exact,
  e2e_latency_ms: exact,
  itl_ms: sketched,
  output_token_throughput_per_user: sketched,
})

/** The report over all requests. */
export type ReplaySummary = z.output<typeof summary>

const scenario = {
  ...caption,
  kind: z.literal('scenario').optional(),
  about: z.string(),
  concurrency: natural1.optional(),
  arrivalSpeedupRatio: ratio.optional(),
  kvEventLagMs: milliseconds.optional(),
}

/** A line of `rust-replay.jsonl` about workers that are vLLM-like: a scenario, and what the release made of it. */
export const rustReplayLine = z.strictObject({
  ...scenario,
  topology: z.literal('aggregated'),
  workers: plainInteger(z.int().min(1).max(mostWorkers)),
  engine,
  router,
  trace,
  sla: z
    .strictObject({ ttftMs: double.optional(), itlMs: double.optional(), e2eMs: double.optional() })
    .optional(),
  expect: z.strictObject({
    requests: z.array(request),
    /** Rows that were never sent. */
    notDispatched: z.array(count).optional(),
    summary,
  }),
})

/** A line as `rustReplayLine` reads it. */
export type RustReplayLine = z.output<typeof rustReplayLine>

const object = z.record(z.string(), z.unknown())
const outerFields = {
  ...scenario,
  router: object,
  trace: object,
  sla: object.optional(),
  expect: object,
}

/** Outer fields of the lines that nothing evaluates yet. */
export const waitingReplayLine = z.discriminatedUnion('topology', [
  z.strictObject({ topology: z.literal('aggregated'), ...outerFields, workers: natural1, engine: object }),
  z.strictObject({
    topology: z.literal('disaggregated'),
    ...outerFields,
    prefillWorkers: natural1,
    decodeWorkers: natural1,
    prefill: object,
    decode: object,
  }),
])
