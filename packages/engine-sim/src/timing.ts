import type { TimingModel } from './parameters.js'
import { type TimingTable, onGrid, onLine } from './timing-table.js'

/** How long the two parts of a pass take before scaling, in ms. */
export interface PassTiming {
  /** `batch` requests with prompt tokens in the pass; `inputTokens` and `prefixTokens` are their means, whole. 0 without a batch. */
  readonly prefillMs: (batch: number, inputTokens: number, prefixTokens: number) => number
  /** `batch` requests that decode, over `contextTokens` tokens in all, of `capacityTokens` in the pool. 0 without a batch. */
  readonly decodeMs: (batch: number, contextTokens: number, capacityTokens: number) => number
}

/** The default model: quadratic in the new tokens of the batch, and in the used part of the pool. */
export const polynomialTiming: PassTiming = {
  prefillMs: (batch, inputTokens, prefixTokens) => {
    const newTokens = Math.max(0, inputTokens - prefixTokens)
    if (batch === 0 || newTokens === 0) return 0
    const tokens = batch * newTokens
    return 4.209989e-7 * (tokens * tokens) + 1.518344e-2 * tokens + 16.50142
  },
  decodeMs: (batch, contextTokens, capacityTokens) => {
    if (batch === 0) return 0
    const used = capacityTokens === 0 ? 1 : Math.min(1, contextTokens / capacityTokens)
    return Math.max(1, -25.74 * (used * used) + 54.01 * used + 5.74)
  },
}

/** The model that `timing_model` names. Allocates; made once. */
export function timingOf(model: TimingModel): PassTiming {
  if (model.type === 'polynomial') return polynomialTiming
  if (model.type === 'fixed') {
    const { prefill_ms: prefillMs, decode_ms: decodeMs } = model
    return {
      prefillMs: (batch) => (batch === 0 ? 0 : prefillMs),
      decodeMs: (batch) => (batch === 0 ? 0 : decodeMs),
    }
  }
  if (model.type === 'table') return tableTiming(model)
  return {
    prefillMs: (batch, inputTokens, prefixTokens) =>
      batch === 0 ? 0 : model.prefillMs(batch, Math.max(0, inputTokens - prefixTokens), prefixTokens),
    decodeMs: (batch, contextTokens) =>
      batch === 0 ? 0 : model.decodeMs(batch, Math.floor(contextTokens / batch)),
  }
}

function tableTiming(table: TimingTable): PassTiming {
  const tokens = Float64Array.from(table.prefill_isl)
  const prefillTimes = Float64Array.from(table.prefill_ttft_ms)
  const active = Float64Array.from(table.decode_active_kv_tokens)
  const context = Float64Array.from(table.decode_context_length)
  const decodeTimes = Float64Array.from(table.decode_itl.flat())
  return {
    prefillMs: (batch, inputTokens, prefixTokens) => {
      const newTokens = Math.max(0, inputTokens - prefixTokens)
      return batch === 0 ? 0 : Math.max(0, onLine(tokens, prefillTimes, batch * newTokens))
    },
    decodeMs: (batch, contextTokens) => {
      if (batch === 0) return 0
      const mean = Math.floor(contextTokens / batch)
      return Math.max(0, onGrid(active, context, decodeTimes, contextTokens, mean))
    },
  }
}

const nanosecondsPerSecond = 1e9
const splitter = 134217729

/** Whole nanoseconds of `seconds` (0 to 2^53 ns), halves to even, decided on the exact product rather than on its double. */
export function nanosecondsOf(seconds: number): number {
  const product = seconds * nanosecondsPerSecond
  // Halves of 26 bits: their products with 1e9, which has 21, are exact, and so is what the double left out.
  const scaled = seconds * splitter
  const high = scaled - (scaled - seconds)
  const leftOut = high * nanosecondsPerSecond - product + (seconds - high) * nanosecondsPerSecond
  const whole = Math.floor(product)
  const beyondHalf = product - whole - 0.5
  if (beyondHalf > 0) return whole + 1
  if (beyondHalf < 0) return whole
  if (leftOut !== 0) return leftOut > 0 ? whole + 1 : whole
  return whole % 2 === 0 ? whole : whole + 1
}

function secondsOf(nanoseconds: number): number {
  return (
    Math.floor(nanoseconds / nanosecondsPerSecond) +
    (nanoseconds % nanosecondsPerSecond) / nanosecondsPerSecond
  )
}

/** A part of a pass as the clock sees it, in ms: whole nanoseconds, divided by `ratio` (0 = as it is), whole nanoseconds again. */
export function durationMs(ms: number, ratio: number): number {
  const seconds = secondsOf(nanosecondsOf(ms / 1000))
  return (ratio === 0 || ratio === 1 ? seconds : secondsOf(nanosecondsOf(seconds / ratio))) * 1000
}
