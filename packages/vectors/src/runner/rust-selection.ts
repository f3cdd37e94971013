import type {
  SelectionExplanation,
  SelectionRequest,
  SelectionResult,
  Selector,
  WorkerTable,
} from '@router/core'
import { copyResult } from '@router/core'
import { SelectionError, sharedHitsFrom } from '@router/sdk'
import { type RustSelectionLine, rustSelectionLine } from '../shapes/rust-selection.js'
import type { Checks } from './checks.js'
import { defineFamily } from './family.js'
import { resolvePolicy } from './policies.js'
import { nameOf, rankOf } from './rows.js'
import { type Kernel, countOfHashes, emptyTable, kernels, withSelector } from './selectors.js'

type Picked = Extract<RustSelectionLine['expect'], { picks: unknown }>
type Refused = Exclude<RustSelectionLine['expect'], { picks: unknown }>

const codes: Readonly<Record<Refused['error'], string>> = {
  NoEndpoints: 'ROUTER_NO_ENDPOINTS',
  AllEligibleWorkersOverloaded: 'ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED',
  PinnedWorkerOverloaded: 'ROUTER_PINNED_WORKER_OVERLOADED',
  PinnedWorkerNotAllowed: 'ROUTER_PINNED_WORKER_NOT_ALLOWED',
  NonFiniteCost: 'ROUTER_NON_FINITE_COST',
}

/** Whole selections: eligibility, costs, ties, picks, accounting facts, errors. */
export const rustSelectionFamily = defineFamily({
  name: 'rust-selection',
  recognises: (line) => 'constraints' in line && 'workers' in line && 'selections' in line,
  covers: '@router/core, @router/policy-default',
  schema: rustSelectionLine,
  evaluate: (line, checks) => {
    for (const kernel of kernels) {
      checks.within(kernel.name, () => selections(line, kernel, false, checks))
      // Declared is not used: with every input reserved for patches the rows are the same, only the accounting sees more.
      checks.within(`${kernel.name}, runtime: true`, () => selections(line, kernel, true, checks))
      checks.within(`${kernel.name}, overrides as parameters`, () => honouringOverrides(line, kernel, checks))
    }
  },
})

function selections(line: RustSelectionLine, kernel: Kernel, runtime: boolean, checks: Checks): void {
  const { expect } = line
  const request = requestOf(line)
  withCase(line, kernel, { ...line.params, seed: line.seed }, runtime, (selector) => {
    const explanation = selector.explain(request)
    if ('error' in expect) {
      checkRefusal(expect, explanation.error, checks)
      checks.within('after an explanation', () => checkRefusal(expect, failureOf(selector, request), checks))
      return
    }
    if (explanation.error !== undefined) {
      checks.fail('error', 'none', `${explanation.error.code}: ${explanation.error.message}`)
      return
    }
    checkExplanation(line, expect, explanation, checks)
    const { picks, last } = run(selector, request, line.selections)
    checks.list('expect.picks', expect.picks, picks)
    if (!runtime) checkResult(expect.result, last, line.request.tracked, checks)
  })
}

function checkExplanation(
  line: RustSelectionLine,
  expect: Picked,
  explanation: SelectionExplanation,
  checks: Checks,
): void {
  const { tolerance } = expect
  const scored = explanation.rows.filter((row) => row.total !== undefined)
  checks.list('expect.eligible', expect.eligible, scored.map(nameOf))
  checks.list(
    'expect.costs',
    expect.costs,
    scored.map((row) => row.total),
    { tolerance },
  )
  checks.list('expect.tieSet', expect.tieSet, explanation.tieSet.map(nameOf))
  const multipliers = scored.flatMap((row) => row.taintMultiplier ?? [])
  checks.list('expect.taintMultipliers', expect.taintMultipliers ?? [], multipliers, { tolerance })
  if (expect.rejected === undefined && line.constraints.pinnedWorker !== null) return
  const rejected = explanation.rows.flatMap((row) =>
    row.rejection === undefined ? [] : [`${nameOf(row)} ${row.rejection}`],
  )
  const expected = (expect.rejected ?? []).map(([row, reason]) => `${row} ${reason}`)
  checks.list('expect.rejected', expected.toSorted(), rejected.toSorted())
}

function checkResult(
  expected: Picked['result'],
  actual: SelectionResult,
  tracked: boolean,
  checks: Checks,
): void {
  checks.equal('expect.result.requiredBlocks', expected.requiredBlocks, actual.requiredBlocks)
  checks.equal(
    'expect.result.potentialDecodeBlocks',
    expected.potentialDecodeBlocks,
    actual.potentialDecodeBlocks,
  )
  checks.equal(
    'expect.result.effectiveOverlapBlocks',
    expected.effectiveOverlapBlocks,
    actual.effectiveOverlapBlocks,
  )
  checks.equal('expect.result.cachedTokens', expected.cachedTokens, actual.cachedTokens)
  // Absent where the policy does not use the cache: reuse is then 0, and unknown for a query as everywhere.
  const absent = tracked ? 0 : null
  const { maxRawCachedTokens = absent, selectedRawCachedTokens = absent } = expected
  checks.equal('expect.result.maxRawCachedTokens', maxRawCachedTokens, actual.maxRawCachedTokens ?? null)
  checks.equal(
    'expect.result.selectedRawCachedTokens',
    selectedRawCachedTokens,
    actual.selectedRawCachedTokens ?? null,
  )
}

