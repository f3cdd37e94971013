import {
  type RouterDefaults,
  type ResolvedPolicy,
  SelectionError,
  type SelectionOutcome,
  type WorkerInputName,
  type WorkerRole,
  routerDefaults as builtInDefaults,
  workerInputNames,
} from '@router/sdk'
import { CandidateView } from './candidate-view.js'
import { ColumnSet, type GroupName } from './column-set.js'
import { ComponentCalls, policyFailure } from './component-calls.js'
import { CostBuffers } from './cost-buffers.js'
import { Eligibility } from './eligibility.js'
import type { SelectionExplanation } from './explanation.js'
import type { Tiers } from './host-loops.js'
import { type BuiltComponent, type BuiltPolicy, buildPolicy } from './policy-build.js'
import { type LivePolicy, PolicyInstance } from './policy-instance.js'
import { HostScope } from './policy-scope.js'
import { Recorder } from './recorder.js'
import type { SelectionRequest, SelectionResult } from './request.js'
import { RowGather } from './row-gather.js'
import { RowList } from './row-list.js'
import { SelectionContext } from './selection-context.js'
import { LiveResult, copyResult } from './selection-result.js'
import { TaintMultipliers } from './taint-multipliers.js'
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

interface Views {
  readonly whole: CandidateView
  readonly gathered: CandidateView
}

