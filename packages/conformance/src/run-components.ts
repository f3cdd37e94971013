import {
  CatalogError,
  SelectionError,
  type WorkerCandidates,
  type WorkerInputs,
  type WorkerRank,
  type WorkerSelectionContext,
  type WorkerSelectionPolicy,
  workerInputNames,
} from '@router/sdk'
import { type ViewRead, gateGroups, guardView } from './guarded-view.js'
import type { HandMadeView } from './hand-made-view.js'
import type { TestMemory } from './test-memory.js'
import { type Column, keepRows, mapColumns } from './view-columns.js'

/** A policy object whatever its types. */
export type AnyPolicy = WorkerSelectionPolicy<never, never>

/** One call of a component, with what it was given; `around` sees it before the proxies. */
export interface ComponentCall {
  /** Kind and name: `scorer least-busy`. */
  readonly component: string
  /** Borrowed for the call. */
  readonly context: WorkerSelectionContext
  /** The groups that the component declared; borrowed for the call. */
  readonly candidates: WorkerCandidates
}

/** How to run. */
export interface RunOptions {
  /** Groups that the policy declares; left out = all. A component's own `inputs` narrow them. */
  readonly inputs?: WorkerInputs
  /** Places columns and costs at offsets of this buffer, for policies that were built on it. */
  readonly memory?: TestMemory
  /** Hands each component proxies and columns of its own, which turn stale when its callback returns. */
  readonly checkViews?: boolean
  /** Called at each read of a context, candidates or group. */
  readonly onRead?: ((read: ViewRead) => void) | undefined
  /** Called instead of each component; must call `run` once and return its result. */
  readonly around?: (<T>(call: ComponentCall, run: () => T) => T) | undefined
  /** Value of the entries of `costs` at and past `count`; left out = no such entries. */
  readonly leftOverCost?: number | undefined
}

/** What the components did with a view. */
export interface ComponentRun {
  /** Row of the given view. */
  readonly row: number
  /** Identity of that row. */
  readonly worker: WorkerRank
  /** Rows of the given view that every filter kept, ascending. */
  readonly kept: readonly number[]
  /** Aligned with the given view: the filter that rejected the row. */
  readonly rejectedBy: readonly (string | undefined)[]
  /** In order; `costs` is aligned with `kept`. */
  readonly contributions: readonly { readonly scorer: string; readonly costs: Float64Array }[]
  /** Aligned with `kept`. */
  readonly totals: Float64Array
}

/**
 * Runs filters, scorers and picker over a hand-made view, as the live host would: filters row by row, costs filled with NaN before
 * each scorer, sums and the picked row checked. Unlike the live host it takes rows in any order.
 *
 * Errors: `ROUTER_NO_ENDPOINTS` (no rows), `ROUTER_ALL_ELIGIBLE_WORKERS_FILTERED`, `ROUTER_POLICY_FAILED`,
 * `ROUTER_NON_FINITE_COST`, `ROUTER_INVALID_PICKER_ROW`, with the details of the live host; `ROUTER_INPUT_NOT_DECLARED`.
 */
export function runComponents(
  policy: AnyPolicy,
  view: HandMadeView,
  context: WorkerSelectionContext,
  options: RunOptions = {},
): ComponentRun {
  checkInputs(policy, options.inputs ?? workerInputNames)
  if (view.count === 0) throw new SelectionError('ROUTER_NO_ENDPOINTS', 'the view has no rows')
  const { memory } = options
  const { filters = [], scorers = [], picker } = policy
  memory?.reserveRows(view.count)
  memory?.releaseColumns()
  memory?.reserveColumns(
    reservedBytes(view, filters.length + scorers.length + 1, options.checkViews === true),
  )

  const { kept, rejectedBy } = runFilters(policy, view, context, options)
  const keptView = keepRows(view, kept)
  const keptContext = { ...context, workerInfo: (row: number) => context.workerInfo(kept[row]!) }
  const placed = placeView(keptView, memory)
  const costs = placeCosts(keptView, options)
  const totals = placeCosts(keptView, options)
  totals.fill(0, 0, kept.length)

  const contributions: { scorer: string; costs: Float64Array }[] = []
  for (const [scorerIndex, scorer] of scorers.entries()) {
    costs.fill(NaN, 0, kept.length)
    const result: unknown = callComponent(
      scorer,
      `scorer ${scorer.name}`,
      placed,
      keptContext,
      options,
      (c, v) => scorer.score(c, v as never, costs),
    )
    refuseThenable(result, `scorer ${scorer.name}`)
    addCosts(totals, costs, kept.length, scorerIndex, scorer.name, keptView)
    contributions.push({ scorer: scorer.name, costs: costs.slice(0, kept.length) })
  }

  const picked: unknown = callComponent(
    picker,
    `picker ${picker.name}`,
    placed,
    keptContext,
    options,
    (c, v) => picker.pick(c, v as never, totals),
  )
  const row = checkPick(picked, kept.length, picker.name)
  return {
    row: kept[row]!,
    worker: { workerId: view.workerId(kept[row]!), dpRank: view.dpRank[kept[row]!]! },
    kept,
    rejectedBy,
    contributions,
    totals: totals.slice(0, kept.length),
  }
}

