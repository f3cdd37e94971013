import {
  type ResolvedPolicy,
  type RouterDefaults,
  SelectionError,
  type SelectionOutcome,
  type WorkerInfo,
  type WorkerInputName,
  type WorkerRole,
  routerDefaults as builtInDefaults,
  workerInputNames,
} from '@router/sdk'
import { ComponentCalls, dropPromise } from './component-calls.js'
import type { SelectionExplanation } from './explanation.js'
import { Pipeline } from './pipeline.js'
import { type BuiltPolicy, buildPolicy } from './policy-build.js'
import { type LivePolicy, PolicyInstance } from './policy-instance.js'
import { HostScope } from './policy-scope.js'
import { Recorder } from './recorder.js'
import type { SelectionRequest, SelectionResult } from './request.js'
import { SelectionContext } from './selection-context.js'
import { LiveResult, copyResult } from './selection-result.js'
import { type RouterWarning, WarningGate } from './warnings.js'
import type { WorkerTable } from './worker-table.js'

/** Where a selector serves, and the host services it may use. */
export interface SelectorOptions {
  readonly table: WorkerTable
  readonly policy: ResolvedPolicy | PolicyInstance
  readonly role: WorkerRole
  /** Default `default`. */
  readonly model?: string
  /** Default `default`. */
  readonly routingGroup?: string
  /** Default false. */
  readonly conditionalDisaggregation?: boolean
  readonly routerDefaults?: RouterDefaults
  /** Seeds of the streams that a policy opens without one. */
  readonly entropy: () => bigint
  /** Monotonic clock, milliseconds. */
  readonly nowMs: () => number
  readonly onWarning?: (warning: RouterWarning) => void
  /** Makes views throw `ROUTER_VIEW_STALE` once their callback has returned. For tests: allocates. */
  readonly checkViews?: boolean
  /** Groups that this host can supply. Default: all. */
  readonly supportedInputs?: readonly WorkerInputName[]
}

/** Selects rows for one partition and role with one policy object. One owner, called serially. */
export class Selector {
  readonly instance: PolicyInstance
  /** The union of the groups that the policy declared. */
  readonly declaredInputs: readonly WorkerInputName[]
  readonly #table: WorkerTable
  readonly #built: BuiltPolicy
  readonly #live: LivePolicy
  readonly #host: HostScope
  readonly #warnings: WarningGate
  readonly #context: SelectionContext
  readonly #pipeline: Pipeline
  readonly #usesCache: boolean
  readonly #result: LiveResult
  readonly #stopListening: () => void
  #workersVersion = -1
  #isSelecting = false
  #isDisposed = false

  constructor(options: SelectorOptions) {
    const { table, role, conditionalDisaggregation = false, routerDefaults = builtInDefaults } = options
    this.#table = table
    this.instance =
      options.policy instanceof PolicyInstance ? options.policy : new PolicyInstance(options.policy)
    const { definition, runtime, name } = this.instance
    this.#warnings = new WarningGate(name, options.onWarning ?? (() => {}))
    const inputScope = { role, conditionalDisaggregation, routerDefaults, reservesRuntimeInputs: runtime }
    const place = { model: options.model ?? 'default', routingGroup: options.routingGroup ?? 'default' }
    const services = {
      memory: table.memory,
      entropy: options.entropy,
      nowMs: options.nowMs,
      warnings: this.#warnings,
    }
    this.#host = new HostScope(inputScope, place, services)
    this.#built = buildPolicy(
      this.instance,
      inputScope,
      this.#host,
      options.supportedInputs ?? workerInputNames,
    )
    this.#host.seal()
    this.declaredInputs = this.#built.declared
    this.#live = { policy: this.#built.policy, scope: inputScope, declared: new Set(this.declaredInputs) }
    this.instance.attach(this.#live)
    this.#usesCache = this.declaredInputs.includes('cache')
    this.#context = new SelectionContext((row) => this.#workerInfo(row))
    const calls = new ComponentCalls(this.#context, options.checkViews ?? false)
    this.#pipeline = new Pipeline(
      table,
      this.#built,
      this.#context,
      calls,
      definition.affinity === 'exclusive',
    )
    this.#result = new LiveResult(table, this.instance.identity)
    this.#stopListening = table.onDeparture((workerId) => this.#warnings.forget(workerId))
    if (!definition.roles.includes(role)) {
      const message = `policy ${definition.type} is meant for ${definition.roles.join(', ')}, not for ${role}`
      this.#warnings.once('role_not_intended', message)
    }
  }