function checkRefusal(expect: Refused, error: SelectionError | undefined, checks: Checks): void {
  checks.equal('expect.error', codes[expect.error], error?.code)
  if (expect.error === 'NonFiniteCost') {
    checks.equal('expect.scorerIndex', expect.scorerIndex, error?.details['scorerIndex'])
    checks.equal('expect.row', expect.row, error?.details['row'])
  } else if (expect.workerId !== undefined) {
    checks.equal('expect.workerId', BigInt(expect.workerId), error?.details['workerId'])
  }
}

/**
 * The overrides of a request are not ours to honour; the same numbers as parameters must give what is recorded for them. The host
 * that honours them always looks at the cache, where our credit of 0 stops looking: the smallest double credits nothing and looks.
 */
function honouringOverrides(line: RustSelectionLine, kernel: Kernel, checks: Checks): void {
  const { overrides, expectHonouringOverrides: expect, role } = line
  if (overrides === undefined || expect === undefined) return
  const { assume_kv_reuse: _reuse, track_prefill_tokens: tracks, ...scores } = overrides
  const own = requestOf(line)
  const request = {
    ...own,
    tracksPrefillTokens: tracks ?? own.tracksPrefillTokens,
    routerTemperatureOverride: undefined,
  }
  const params = { ...line.params, ...scores, seed: line.seed }
  const isLoadOnly = role !== 'prefill' && !request.tracksPrefillTokens
  if (params.overlap_score_credit === 0 && !isLoadOnly) params.overlap_score_credit = Number.MIN_VALUE
  withCase(line, kernel, params, false, (selector) => {
    const explanation = selector.explain(request)
    const totals = explanation.rows.flatMap((row) => row.total ?? [])
    const tolerance = 'tolerance' in line.expect ? line.expect.tolerance : 0
    checks.list('expectHonouringOverrides.costs', expect.costs, totals, { tolerance })
    checks.list('expectHonouringOverrides.tieSet', expect.tieSet, explanation.tieSet.map(nameOf))
    checks.list('expectHonouringOverrides.picks', expect.picks, run(selector, request, line.selections).picks)
  })
}

/** Selections in a row from one stream. A query leaves the stream where it is, so tracked ones move it in between. */
function run(
  selector: Selector,
  request: SelectionRequest,
  count: number,
): { picks: string[]; last: SelectionResult } {
  const picks: string[] = []
  let last: SelectionResult | undefined
  for (let index = 0; index < count; index++) {
    if (index > 0 && request.mode === 'query') selector.select({ ...request, mode: 'tracked' })
    last = copyResult(selector.select(request))
    picks.push(nameOf(last))
  }
  return { picks, last: last! }
}

function failureOf(selector: Selector, request: SelectionRequest): SelectionError | undefined {
  try {
    selector.select(request)
    return undefined
  } catch (error) {
    if (SelectionError.isInstance(error)) return error
    throw error
  }
}

function withCase(
  line: RustSelectionLine,
  kernel: Kernel,
  params: object,
  runtime: boolean,
  body: (selector: Selector) => void,
): void {
  const { role, conditionalDisaggregation, sharedCacheType } = line
  const table = emptyTable(kernel)
  fill(table, line)
  const policy = resolvePolicy('dynamo-default-cost-fn', params, runtime)
  const defaults = sharedCacheType === 'hicache' ? { shared_cache_multiplier: 0.5 } : {}
  withSelector({ table, policy, place: { role, conditionalDisaggregation }, defaults }, body)
}

function fill(table: WorkerTable, { workers, rows, constraints }: RustSelectionLine): void {
  for (const [workerId, dataParallelStartRank, dataParallelSize, taints] of workers) {
    table.upsertWorker({ workerId: BigInt(workerId), dataParallelStartRank, dataParallelSize, taints })
  }
  table.setAvailableWorkers(constraints.availableWorkerIds?.map(BigInt))
  table.setOverloadedWorkers(constraints.overloadedWorkerIds?.map(BigInt) ?? [])
  for (const [workerId, dpRank, device, host, disk, estimateBlocks, estimateTokens, ...load] of rows) {
    const slot = table.slotOf(BigInt(workerId), dpRank)
    // Facts of a rank that left: nobody to keep them for.
    if (slot < 0) continue
    table.setOverlap(slot, device, host, disk, estimateBlocks, estimateTokens)
    const [activePrefillTokens, activeDecodeBlocks, additionalActiveBlocks, activeRequests] = load
    if (activePrefillTokens === null) continue
    table.setLoad(slot, activePrefillTokens, activeDecodeBlocks! + additionalActiveBlocks!, activeRequests!)
  }
}

function requestOf({ request, constraints, overrides }: RustSelectionLine): SelectionRequest {
  const { trackedHashes, sharedHits } = request
  const { allowedWorkerIds, pinnedWorker, affinityTarget, requiredTaints, preferredTaints } = constraints
  return {
    mode: request.tracked ? 'tracked' : 'query',
    promptTokens: request.promptTokens,
    blockSize: request.blockSize,
    tracksPrefillTokens: request.tracksPrefillTokens,
    prefixHashes: trackedHashes === null ? undefined : countOfHashes(trackedHashes),
    hasTierMatches: request.hasTierMatches,
    sharedHits: sharedHits === null ? undefined : sharedHitsFrom(sharedHits),
    allowedWorkerIds: allowedWorkerIds?.map(BigInt),
    pinnedWorker: pinnedWorker === null ? undefined : rankOf(pinnedWorker),
    affinityTarget:
      affinityTarget === null
        ? undefined
        : {
            workerId: BigInt(affinityTarget.workerId),
            ...(affinityTarget.dpRank === null ? {} : { dpRank: affinityTarget.dpRank }),
          },
    requiredTaints,
    preferredTaints: preferredTaints.map(([taint, weight]) => ({ taint, weight })),
    routerTemperatureOverride: overrides?.router_temperature,
  }
}
