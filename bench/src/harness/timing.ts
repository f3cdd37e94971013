import { percentile } from './statistics.js'
import type { Body } from './variant.js'

/** Shortest batch, microseconds: reading the clock twice (some 50 ns) then is below half a percent. */
export const shortestBatchUs = 20
const maximumSamples = 100_000
const warmCalls = 10_000

/** How long to measure. */
export interface Effort {
  readonly warmUpMs: number
  readonly timedMs: number
  /** For each of the takes that count bytes. */
  readonly countedMs: number
  /** How often every variant is built, warmed up and timed anew. */
  readonly rounds: number
}

/** Time per call over batches of calls. */
export interface BatchTimes {
  readonly p50Ns: number
  /** Over batches: one slow call in a batch of a hundred shows as a hundredth of itself. */
  readonly p99Ns: number
  /** All time by all calls. */
  readonly meanNs: number
}

const samples = new Float64Array(maximumSamples)

// Keeps the results of timed bodies alive.
let checksum = 0

function runBatch(body: Body, calls: number): number {
  let sum = 0
  const start = performance.now()
  for (let call = 0; call < calls; call++) sum = (sum + body()) | 0
  const elapsedMs = performance.now() - start
  checksum = (checksum + sum) | 0
  return elapsedMs
}

/** Runs the body for so long, at least once; up to three times as long while it ran seldom, because engines count calls, not time. */
export function warmUp(body: Body, forMs: number): void {
  const end = performance.now() + forMs
  const lastEnd = end + 2 * forMs
  let calls = 0
  let now: number
  do {
    runBatch(body, 1)
    calls++
    now = performance.now()
  } while (now < end || (now < lastEnd && calls < warmCalls))
}

/** Calls per batch, so that a batch takes at least `shortestBatchUs`. */
export function batchSize(body: Body): number {
  for (let calls = 1; ; calls *= 2) {
    let fastestMs = Infinity
    for (let attempt = 0; attempt < 5 && fastestMs * 1000 >= shortestBatchUs; attempt++) {
      fastestMs = Math.min(fastestMs, runBatch(body, calls))
    }
    if (fastestMs * 1000 >= shortestBatchUs) return calls
  }
}

/** Times batches for `timedMs`, at least one. @param afterwards runs after each, not timed */
export function timeBatches(
  body: Body,
  calls: number,
  timedMs: number,
  afterwards: () => void = nothing,
): BatchTimes {
  let leftMs = timedMs
  let count = 0
  let sum = 0
  do {
    const start = performance.now()
    const elapsedNs = runBatch(body, calls) * 1e6
    leftMs -= performance.now() - start
    sum += elapsedNs
    samples[count++] = elapsedNs / calls
    afterwards()
  } while (count < maximumSamples && leftMs > 0)
  const sorted = samples.slice(0, count).sort()
  return { p50Ns: percentile(sorted, 0.5), p99Ns: percentile(sorted, 0.99), meanNs: sum / count / calls }
}

function nothing(): void {}