function checkInputs(policy: AnyPolicy, declared: WorkerInputs): void {
  for (const component of [policy.picker, ...(policy.filters ?? []), ...(policy.scorers ?? [])]) {
    const foreign = component.inputs?.find((name) => !declared.includes(name))
    if (foreign === undefined) continue
    const message = `component ${component.name} declares ${foreign}, its policy only ${declared.join(', ') || 'nothing'}`
    const details = { component: component.name, input: foreign }
    throw new CatalogError('ROUTER_INPUT_NOT_DECLARED', message, details)
  }
}

function runFilters(
  policy: AnyPolicy,
  view: HandMadeView,
  context: WorkerSelectionContext,
  options: RunOptions,
) {
  const rejectedBy = Array.from({ length: view.count }, (): string | undefined => undefined)
  const { filters = [] } = policy
  const placed = filters.length === 0 ? view : placeView(view, options.memory)
  for (let row = 0; row < view.count; row++) {
    const rejecting = filters.find((filter) => {
      const component = `filter ${filter.name}`
      const keeps: unknown = callComponent(filter, component, placed, context, options, (c, v) =>
        filter.keep(c, v as never, row),
      )
      if (typeof keeps !== 'boolean')
        throw failed(component, `keep returned ${describe(keeps)}, not a boolean`)
      return !keeps
    })
    rejectedBy[row] = rejecting?.name
  }
  const kept = Array.from(rejectedBy.keys()).filter((row) => rejectedBy[row] === undefined)
  if (kept.length > 0) return { kept, rejectedBy }
  throw new SelectionError('ROUTER_ALL_ELIGIBLE_WORKERS_FILTERED', 'filters rejected every row of the view')
}

function callComponent<T>(
  source: { readonly inputs?: WorkerInputs },
  component: string,
  view: HandMadeView,
  context: WorkerSelectionContext,
  options: RunOptions,
  call: (context: WorkerSelectionContext, candidates: WorkerCandidates) => T,
): T {
  const { checkViews = false, onRead, around = (_call, run) => run() } = options
  let candidates = gateGroups(view, source.inputs ?? options.inputs ?? workerInputNames)
  if (checkViews) candidates = placeView(candidates, options.memory)
  let live = true
  const guard = { onRead, isLive: () => live || !checkViews }
  const watched = checkViews || onRead !== undefined
  const seenContext = watched ? guardView(context, component, 'context', guard) : context
  const seenCandidates = watched ? guardView(candidates, component, 'candidates', guard) : candidates
  try {
    return around({ component, context, candidates }, () => call(seenContext, seenCandidates))
  } catch (cause) {
    if (SelectionError.isInstance(cause)) throw cause
    throw failed(component, cause instanceof Error ? cause.message : String(cause), cause)
  } finally {
    live = false
    if (checkViews) mapColumns(candidates, poison)
  }
}

function poison<T extends Column>(column: T): T {
  column.fill(column instanceof Float64Array ? NaN : 0xffff_ffff)
  return column
}

function placeView<V extends WorkerCandidates>(view: V, memory: TestMemory | undefined): V {
  return mapColumns(view, (column) =>
    memory === undefined ? (column.slice() as typeof column) : memory.place(column),
  )
}

function placeCosts(view: HandMadeView, options: RunOptions): Float64Array {
  const spare = options.leftOverCost === undefined ? 0 : view.dpRank.length - view.count + 4
  const costs = new Float64Array(view.count + spare).fill(options.leftOverCost ?? NaN)
  return options.memory === undefined ? costs : options.memory.place(costs)
}

function reservedBytes(view: HandMadeView, components: number, copies: boolean): number {
  const columns = 24
  const bytes = columns * (view.dpRank.length + 16) * 8
  return bytes * (copies ? components + 3 : 3)
}

function refuseThenable(value: unknown, component: string): void {
  if (typeof (value as { then?: unknown } | undefined)?.then !== 'function') return
  throw failed(component, 'callbacks are synchronous, it returned a promise')
}

function addCosts(
  totals: Float64Array,
  costs: Float64Array,
  count: number,
  scorerIndex: number,
  scorer: string,
  view: HandMadeView,
): void {
  for (let row = 0; row < count; row++) {
    totals[row] = totals[row]! + costs[row]!
    if (Number.isFinite(costs[row]) && Number.isFinite(totals[row])) continue
    const worker = `${view.workerId(row)}.${view.dpRank[row]}`
    const message = `non-finite cost ${costs[row]} of scorer ${scorerIndex} (${scorer}) for row ${row}, worker ${worker}`
    throw new SelectionError('ROUTER_NON_FINITE_COST', message, { scorerIndex, row })
  }
}

function checkPick(picked: unknown, candidateCount: number, picker: string): number {
  const valid = Number.isInteger(picked) && (picked as number) >= 0 && (picked as number) < candidateCount
  if (valid) return picked as number
  const message = `picker ${picker} returned ${describe(picked)}, not an integer in [0, ${candidateCount})`
  throw new SelectionError('ROUTER_INVALID_PICKER_ROW', message, { row: picked, candidateCount })
}

function failed(component: string, reason: string, cause?: unknown): SelectionError {
  return new SelectionError(
    'ROUTER_POLICY_FAILED',
    `${component}: ${reason}`,
    { component, reason },
    { cause },
  )
}

function describe(value: unknown): string {
  return typeof (value as { then?: unknown } | undefined)?.then === 'function' ? 'a promise' : String(value)
}
