import type { SelectionRequest } from '@router/core'
import {
  SelectionError,
  type WorkerRank,
  preferredTaintMultiplier,
  requestBlocks,
  roundHalfAway,
  sharedHitsBeyond,
  sharedHitsFrom,
  totalSharedHits,
} from '@router/sdk'
import { type SelectionLine, selectionLine } from '../shapes/selection.js'
import type { Checks } from './checks.js'
import { defineFamily } from './family.js'
import { kindsOf } from './kinds.js'
import { probePolicy, pickRow, scriptedScorer } from './probes.js'
import { rankRejection } from './rank-rejection.js'
import {
  type Kernel,
  type SelectorSource,
  countOfHashes,
  emptyTable,
  kernels,
  withSelector,
} from './selectors.js'

/** The host: eligibility, sums, checks of the picked row, accounting facts of the result. */
export const selectionFamily = defineFamily({
  name: 'selection',
  recognises: kindsOf(selectionLine),
  covers: '@router/core, @router/sdk',
  schema: selectionLine,
  evaluate: (line, checks) => evaluators[line.kind](line as never, checks),
})

type Evaluators = {
  [K in SelectionLine['kind']]: (line: Extract<SelectionLine, { kind: K }>, checks: Checks) => void
}

/** Of the files that are compared here, unlike those of the policies. */
const signOfZero = true
const anywhere = { role: 'aggregated', conditionalDisaggregation: false } as const
const shortPrompt: SelectionRequest = { mode: 'tracked', promptTokens: 16, blockSize: 16 }