  /** Seeds of the policy's random streams, in order of creation. */
  get seeds(): readonly bigint[] {
    return this.#host.seeds
  }

  /** Warnings remembered for de-duplication. */
  get rememberedWarnings(): number {
    return this.#warnings.size
  }

  /**
   * Chooses a row. The result is overwritten by the next selection. Books nothing: the caller does, from the result.
   * Errors (`SelectionError`): the codes of `docs/errors.md`, section selection; the policy stays usable after each.
   * Warm, it allocates nothing but what the policy does.
   */
  select(request: SelectionRequest): SelectionResult {
    this.#enter(request)
    try {
      return this.#runAsAsked(request, undefined)
    } finally {
      this.#leave()
    }
  }

  /**
   * Largest weighed overlap among the ranks that were eligible for the last selection, before any filter of the policy and whether or not
   * the policy looks at caches; blocks, 0 where nobody is known to have any. `O(ranks)`: ask before the table changes.
   */
  get bestEligibleOverlapBlocks(): number {
    return this.#pipeline.eligibility.bestOverlapBlocks()
  }

  /** Takes a selection apart. A query, whatever the request's mode: it leaves no trace. */
  explain(request: SelectionRequest): SelectionExplanation {
    let explanation: SelectionExplanation | undefined
    try {
      this.selectExplained({ ...request, mode: 'query' }, (found) => (explanation = found))
    } catch (error) {
      if (explanation === undefined) throw error
    }
    return explanation!
  }

  /**
   * Chooses as `select` does and tells how it came about, also where it comes to nothing. Errors: those of `select`. `O(ranks)`, allocates.
   * @param onExplained told before it is returned or thrown; must not throw
   */
  selectExplained(
    request: SelectionRequest,
    onExplained: (explanation: SelectionExplanation) => void,
  ): SelectionResult {
    const recorder = new Recorder(this.#table, (ask) => this.#asQuery(ask))
    const tell = (outcome: { result: SelectionResult } | { error: SelectionError }): void => {
      const explanation = recorder.explanation(request, this.#pipeline.eligibility, outcome)
      onExplained({ ...explanation, policy: this.instance.identity })
    }
    this.#enter(request)
    try {
      let result: SelectionResult
      try {
        result = this.#runAsAsked(request, recorder)
      } catch (error) {
        if (SelectionError.isInstance(error)) tell({ error })
        throw error
      }
      tell({ result: copyResult(result) })
      return result
    } finally {
      this.#leave()
      if (recorder.pickFault !== undefined) this.#hookFailed('explain', recorder.pickFault)
    }
  }

  /** Tells the policy how a tracked selection ended. */
  observe(outcome: SelectionOutcome): void {
    this.#hook('observe', () => this.#built.policy.observe?.(outcome))
  }

  /** State for hand-over to another process; `undefined` when the policy keeps none. */
  snapshot(): unknown {
    return this.#hook('snapshot', () => this.#built.policy.snapshot?.())
  }

  /** Takes over a snapshot; one that the policy refuses leaves it fresh, with a warning. */
  restore(value: unknown): void {
    this.#hook('restore', () => this.#built.policy.restore?.(value))
  }

  /** Once, last. Gives the memory back. */
  dispose(): void {
    if (this.#isDisposed) return
    this.#isDisposed = true
    this.#hook('dispose', () => this.#built.policy.dispose?.())
    this.#stopListening()
    this.instance.detach(this.#live)
    this.#pipeline.release()
    this.#host.release()
  }

  #enter(request: SelectionRequest): void {
    if (this.#isSelecting) {
      throw new SelectionError(
        'ROUTER_SELECTION_REENTERED',
        'a selection was started from inside a selection',
      )
    }
    // Its columns may be somebody else's by now.
    if (this.#isDisposed) throw new TypeError('a selector selects no more after dispose()')
    checkRequest(request)
    const table = this.#table
    table.settle()
    // Before a query is muted and its streams are marked: news of workers is kept whichever request brings it.
    if (this.#workersVersion !== table.workersVersion) this.#takeWorkers()
    this.#isSelecting = true
    this.#context.fill(request)
    this.#warnings.muted = this.#context.queryOnly
    if (this.#context.queryOnly) this.#host.markStreams()
  }

  #leave(): void {
    if (this.#context.queryOnly) this.#host.rewindStreams()
    this.#warnings.muted = false
    this.#isSelecting = false
  }

  /** Asks the policy something in the middle of a selection; one that books counts as a query for as long as that lasts. */
  #asQuery<T>(ask: () => T): T {
    const context = this.#context
    // The streams of a query go back at its end.
    if (context.queryOnly) return ask()
    context.queryOnly = true
    this.#warnings.muted = true
    this.#host.markStreams()
    try {
      return ask()
    } finally {
      this.#host.rewindStreams()
      this.#warnings.muted = false
      context.queryOnly = false
    }
  }

  #runAsAsked(request: SelectionRequest, recorder: Recorder | undefined): SelectionResult {
    const { parameterOverrides } = request
    if (parameterOverrides === undefined) return this.#run(request, recorder)
    return this.#runWithOverrides(request, recorder, parameterOverrides)
  }

  // Apart, for a function with closures allocates what they capture even where it makes none.
  #runWithOverrides(
    request: SelectionRequest,
    recorder: Recorder | undefined,
    overrides: NonNullable<SelectionRequest['parameterOverrides']>,
  ): SelectionResult {
    return this.instance.withOverrides(
      this.#live,
      overrides,
      () => this.#run(request, recorder),
      (why) => this.#warnings.once('overrides_refused', `the overrides of a request are ignored: ${why}`),
    )
  }

  #run(request: SelectionRequest, recorder: Recorder | undefined): SelectionResult {
    const pipeline = this.#pipeline
    pipeline.run(request, recorder)
    const result = this.#result
    result.policy = this.instance.identity
    const trackedHashes = request.prefixHashes?.count ?? 0
    result.fill(
      pipeline.pickedRow,
      this.#context,
      trackedHashes,
      this.#usesCache,
      pipeline.costs.maximumReuse.view,
    )
    result.admit(this.instance.definition.occupancyAdmission, this.#context)
    return result
  }

  #takeWorkers(): void {
    const table = this.#table
    this.#workersVersion = table.workersVersion
    this.#warnings.retain(table)
    this.#isSelecting = true
    try {
      this.#hook('onWorkersChanged', () => this.#built.policy.onWorkersChanged?.(table.workers))
    } finally {
      this.#isSelecting = false
    }
  }

  /** A throw from a hook, or a promise, is reported once a hook and never reaches a request. */
  #hook<T>(name: string, call: () => T): T | undefined {
    try {
      const value = call()
      if (dropPromise(value)) throw new TypeError('hooks must not return a promise')
      return value
    } catch (cause) {
      this.#hookFailed(name, cause)
      return undefined
    }
  }

  #hookFailed(name: string, cause: unknown): void {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const message = `policy ${this.instance.definition.type}: ${name} threw: ${reason}`
    this.#warnings.once(`policy_${name}_failed`, message)
  }

