import type { Generation, GenerationRequest, ServedEngine } from '../engine/serving.js'
import { badRequest, internalError } from './api-error.js'
import { ClientGone } from './exchange.js'
import type { AdapterPlace, EngineMetrics } from './metrics.js'
import type { Plan } from './plan.js'
import type { Phase, StatsCounter } from './stats.js'

/** A prompt as the engine takes it. */
export type EnginePrompt = Pick<
  GenerationRequest,
  'promptTokens' | 'loraName' | 'cacheSalt' | 'media' | 'rank'
>

/** One prompt and what is said to it. */
export interface Unit {
  readonly prompt: EnginePrompt
  readonly plan: Plan
}

/** Who waits: an exchange, or a task in the background. */
export interface Waiter {
  readonly gone: AbortSignal
  phase: Phase | undefined
}

/** What generating needs of the server. */
export interface GenerationHost {
  readonly engine: ServedEngine
  readonly stats: StatsCounter
  readonly metrics: EngineMetrics
}

/** Called while units run; a token is told before its end. */
export interface UnitWatcher {
  readonly onToken?: (unit: number, token: number, cachedTokens: number) => void
  /** Exactly once a unit that ends well. */
  readonly onEnd?: (unit: number, cachedTokens: number) => void
}

/**
 * Runs units side by side and gives the cached prompt tokens of each, once all have ended. When `waiter` goes away all are aborted and it
 * rejects with `ClientGone`. Rejects with an `ApiError` where the engine refuses one or restarts; the others are aborted then.
 */
export async function generateUnits(
  host: GenerationHost,
  waiter: Waiter,
  units: readonly Unit[],
  watcher: UnitWatcher = {},
): Promise<readonly number[]> {
  if (waiter.gone.aborted) throw new ClientGone()
  const generations: Generation[] = []
  const abortAll = () => {
    const running = generations.filter((generation) => generation.abort())
    // What the first pass of a prompt does is told at its end only.
    if (running.length > 0 && waiter.phase === 'queued') waiter.phase = 'prefill'
  }
  waiter.gone.addEventListener('abort', abortAll)
  waiter.phase = 'queued'
  try {
    const runs = units.map((unit, index) => runUnit(host, waiter, unit, index, watcher, generations))
    // The first failure ends all, but each is waited for, so that nothing is told to a client that has its answer.
    runs.forEach((run) => run.catch(abortAll))
    const outcomes = await Promise.allSettled(runs)
    const failures = outcomes.filter((outcome) => outcome.status === 'rejected').map(({ reason }) => reason)
    if (failures.length > 0) throw failures.find((reason) => !(reason instanceof ClientGone)) ?? failures[0]
    waiter.phase = undefined
    return outcomes.map((outcome) => (outcome as PromiseFulfilledResult<number>).value)
  } finally {
    waiter.gone.removeEventListener('abort', abortAll)
  }
}

function runUnit(
  { engine, stats, metrics }: GenerationHost,
  waiter: Waiter,
  { prompt, plan }: Unit,
  index: number,
  watcher: UnitWatcher,
  generations: Generation[],
): Promise<number> {
  return new Promise((resolve, reject) => {
    const startedMs = performance.now()
    const seconds = () => (performance.now() - startedMs) / 1000
    const last = plan.tokens.length - 1
    // With the limit the last token and the end are one event, as in vLLM; an end of its own comes after the last token.
    const heldBack = plan.finishReason === 'length' ? last : -1
    const { loraName } = prompt
    let place: AdapterPlace
    const move = (to: AdapterPlace) => {
      if (loraName !== undefined) metrics.adapterMoved(loraName, place, to)
      place = to
    }
    let cached = 0
    let generated = 0
    const rank = () => generation?.rank ?? prompt.rank ?? 0
    const generation = engine.generate({
      ...prompt,
      outputTokens: plan.tokens,
      endsBy: plan.finishReason,
      onAdmitted: (cachedTokens) => {
        cached = cachedTokens
        move('running')
        if (waiter.phase === 'queued') waiter.phase = 'prefill'
      },
      onToken: (token) => {
        if (token === 0) metrics.firstToken(rank(), seconds())
        if (waiter.phase === 'queued' || waiter.phase === 'prefill') waiter.phase = 'decode'
        generated++
        if (token !== heldBack) watcher.onToken?.(index, token, cached)
      },
      onEnd: (end, message) => {
        move(undefined)
        stats.generatedTokens += generated
        metrics.ended(rank(), end, seconds())
        if (end === 'aborted') reject(new ClientGone())
        else if (end === 'rejected') reject(badRequest(message ?? 'the engine refused the request'))
        else if (end === 'restarted')
          reject(internalError('EngineCore encountered an issue: it was restarted'))
        else {
          stats.promptTokens += prompt.promptTokens.length
          stats.cachedTokens += cached
          if (heldBack >= 0) watcher.onToken?.(index, heldBack, cached)
          watcher.onEnd?.(index, cached)
          resolve(cached)
        }
      },
    })
    move('waiting')
    generations.push(generation)
  })
}