type Viewed<C> = BuiltComponent<C> & { readonly views: Views }

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
  readonly #eligibility: Eligibility
  readonly #context: SelectionContext
  readonly #calls: ComponentCalls
  readonly #costs: CostBuffers
  readonly #taints: TaintMultipliers
  readonly #gathered: ColumnSet
  readonly #filterGather: RowGather
  readonly #gather: RowGather
  readonly #keptList: RowList
  readonly #filters: readonly Viewed<BuiltPolicy['filters'][number]['component']>[]
  readonly #scorers: readonly Viewed<BuiltPolicy['scorers'][number]['component']>[]
  readonly #picker: Viewed<BuiltPolicy['picker']['component']>
  readonly #views: readonly Views[]
  readonly #tableTiers: Tiers
  readonly #gatheredTiers: Tiers
  readonly #usesCache: boolean
  readonly #usesTaints: boolean
  readonly #filtersUseTaints: boolean
  readonly #isExclusive: boolean
  readonly #result: LiveResult
  readonly #workerIdOf: (row: number) => bigint
  /** Rows of the table by row of the current view; `undefined` = the whole table, row by row. */
  #list: RowList | undefined
  #count = 0
  /** Whether `maximumReuse` was found along with the totals. */
  #knowsReuse = false
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
    this.declaredInputs = this.#built.declared
    this.#live = { policy: this.#built.policy, scope: inputScope, declared: new Set(this.declaredInputs) }
    this.instance.attach(this.#live)
    this.#usesCache = this.declaredInputs.includes('cache')
    this.#usesTaints = this.declaredInputs.includes('preferredTaint')
    this.#filtersUseTaints = this.#built.filters.some(({ inputs }) => inputs.includes('preferredTaint'))
    this.#isExclusive = definition.affinity === 'exclusive'
    const groups: GroupName[] = [
      'identity',
      ...this.declaredInputs.filter((group) => group !== 'preferredTaint'),
    ]
    const filterGroups = new Set<GroupName>([
      'identity',
      ...this.#built.filters.flatMap(({ inputs }) => inputs),
    ])
    this.#gathered = new ColumnSet(table.memory, ['identity', ...this.declaredInputs])
    this.#gather = new RowGather(table, this.#gathered, groups)
    this.#filterGather = new RowGather(
      table,
      this.#gathered,
      groups.filter((group) => filterGroups.has(group)),
    )
    this.#eligibility = new Eligibility(table)
    this.#keptList = new RowList(table.memory)
    this.#costs = new CostBuffers(table)
    this.#taints = new TaintMultipliers(table)
    this.#workerIdOf = (row) => table.workers[this.#workerAt(row)]!.workerId
    this.#context = new SelectionContext((row) =>
      row >= 0 && row < this.#count ? table.workers[this.#workerAt(row)] : undefined,
    )
    this.#calls = new ComponentCalls(this.#context, options.checkViews ?? false)
    const view = <C>(built: BuiltComponent<C>): Viewed<C> => ({
      ...built,
      views: this.#viewsFor(built.inputs),
    })
    this.#filters = this.#built.filters.map(view)
    this.#scorers = this.#built.scorers.map(view)
    this.#picker = view(this.#built.picker)
    this.#tableTiers = tiersOf(table.columns)
    this.#gatheredTiers = tiersOf(this.#gathered)
    this.#views = [...this.#filters, ...this.#scorers, this.#picker].map(({ views }) => views)
    this.#result = new LiveResult(table, this.instance.identity)
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
      return this.#run(request, undefined)
    } finally {
      this.#leave()
    }
  }

  /** Takes a selection apart. A query, whatever the request's mode: it leaves no trace. */
  explain(request: SelectionRequest): SelectionExplanation {
    const query: SelectionRequest = { ...request, mode: 'query' }
    const recorder = new Recorder(this.#table)
    this.#enter(query)
    try {
      const policy = this.instance.identity
      try {
        const result = copyResult(this.#run(query, recorder))
        return { ...recorder.explanation(query, this.#eligibility, { result }), policy }
      } catch (error) {
        if (!SelectionError.isInstance(error)) throw error
        return { ...recorder.explanation(query, this.#eligibility, { error }), policy }
      }
    } finally {
      this.#leave()
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
    this.instance.detach(this.#live)
    this.#gathered.release()
    const columns = [...this.#keptList.columns(), ...this.#costs.columns(), ...this.#eligibility.columns()]
    this.#table.memory.release({ columns, scratch: this.#host.scratch })
  }

  #enter(request: SelectionRequest): void {
    if (this.#isSelecting) {
      throw new SelectionError(
        'ROUTER_SELECTION_REENTERED',
        'a selection was started from inside a selection',
      )
    }
    checkRequest(request)
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

  #run(request: SelectionRequest, recorder: Recorder | undefined): SelectionResult {
    const table = this.#table
    table.settle()
    if (this.#workersVersion !== table.workersVersion) this.#takeWorkers()
    const eligibility = this.#eligibility
    eligibility.enumerate(request, this.#isExclusive)
    if (eligibility.count === 0) throw eligibility.emptinessError()
    this.#list = eligibility.isWholeTable ? undefined : eligibility.list
    this.#count = eligibility.count
    this.#setRequestFacts(request)
    if (this.#filters.length > 0) this.#filterRows(request, recorder)
    else if (this.#list !== undefined) this.#gather.gather(this.#list)
    if (this.#usesTaints) this.#fillTaints(request)
    this.#publish()
    recorder?.kept(this.#list, this.#count, this.#taintsApply(request) ? this.#taintColumn() : undefined)
    this.#score(recorder)
    const row = this.#pick(recorder)
    return this.#conclude(this.#list === undefined ? row : this.#list.rows.view[row]!, request)
  }

  #setRequestFacts(request: SelectionRequest): void {
    const { cache, load } = this.#table.columns.views
    load!.allAvailable = this.#table.unknownLoads === 0
    cache!.allAvailable = this.#table.unknownCaches === 0
    cache!.hasTierMatches = request.hasTierMatches ?? false
    cache!.sharedHits = request.sharedHits
    const gathered = this.#gathered.views.cache
    if (gathered === undefined) return
    gathered.hasTierMatches = request.hasTierMatches ?? false
    gathered.sharedHits = request.sharedHits
  }

  #filterRows(request: SelectionRequest, recorder: Recorder | undefined): void {
    if (this.#list !== undefined) this.#filterGather.gather(this.#list)
    if (this.#filtersUseTaints) this.#fillTaints(request)
    this.#publish()
    const kept = this.#keptList
    kept.clear()
    for (let row = 0; row < this.#count; row++) {
      const tableRow = this.#list === undefined ? row : this.#list.rows.view[row]!
      const filter = this.#rejectingFilter(row)
      if (filter === undefined) kept.push(tableRow)
      else recorder?.rejectedBy(filter, tableRow)
    }
    if (kept.count === 0) {
      const message = `the policy's filters rejected all ${this.#count} eligible ranks`
      throw new SelectionError('ROUTER_ALL_ELIGIBLE_WORKERS_FILTERED', message, { eligible: this.#count })
    }
    if (kept.count < this.#count) {
      this.#list = kept
      this.#count = kept.count
    }
    if (this.#list !== undefined) this.#gather.gather(this.#list)
  }

  #rejectingFilter(row: number): string | undefined {
    for (let index = 0; index < this.#filters.length; index++) {
      const { component, views } = this.#filters[index]!
      if (!this.#calls.keep(component, this.#viewOf(views), row)) return component.name
    }
    return undefined
  }

  #taintsApply(request: SelectionRequest): boolean {
    const preferred = request.preferredTaints
    return (
      this.#usesTaints &&
      preferred !== undefined &&
      preferred.length > 0 &&
      request.pinnedWorker === undefined
    )
  }

  #taintColumn(): Float64Array {
    return this.#gathered.views.preferredTaint!.multiplier
  }

  #fillTaints(request: SelectionRequest): void {
    const applies = this.#taintsApply(request)
    this.#gathered.views.preferredTaint!.applies = applies
    if (applies)
      this.#taints.fill(request.preferredTaints!, this.#list?.rows.view, this.#count, this.#taintColumn())
  }

  /** Tells every view how many rows there are. */
  #publish(): void {
    for (let index = 0; index < this.#views.length; index++) {
      const { whole, gathered } = this.#views[index]!
      whole.count = this.#count
      gathered.count = this.#count
    }
  }

  #score(recorder: Recorder | undefined): void {
    const costs = this.#costs
    const count = this.#count
    const contributions = costs.contributions.view
    this.#knowsReuse = false
    if (this.#scorers.length === 0) costs.totals.view.fill(0, 0, count)
    costs.begin(count)
    for (let index = 0; index < this.#scorers.length; index++) {
      const { component, views } = this.#scorers[index]!
      try {
        this.#calls.score(component, this.#viewOf(views), contributions)
      } catch (error) {
        costs.spoil()
        throw error
      }
      recorder?.contributed(component.name, contributions)
      const badRow = index === 0 ? this.#addFirst(count) : costs.add(count, false)
      if (badRow >= 0) throw this.#nonFiniteCost(index, badRow, costs.totals.view[badRow]!)
    }
  }

  /** The first scorer's costs; in the same pass the largest raw reuse, where the result will want it. */
  #addFirst(count: number): number {
    const { contributions, totals, maximumReuse } = this.#costs
    if (!this.#usesCache || this.#context.queryOnly) return this.#costs.add(count, true)
    this.#knowsReuse = true
    return this.#table.loops.accumulateWithReuse(contributions, totals, count, this.#tiers(), maximumReuse)
  }

  #nonFiniteCost(scorerIndex: number, row: number, value: number): SelectionError {
    const scorer = this.#scorers[scorerIndex]!.component.name
    const workerId = this.#workerIdOf(row)
    const tableRow = this.#list === undefined ? row : this.#list.rows.view[row]!
    const dpRank = this.#table.columns.views.identity!.dpRank[tableRow]!
    return new SelectionError(
      'ROUTER_NON_FINITE_COST',
      `non-finite cost ${value} after scorer ${scorerIndex} (${scorer}) for row ${row}: worker ${workerId}, rank ${dpRank}`,
      { scorerIndex, scorer, row, workerId, dpRank, value },
    )
  }

  #pick(recorder: Recorder | undefined): number {
    const { component, views } = this.#picker
    const view = this.#viewOf(views)
    if (recorder !== undefined) this.#explainPick(recorder, view)
    return this.#calls.pick(component, view, this.#costs.totals.view)
  }

  #explainPick(recorder: Recorder, view: CandidateView): void {
    const { component } = this.#picker
    const totals = this.#costs.totals.view
    try {
      recorder.picked(totals, component.explain?.(this.#context, view, totals))
    } catch (cause) {
      throw policyFailure(`picker ${component.name} (explain)`, cause)
    }
  }

  #conclude(tableRow: number, request: SelectionRequest): SelectionResult {
    const context = this.#context
    const { maximumReuse } = this.#costs
    if (this.#usesCache && !context.queryOnly && !this.#knowsReuse) {
      this.#table.loops.maximumReuse(this.#count, this.#tiers(), maximumReuse)
    }
    const result = this.#result
    result.policy = this.instance.identity
    result.fill(tableRow, context, request.prefixHashes?.count ?? 0, this.#usesCache, maximumReuse.view)
    return result
  }

  #tiers(): Tiers {
    return this.#list === undefined ? this.#tableTiers : this.#gatheredTiers
  }

  #viewOf(views: Views): CandidateView {
    return this.#list === undefined ? views.whole : views.gathered
  }

  #takeWorkers(): void {
    const table = this.#table
    this.#workersVersion = table.workersVersion
    this.#warnings.retainWorkers((workerId) => table.workerIndexOf(workerId) >= 0)
    this.#hook('onWorkersChanged', () => this.#built.policy.onWorkersChanged?.(table.workers))
  }

  /** A throw from a hook is reported once a hook and never reaches a request. */
  #hook<T>(name: string, call: () => T): T | undefined {
    try {
      return call()
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      this.#warnings.once(
        `policy_${name}_failed`,
        `policy ${this.instance.definition.type}: ${name} threw: ${reason}`,
      )
      return undefined
    }
  }

  #viewsFor(inputs: readonly WorkerInputName[]): Views {
    const view = (columns: ColumnSet) => new CandidateView(columns, this.#gathered, inputs, this.#workerIdOf)
    return { whole: view(this.#table.columns), gathered: view(this.#gathered) }
  }

  #workerAt(row: number): number {
    return this.#table.workerOfRow[this.#list === undefined ? row : this.#list.rows.view[row]!]!
  }
}

/** A selector for one partition and role. Errors: those of building the policy, `docs/errors.md`, section catalog. */
export function createSelector(options: SelectorOptions): Selector {
  return new Selector(options)
}

function checkRequest(request: SelectionRequest): void {
  const { promptTokens, blockSize } = request
  if (
    Number.isSafeInteger(promptTokens) &&
    promptTokens >= 0 &&
    Number.isSafeInteger(blockSize) &&
    blockSize >= 1
  )
    return
  throw new SelectionError(
    'ROUTER_BAD_REQUEST',
    `promptTokens must be an integer >= 0 and blockSize one >= 1, got ${promptTokens} and ${blockSize}`,
    { promptTokens, blockSize },
  )
}

function tiersOf(columns: ColumnSet): Tiers {
  const cache = columns.groups.cache ?? undefined
  // A policy without the cache group never asks.
  if (cache === undefined) return undefined as never
  return { device: cache.deviceOverlapBlocks, host: cache.hostOverlapBlocks, disk: cache.diskOverlapBlocks }
}
