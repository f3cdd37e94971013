import type { HealthCauseCode } from '../fleet/health-causes.js'
import type { RequestFacts } from './request-facts.js'

/** What was predicted of a worker's cache, and what its engine really reused; tokens, since the start. */
export interface PredictionSums {
  readonly workerId: bigint
  readonly model: string
  readonly promptTokens: number
  readonly predictedTokens: number
  readonly reusedTokens: number
}

/** Why predictions are not to be trusted (host.md 13.4). */
export type PredictionCauseCode = Extract<
  HealthCauseCode,
  | 'hash_mismatch'
  | 'index_blind'
  | 'eviction_drift'
  | 'tokenizer_missing'
  | 'tokenizer_mismatch'
  | 'tokenizer_slow'
>

export interface PredictionCause {
  readonly code: PredictionCauseCode
  readonly model: string
  /** Absent = it is of the model as a whole. */
  readonly workerId?: bigint | undefined
  /** Requests that it is judged by. */
  readonly requests: number
}

/** The last requests that are looked at, and how many there must be. */
const windowSize = 200
const leastRequests = 20
/** Workers, and models, that are watched; beyond, the least recently used ones are forgotten. */
const maximumWindows = 4096
const driftTokens = 10_000
const leastShare = 0.5
const greatestShare = 1.5
const missingShare = 0.1
const mismatchShare = 0.01

/** Sums over the last requests of one worker or model, column by column. */
class Window {
  readonly sums: Float64Array
  count = 0
  readonly #rows: Float64Array
  readonly #columns: number
  #next = 0

  constructor(columns: number) {
    this.#columns = columns
    this.#rows = new Float64Array(columns * windowSize)
    this.sums = new Float64Array(columns)
  }

  add(...values: readonly number[]): void {
    const start = this.#next * this.#columns
    values.forEach((value, column) => {
      this.sums[column]! += value - this.#rows[start + column]!
      this.#rows[start + column] = value
    })
    this.#next = (this.#next + 1) % windowSize
    this.count = Math.min(windowSize, this.count + 1)
  }
}

interface WorkerWindow {
  readonly workerId: bigint
  readonly model: string
  readonly window: Window
  totals: Omit<PredictionSums, 'workerId' | 'model'>
}

/** Compares what the router believed with what engines report, request by request. */
export class PredictionCheck {
  readonly #workers = new Map<string, WorkerWindow>()
  readonly #models = new Map<string, Window>()

  /** Workers and models that are watched. */
  get size(): number {
    return this.#workers.size + this.#models.size
  }

  /** A request is over. `O(1)`. */
  add(facts: RequestFacts): void {
    const { model, workerId, ending } = facts
    if (model === undefined || workerId === undefined || ending !== 'answered') return
    this.#addPrediction(facts, model, workerId)
    this.#addTokens(facts, model)
  }

  /** By worker and model, those that were used last. */
  sums(): PredictionSums[] {
    return [...this.#workers.values()].map(({ workerId, model, totals }) => ({ workerId, model, ...totals }))
  }

  /** What holds now; each goes by itself with the requests that gave rise to it. */
  causes(): PredictionCause[] {
    const causes: PredictionCause[] = []
    for (const { workerId, model, window } of this.#workers.values()) {
      const code = window.count < leastRequests ? undefined : predictionCause(window.sums)
      if (code !== undefined) causes.push({ code, model, workerId, requests: window.count })
    }
    for (const [model, { sums, count }] of this.#models) {
      if (count < leastRequests) continue
      const [wanted = 0, missing = 0, counted = 0, different = 0, slow = 0] = sums
      const add = (code: PredictionCauseCode): void => void causes.push({ code, model, requests: count })
      if (missing > missingShare * wanted) add('tokenizer_missing')
      if (different > mismatchShare * counted) add('tokenizer_mismatch')
      if (slow > 0) add('tokenizer_slow')
    }
    return causes
  }

  #addPrediction(facts: RequestFacts, model: string, workerId: bigint): void {
    const { usage, predictedTokens, blockSize = 1 } = facts
    const { promptTokens, cachedTokens } = usage ?? {}
    if (promptTokens === undefined || cachedTokens === undefined || predictedTokens === undefined) return
    const worker = touched(this.#workers, `${workerId} ${model}`, () => ({
      workerId,
      model,
      window: new Window(2),
      totals: { promptTokens: 0, predictedTokens: 0, reusedTokens: 0 },
    }))
    const { totals } = worker
    worker.totals = {
      promptTokens: totals.promptTokens + promptTokens,
      predictedTokens: totals.predictedTokens + predictedTokens,
      reusedTokens: totals.reusedTokens + cachedTokens,
    }
    if (promptTokens >= 2 * blockSize) worker.window.add(predictedTokens, cachedTokens)
  }

  #addTokens({ wantsTokenizer, cause, isEstimated, promptTokens, usage }: RequestFacts, model: string): void {
    if (!wantsTokenizer) return
    const reported = usage?.promptTokens
    const isCounted = !isEstimated && reported !== undefined
    touched(this.#models, model, () => new Window(5)).add(
      1,
      cause === 'tokenizer_missing' || cause === 'tokenizer_invalid' ? 1 : 0,
      isCounted ? 1 : 0,
      isCounted && reported !== promptTokens ? 1 : 0,
      cause === 'tokenizer_slow' ? 1 : 0,
    )
  }
}

function predictionCause([predicted = 0, reused = 0]: Float64Array): PredictionCauseCode | undefined {
  if (predicted > 0 && reused === 0) return 'hash_mismatch'
  if (predicted === 0 && reused > 0) return 'index_blind'
  const share = reused / predicted
  const isLarge = predicted > driftTokens && reused > driftTokens
  return isLarge && (share < leastShare || share > greatestShare) ? 'eviction_drift' : undefined
}

/** The entry of a key, made where there is none; now the last used one. */
function touched<T>(map: Map<string, T>, key: string, make: () => T): T {
  const value = map.get(key) ?? make()
  map.delete(key)
  map.set(key, value)
  if (map.size > maximumWindows) map.delete(map.keys().next().value!)
  return value
}
