import type { ReplaySummary, RustReplayLine } from '../shapes/rust-replay.js'
import type { ReplayRun, RowRun } from './rust-replay-loop.js'

interface Distribution {
  readonly mean: number
  readonly min: number
  readonly max: number
  readonly std: number
  readonly median: number
  readonly p75: number
  readonly p90: number
  readonly p95: number
  readonly p99: number
}

/** Times between tokens. */
export function gapsOf({ tokenMs }: RowRun): number[] {
  return tokenMs.slice(1).map((ms, index) => ms - tokenMs[index]!)
}

/** The largest hit of all admissions. */
export function reusedTokens({ admissions }: RowRun): number {
  return Math.max(0, ...admissions.map(([, , hit]) => hit))
}

type Distributed =
  | 'ttft_ms'
  | 'ttst_ms'
  | 'tpot_ms'
  | 'e2e_latency_ms'
  | 'itl_ms'
  | 'output_token_throughput_per_user'
type Scalars = Omit<ReplaySummary, Distributed>

/** The figures of the report that are one number. */
export function scalarsOf(run: ReplayRun, { workers, sla }: RustReplayLine): Scalars {
  const completed = run.rows.filter(({ status }) => status === 'completed')
  const inputs = sum(completed.map(({ inputTokens }) => inputTokens))
  const outputs = sum(completed.map(({ tokenMs }) => tokenMs.length))
  const durationMs = Math.max(0, ...completed.map(({ endMs }) => endMs ?? 0))
  const seconds = Math.max(durationMs / 1000, 1e-9)
  const good = sla === undefined ? undefined : completed.filter((row) => isGood(row, sla))
  return {
    num_requests: run.rows.length,
    completed_requests: completed.length,
    total_input_tokens: inputs,
    total_output_tokens: outputs,
    committed_prefill_tokens: run.committedPrefillTokens,
    duration_ms: durationMs,
    request_throughput_rps: completed.length / seconds,
    input_throughput_tok_s: inputs / seconds,
    output_throughput_tok_s: outputs / seconds,
    total_throughput_tok_s: (inputs + outputs) / seconds,
    prefill_worker_seconds: 0,
    decode_worker_seconds: (workers * Math.max(0, ...run.rows.map(({ endMs }) => endMs ?? 0))) / 1000,
    prefix_cache_reused_ratio: ratio(sum(completed.map(reusedTokens)), inputs),
    first_admission_prefix_cache_reused_ratio: ratio(
      sum(completed.map(({ admissions }) => admissions[0]?.[2] ?? 0)),
      inputs,
    ),
    ...(good !== undefined && {
      goodput_completed_requests: good.length,
      goodput_request_throughput_rps: good.length / seconds,
      goodput_output_throughput_tok_s: sum(good.map(({ tokenMs }) => tokenMs.length)) / seconds,
    }),
  }
}

/** The figures that are distributions. */
export function distributionsOf(run: ReplayRun): Record<Distributed, Distribution> {
  const completed = run.rows.filter(({ status }) => status === 'completed')
  const gaps = completed.flatMap(gapsOf)
  return {
    ttft_ms: distribution(
      completed.flatMap(({ tokenMs, arrivalMs }) => (tokenMs.length > 0 ? [tokenMs[0]! - arrivalMs] : [])),
    ),
    ttst_ms: distribution(completed.flatMap((row) => gapsOf(row).slice(0, 1))),
    tpot_ms: distribution(
      completed.flatMap(({ tokenMs }) =>
        tokenMs.length > 1 ? [(tokenMs.at(-1)! - tokenMs[0]!) / (tokenMs.length - 1)] : [],
      ),
    ),
    e2e_latency_ms: distribution(
      completed.flatMap(({ tokenMs, arrivalMs }) =>
        tokenMs.length > 0 ? [tokenMs.at(-1)! - arrivalMs] : [],
      ),
    ),
    itl_ms: distribution(gaps),
    output_token_throughput_per_user: distribution(gaps.filter((gap) => gap > 0).map((gap) => 1000 / gap)),
  }
}

/** Within every bound that is given; a request without tokens only under a bound on the whole. */
function isGood({ tokenMs, arrivalMs, endMs }: RowRun, sla: NonNullable<RustReplayLine['sla']>): boolean {
  const { ttftMs, itlMs, e2eMs } = sla
  if (tokenMs.length === 0) return e2eMs !== undefined && endMs! - arrivalMs <= e2eMs
  const firstMs = tokenMs[0]! - arrivalMs
  const wholeMs = tokenMs.at(-1)! - arrivalMs
  if (e2eMs !== undefined && wholeMs > e2eMs) return false
  if (ttftMs !== undefined && firstMs > ttftMs) return false
  return itlMs === undefined || tokenMs.length === 1 || (wholeMs - firstMs) / (tokenMs.length - 1) <= itlMs
}

function distribution(values: readonly number[]): Distribution {
  const sorted = values.toSorted((a, b) => a - b)
  const mean = ratio(sum(sorted), sorted.length)
  const at = (percent: number): number => sorted[Math.floor(((sorted.length - 1) * percent) / 100 + 0.5)] ?? 0
  return {
    mean,
    min: sorted[0] ?? 0,
    max: sorted.at(-1) ?? 0,
    std: Math.sqrt(ratio(sum(sorted.map((value) => (value - mean) ** 2)), sorted.length)),
    median: at(50),
    p75: at(75),
    p90: at(90),
    p95: at(95),
    p99: at(99),
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function ratio(value: number, base: number): number {
  return base === 0 ? 0 : value / base
}