const evaluators: Evaluators = {
  'taint-multiplier': ({ matchedWeights, expect, tolerance }, checks) => {
    const sum = matchedWeights.reduce((total, weight) => total + Math.fround(weight), 0)
    checks.equal('expect', expect, preferredTaintMultiplier(sum), { tolerance, signOfZero })
    // A host refuses a request with such a weight.
    if (!matchedWeights.every((weight) => Number.isFinite(Math.fround(weight)))) return
    forEachKernel(checks, (kernel) => {
      const taints = matchedWeights.map((_, index) => `taint-${index}`)
      const source = fleet(kernel, 1, probePolicy({ inputs: ['preferredTaint'] }), taints)
      const preferredTaints = [
        { taint: 'carried-by-nobody', weight: 1 },
        ...matchedWeights.map((weight, index) => ({ taint: `taint-${index}`, weight })),
      ]
      const { rows } = withSelector(source, (selector) =>
        selector.explain({ ...shortPrompt, preferredTaints }),
      )
      checks.equal('expect', expect, rows[0]?.taintMultiplier, { tolerance, signOfZero })
    })
  },
  'potential-decode-blocks': (line, checks) => {
    const { promptTokens, blockSize, activeDecodeBlocks, additionalActiveBlocks, trackedHashes, expect } =
      line
    forEachKernel(checks, (kernel) => {
      const source = fleet(kernel, 1, probePolicy({}))
      source.table.setLoad(source.table.slotOf(0n, 0), 0, activeDecodeBlocks + additionalActiveBlocks, 0)
      const prefixHashes = countOfHashes(trackedHashes)
      const request: SelectionRequest = { mode: 'tracked', promptTokens, blockSize, prefixHashes }
      withSelector(source, (selector) => {
        checks.equal('expect', expect, selector.select(request).potentialDecodeBlocks, { signOfZero })
      })
    })
  },
  'request-blocks': ({ promptTokens, blockSize, expect }, checks) => {
    checks.equal('expect', expect, requestBlocks(promptTokens, blockSize), { signOfZero })
    forEachKernel(checks, (kernel) => {
      withSelector(fleet(kernel, 1, probePolicy({})), (selector) => {
        const result = selector.select({ mode: 'tracked', promptTokens, blockSize })
        checks.equal('expect', expect, result.requiredBlocks, { signOfZero })
      })
    })
  },
  'raw-cached-tokens': (line, checks) => {
    const { deviceOverlapBlocks, hostOverlapBlocks, diskOverlapBlocks, blockSize, expect } = line
    forEachKernel(checks, (kernel) => {
      const source = fleet(kernel, 2, probePolicy({ inputs: ['cache'] }))
      const slot = source.table.slotOf(0n, 0)
      source.table.setOverlap(slot, deviceOverlapBlocks, hostOverlapBlocks, diskOverlapBlocks, 0, 0)
      withSelector(source, (selector) => {
        const result = selector.select({ ...shortPrompt, blockSize, hasTierMatches: true })
        checks.equal('expect of the chosen rank', expect, result.selectedRawCachedTokens, { signOfZero })
        checks.equal('expect of the largest', expect, result.maxRawCachedTokens, { signOfZero })
      })
    })
  },
  'shared-hits-beyond': ({ ranges, position, expect, total }, checks) => {
    const hits = sharedHitsFrom(ranges)
    checks.equal('expect', expect, sharedHitsBeyond(hits, position), { signOfZero })
    checks.equal('total', total, totalSharedHits(hits), { signOfZero })
  },
  'round-half-away': ({ input, expect }, checks) => {
    checks.equal('expect', expect, roundHalfAway(input), { signOfZero })
  },
  'rank-rejection': ({ failingRules, expect }, checks) => {
    forEachKernel(checks, (kernel) => rankRejection(new Set(failingRules), expect, kernel, checks))
  },
  'sum-of-costs': ({ contributions, count, expect }, checks) => {
    forEachKernel(checks, (kernel) => {
      let totals: readonly number[] | undefined
      const scorers = contributions.map((costs) => scriptedScorer(costs.map((cost) => cost ?? undefined)))
      const pick = (
        _context: unknown,
        candidates: { readonly count: number },
        costs: Float64Array,
      ): number => {
        totals = Array.from(costs.subarray(0, candidates.count))
        return 0
      }
      const source = fleet(
        kernel,
        count,
        probePolicy({ scorers, picker: { name: 'scripted', inputs: [], pick } }),
      )
      const error = withSelector(source, (selector) => failureOf(() => selector.select(shortPrompt)))
      if ('totals' in expect) {
        checks.equal('error', undefined, error?.code)
        checks.list('expect.totals', expect.totals, totals ?? [], { signOfZero })
        return
      }
      checks.equal('expect.error', 'ROUTER_NON_FINITE_COST', error?.code)
      checks.equal('expect.scorerIndex', expect.scorerIndex, error?.details['scorerIndex'])
      checks.equal('expect.row', expect.row, error?.details['row'])
      checks.equal('the picker was not called', undefined, totals)
    })
  },
  'picker-row': ({ row, count, expect }, checks) => {
    forEachKernel(checks, (kernel) => {
      const source = fleet(kernel, count, probePolicy({ picker: pickRow(row) }))
      withSelector(source, (selector) => {
        let chosen: WorkerRank | undefined
        const error = failureOf(() => (chosen = selector.select(shortPrompt)))
        if (expect === 'ok') {
          checks.equal('expect', undefined, error?.code)
          if (chosen !== undefined) checks.equal('chosen worker', BigInt(row), chosen.workerId)
          return
        }
        checks.equal('expect', 'ROUTER_INVALID_PICKER_ROW', error?.code)
        checks.equal('row of the error', row, error?.details['row'], { signOfZero })
        checks.equal('candidateCount of the error', count, error?.details['candidateCount'])
      })
    })
  },
}

function forEachKernel(checks: Checks, body: (kernel: Kernel) => void): void {
  for (const kernel of kernels) checks.within(`whole selection, ${kernel.name}`, () => body(kernel))
}

/** Workers 0 to `count - 1` with one rank each. */
function fleet(
  kernel: Kernel,
  count: number,
  policy: SelectorSource['policy'],
  taints: readonly string[] = [],
): SelectorSource {
  const table = emptyTable(kernel)
  for (let id = 0; id < count; id++) table.upsertWorker({ workerId: BigInt(id), taints })
  return { table, policy, place: anywhere }
}

function failureOf(run: () => unknown): SelectionError | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    if (SelectionError.isInstance(error)) return error
    throw error
  }
}