  #workerInfo(row: number): WorkerInfo | undefined {
    return row >= 0 && row < this.#pipeline.count
      ? this.#table.workers[this.#pipeline.workerAt(row)]
      : undefined
  }
}

/** A selector for one partition and role. Errors: those of building the policy, `docs/errors.md`, section catalog. */
export function createSelector(options: SelectorOptions): Selector {
  return new Selector(options)
}

function checkRequest(request: SelectionRequest): void {
  const { mode, promptTokens, blockSize, preferredTaints } = request
  const hasSizes =
    Number.isSafeInteger(promptTokens) &&
    promptTokens >= 0 &&
    Number.isSafeInteger(blockSize) &&
    blockSize >= 1
  if (!hasSizes) {
    throw new SelectionError(
      'ROUTER_BAD_REQUEST',
      `promptTokens must be an integer >= 0 and blockSize one >= 1, got ${promptTokens} and ${blockSize}`,
      { promptTokens, blockSize },
    )
  }
  if (mode !== 'tracked' && mode !== 'query') {
    const message = `mode must be tracked or query, got ${String(mode)}`
    throw new SelectionError('ROUTER_BAD_REQUEST', message, { mode })
  }
  if (preferredTaints === undefined) return
  for (let index = 0; index < preferredTaints.length; index++) {
    const { taint, weight } = preferredTaints[index]!
    const rounded = Math.fround(weight)
    if (rounded - rounded === 0) continue
    throw new SelectionError(
      'ROUTER_BAD_REQUEST',
      `the weight of preferred taint '${taint}' must be a finite 32-bit float, got ${weight}`,
      { taint, weight },
    )
  }
}
