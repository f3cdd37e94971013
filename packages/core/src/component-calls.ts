import {
  RequestFault,
  SelectionError,
  type WorkerFilter,
  type WorkerPicker,
  type WorkerScorer,
  type WorkerSelectionContext,
} from '@router/sdk'
import type { CandidateView } from './candidate-view.js'
import { ViewGuard } from './view-guard.js'

/** Calls the components of a policy: anything they throw, or return against the contract, becomes a `SelectionError`. */
export class ComponentCalls {
  readonly #context: WorkerSelectionContext
  readonly #checkViews: boolean

  constructor(context: WorkerSelectionContext, checkViews: boolean) {
    this.#context = context
    this.#checkViews = checkViews
  }

  /** Errors: `ROUTER_POLICY_FAILED`. */
  keep(filter: WorkerFilter, view: CandidateView, row: number): boolean {
    const guard = this.#guard()
    let keeps: unknown
    try {
      keeps = filter.keep(guarded(guard, this.#context), guarded(guard, view), row)
    } catch (cause) {
      throw policyFailure(`filter ${filter.name}`, cause)
    } finally {
      guard?.close()
    }
    if (keeps === true || keeps === false) return keeps
    dropPromise(keeps)
    throw policyFailure(`filter ${filter.name}`, `keep must return a boolean, got ${typeof keeps}`)
  }

  /** Errors: `ROUTER_POLICY_FAILED`. */
  score(scorer: WorkerScorer, view: CandidateView, costs: Float64Array): void {
    const guard = this.#guard()
    let returned: unknown
    try {
      returned = scorer.score(guarded(guard, this.#context), guarded(guard, view), guarded(guard, costs))
    } catch (cause) {
      throw policyFailure(`scorer ${scorer.name}`, cause)
    } finally {
      guard?.close()
    }
    if (returned === undefined || !dropPromise(returned)) return
    throw policyFailure(`scorer ${scorer.name}`, 'score must not return a promise')
  }

  /** Errors: `ROUTER_POLICY_FAILED`, `ROUTER_INVALID_PICKER_ROW`. */
  pick(picker: WorkerPicker, view: CandidateView, costs: Float64Array): number {
    const guard = this.#guard()
    const { count } = view
    let row: unknown
    try {
      row = picker.pick(guarded(guard, this.#context), guarded(guard, view), guarded(guard, costs))
    } catch (cause) {
      throw policyFailure(`picker ${picker.name}`, cause)
    } finally {
      guard?.close()
    }
    if (typeof row === 'number' && Number.isInteger(row) && row >= 0 && row < count) return row
    dropPromise(row)
    const found = typeof row === 'number' ? String(row) : typeof row
    throw new SelectionError(
      'ROUTER_INVALID_PICKER_ROW',
      `picker ${picker.name} returned ${found}; a row is an integer from 0 to ${count - 1}`,
      { row, candidateCount: count, picker: picker.name },
    )
  }

  #guard(): ViewGuard | undefined {
    return this.#checkViews ? new ViewGuard() : undefined
  }
}

/** A component that threw or misbehaved; one that threw a `RequestFault` blames the request. */
function policyFailure(component: string, cause: unknown): SelectionError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  const details = { component, reason, blamesRequest: RequestFault.isInstance(cause) }
  return new SelectionError('ROUTER_POLICY_FAILED', `${component} failed: ${reason}`, details, { cause })
}

function guarded<T extends object>(guard: ViewGuard | undefined, view: T): T {
  return guard === undefined ? view : guard.wrap(view)
}

/** Whether `value` is a promise. One that rejects later must not end the process as an unhandled rejection. */
export function dropPromise(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (typeof (value as { then?: unknown }).then !== 'function') return false
  Promise.resolve(value).catch(() => {})
  return true
}
