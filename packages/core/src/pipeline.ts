import { type PickExplanation, SelectionError, type WorkerInputName } from '@router/sdk'
import { CandidateView } from './candidate-view.js'
import type { Column } from './column-memory.js'
import { ColumnSet, type GroupName } from './column-set.js'
import type { ComponentCalls } from './component-calls.js'
import { CostBuffers } from './cost-buffers.js'
import { Eligibility, type Stage, gatheredRows } from './eligibility.js'
import type { BuiltComponent, BuiltPolicy } from './policy-build.js'
import type { Recorder } from './recorder.js'
import type { SelectionRequest } from './request.js'
import { RowGather } from './row-gather.js'
import { RowList } from './row-list.js'
import type { SelectionContext } from './selection-context.js'
import { TaintMultipliers } from './taint-multipliers.js'
import type { WorkerTable } from './worker-table.js'

/** A component and its view of each stage's columns. */
type Viewed<C> = BuiltComponent<C> & { readonly views: readonly CandidateView[] }

/** Enumerate, filter, score, sum, pick: the row work of one policy object's selections. Allocates nothing when warm. */
export class Pipeline {
  readonly eligibility: Eligibility
  /** Row of the table that was picked. */
  pickedRow = 0
  readonly costs: CostBuffers
  readonly #table: WorkerTable
  readonly #context: SelectionContext
  readonly #calls: ComponentCalls
  readonly #taints: TaintMultipliers
  readonly #gathered: ColumnSet
  readonly #filterGather: RowGather
  readonly #gather: RowGather
  readonly #keptList: RowList
  readonly #filters: readonly Viewed<BuiltPolicy['filters'][number]['component']>[]
  readonly #scorers: readonly Viewed<BuiltPolicy['scorers'][number]['component']>[]
  readonly #picker: Viewed<BuiltPolicy['picker']['component']>
  readonly #views: readonly CandidateView[]
  readonly #columns: readonly ColumnSet[]
  /** Raw reuse by stage; empty when the policy declared no cache. */
  readonly #reuse: readonly Column<Float64Array>[]
  readonly #usesCache: boolean
  readonly #usesTaints: boolean
  readonly #filtersUseTaints: boolean
  readonly #isExclusive: boolean
  /** Where the current rows lie. */
  #stage: Stage = 0
  /** Rows of the table by current row; says nothing for the whole table. */
  #list: RowList
  #count = 0

  constructor(
    table: WorkerTable,
    built: BuiltPolicy,
    context: SelectionContext,
    calls: ComponentCalls,
    isExclusive: boolean,
  ) {
    const { declared } = built
    this.#table = table
    this.#context = context
    this.#calls = calls
    this.#isExclusive = isExclusive
    this.#usesCache = declared.includes('cache')
    this.#usesTaints = declared.includes('preferredTaint')
    this.#filtersUseTaints = built.filters.some(({ inputs }) => inputs.includes('preferredTaint'))
    const ofHost: GroupName[] = this.#usesCache ? ['identity', 'reuse'] : ['identity']
    this.#gathered = new ColumnSet(table.memory, [...ofHost, ...declared])
    this.#columns = [table.columns, table.eligible.columns, this.#gathered]
    this.#reuse = this.#usesCache ? this.#columns.map(({ groups }) => groups.reuse!.rawBlocks) : []
    const groups: GroupName[] = [...ofHost, ...declared.filter((group) => group !== 'preferredTaint')]
    const filterGroups = new Set<GroupName>(['identity', ...built.filters.flatMap(({ inputs }) => inputs)])
    this.#gather = new RowGather(table, this.#gathered, groups)
    this.#filterGather = new RowGather(
      table,
      this.#gathered,
      groups.filter((group) => filterGroups.has(group)),
    )
    this.eligibility = new Eligibility(table)
    this.#list = this.eligibility.list
    this.#keptList = new RowList(table.memory)
    this.costs = new CostBuffers(table)
    this.#taints = new TaintMultipliers(table)
    const viewed = <C>(component: BuiltComponent<C>): Viewed<C> => ({
      ...component,
      views: this.#viewsFor(component.inputs),
    })
    this.#filters = built.filters.map(viewed)
    this.#scorers = built.scorers.map(viewed)
    this.#picker = viewed(built.picker)
    this.#views = [...this.#filters, ...this.#scorers, this.#picker].flatMap(({ views }) => views)
  }

  /** Rows of the current selection. */
  get count(): number {
    return this.#count
  }

  /** Index into the table's workers of a current row. */
  workerAt(row: number): number {
    return this.#table.workerOfRow[this.#tableRowOf(row)]!
  }

  /** Picks a row into `pickedRow`. Errors: the selection codes of `docs/errors.md`. */
  run(request: SelectionRequest, recorder: Recorder | undefined): void {
    const { eligibility } = this
    eligibility.enumerate(request, this.#isExclusive)
    if (eligibility.count === 0) throw eligibility.emptinessError()
    this.#list = eligibility.list
    this.#stage = eligibility.stage
    this.#count = eligibility.count
    if (this.#filters.length > 0) this.#filter(request, recorder)
    if (this.#stage === gatheredRows) this.#gather.gather(this.#list)
    this.#setRequestFacts(request)
    if (this.#usesTaints) this.#fillTaints(request)
    recorder?.kept(this.#tableRows(), this.#taintsApply(request) ? this.#taintColumn() : undefined)
    this.#score(recorder)
    this.pickedRow = this.#tableRowOf(this.#pick(recorder))
  }

  release(): void {
    this.#gathered.release()
    const columns: readonly Column[] = [
      ...this.#keptList.columns(),
      ...this.costs.columns(),
      ...this.eligibility.columns(),
    ]
    this.#table.memory.release({ columns })
  }

  /** What the views say of the request and of all rows. */
  #setRequestFacts(request: SelectionRequest): void {
    const set = this.#columns[this.#stage]!
    const { cache, load } = set.views
    if (cache !== undefined) {
      cache.hasTierMatches = request.hasTierMatches ?? false
      cache.sharedHits = request.sharedHits
    }
    // Gathering has looked at the gathered rows already.
    if (this.#stage !== gatheredRows) {
      const ranks = this.#stage === 0 ? this.#table.columns : this.#table.eligible.columns
      load!.allAvailable = ranks.unknownLoads === 0
      cache!.allAvailable = ranks.unknownCaches === 0
    }
    for (let index = 0; index < this.#views.length; index++) this.#views[index]!.count = this.#count
  }

  #filter(request: SelectionRequest, recorder: Recorder | undefined): void {
    if (this.#stage === gatheredRows) this.#filterGather.gather(this.#list)
    this.#setRequestFacts(request)
    if (this.#filtersUseTaints) this.#fillTaints(request)
    const kept = this.#keptList
    kept.clear()
    for (let row = 0; row < this.#count; row++) {
      const filter = this.#rejectingFilter(row)
      if (filter === undefined) kept.push(this.#tableRowOf(row))
      else recorder?.rejectedBy(filter, this.#tableRowOf(row))
    }
    if (kept.count === 0) {
      const message = `the policy's filters rejected all ${this.#count} eligible ranks`
      throw new SelectionError('ROUTER_ALL_ELIGIBLE_WORKERS_FILTERED', message, { eligible: this.#count })
    }
    if (kept.count === this.#count) return
    this.#list = kept
    this.#stage = gatheredRows
    this.#count = kept.count
  }

  #rejectingFilter(row: number): string | undefined {
    for (let index = 0; index < this.#filters.length; index++) {
      const { component, views } = this.#filters[index]!
      if (!this.#calls.keep(component, views[this.#stage]!, row)) return component.name
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
    if (!applies) return
    this.#taints.fill(request.preferredTaints!, this.#listedRows(), this.#count, this.#taintColumn())
  }

  #score(recorder: Recorder | undefined): void {
    const { costs } = this
    const count = this.#count
    const contributions = costs.contributions.view
    const wantsReuse = this.#usesCache && !this.#context.queryOnly
    costs.begin(count)
    if (this.#scorers.length === 0) {
      costs.totals.view.fill(0, 0, count)
      if (wantsReuse) this.#table.loops.maximumReuse(count, this.#reuse[this.#stage]!, costs.maximumReuse)
    }
    for (let index = 0; index < this.#scorers.length; index++) {
      const { component, views } = this.#scorers[index]!
      try {
        this.#calls.score(component, views[this.#stage]!, contributions)
      } catch (error) {
        costs.spoil()
        throw error
      }
      recorder?.contributed(component.name, contributions)
      const badRow =
        index === 0 && wantsReuse
          ? costs.addFirstWithReuse(count, this.#reuse[this.#stage]!)
          : costs.add(count, index === 0)
      if (badRow >= 0) throw this.#nonFiniteCost(index, badRow, costs.totals.view[badRow]!)
    }
  }

  #nonFiniteCost(scorerIndex: number, row: number, value: number): SelectionError {
    const scorer = this.#scorers[scorerIndex]!.component.name
    const { workerId } = this.#table.workers[this.workerAt(row)]!
    const dpRank = this.#table.columns.views.identity!.dpRank[this.#tableRowOf(row)]!
    return new SelectionError(
      'ROUTER_NON_FINITE_COST',
      `non-finite cost ${value} after scorer ${scorerIndex} (${scorer}) for row ${row}: worker ${workerId}, rank ${dpRank}`,
      { scorerIndex, scorer, row, workerId, dpRank, value },
    )
  }

  #pick(recorder: Recorder | undefined): number {
    const { component, views } = this.#picker
    const view = views[this.#stage]!
    const totals = this.costs.totals.view
    recorder?.summed(totals)
    const row = this.#calls.pick(component, view, totals)
    if (recorder !== undefined) this.#explainPick(recorder)
    return row
  }

  #explainPick(recorder: Recorder): void {
    const { component, views } = this.#picker
    const view = views[this.#stage]!
    recorder.picked((costs) =>
      checkedExplanation(component.explain?.(this.#context, view, costs), this.#count),
    )
  }

  #viewsFor(inputs: readonly WorkerInputName[]): readonly CandidateView[] {
    const workerIdOf = (row: number): bigint => this.#table.workers[this.workerAt(row)]!.workerId
    return this.#columns.map((columns) => new CandidateView(columns, this.#gathered, inputs, workerIdOf))
  }

  #tableRowOf(row: number): number {
    return this.#stage === 0 ? row : this.#list.rows.view[row]!
  }

  /** Rows of the table by current row; `undefined` = the same. */
  #listedRows(): Uint32Array | undefined {
    return this.#stage === 0 ? undefined : this.#list.rows.view
  }

  #tableRows(): number[] {
    return Array.from({ length: this.#count }, (_, row) => this.#tableRowOf(row))
  }
}

function checkedExplanation(pick: PickExplanation | undefined, count: number): PickExplanation | undefined {
  const wrong = pick?.tieSet.find((row) => !(Number.isInteger(row) && row >= 0 && row < count))
  if (wrong === undefined) return pick
  throw new RangeError(`the tie set names row ${wrong}; a row is an integer from 0 to ${count - 1}`)
}
