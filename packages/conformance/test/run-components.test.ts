import {
  type AnyPolicy,
  type HandMadeRow,
  TestMemory,
  constantScorer,
  firstMinimumPicker,
  fixedPicker,
  handMadeContext,
  handMadeView,
  rejectingFilter,
  runComponents,
} from '@router/conformance'
import { RouterError, type WorkerInputName, type WorkerInputs, workerInputNames } from '@router/sdk'
import { describe, expect, it } from 'vitest'

const rows: HandMadeRow[] = [
  { workerId: 30n, load: { activeRequests: 3 } },
  { workerId: 10n, load: { activeRequests: 1 } },
  { workerId: 2n ** 63n, dpRank: 1, load: { activeRequests: 2 } },
  { workerId: 10n, dpRank: 1, load: 'unknown' },
]

function run(policy: AnyPolicy, given: readonly HandMadeRow[] = rows, options = {}) {
  const view = handMadeView(given)
  return runComponents(policy, view, handMadeContext(view), options)
}

function errorOf(action: () => unknown): { code: string; details: unknown } {
  try {
    action()
  } catch (error) {
    if (RouterError.isInstance(error)) return { code: error.code, details: error.details }
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('runComponents', () => {
  it('sums the scorers over the kept rows and returns the row of the given view', () => {
    const result = run({
      filters: [rejectingFilter([30n])],
      scorers: [constantScorer(1), constantScorer((id, dpRank) => (id === 10n ? 5 : 2) - dpRank)],
      picker: firstMinimumPicker(),
    })
    expect(result.kept).toEqual([1, 2, 3])
    expect(result.rejectedBy).toEqual(['rejecting', undefined, undefined, undefined])
    expect([...result.totals]).toEqual([6, 2, 5])
    expect(result.contributions.map(({ costs }) => [...costs])).toEqual([
      [1, 1, 1],
      [5, 1, 4],
    ])
    expect(result).toMatchObject({ row: 2, worker: { workerId: 2n ** 63n, dpRank: 1 } })
  })

  it('gives canonical rows that hold after filtering, whatever the order of rows', () => {
    const seen: string[][] = []
    const policy: AnyPolicy = {
      filters: [rejectingFilter([2n ** 63n])],
      picker: {
        name: 'recording',
        pick: (_context, candidates) => {
          const { count, canonicalRows, workerId, dpRank } = candidates as ReturnType<typeof handMadeView>
          const order = Array.from({ length: count }, (_unused, index) => canonicalRows?.[index] ?? index)
          seen.push(order.map((row) => `${workerId(row)}.${dpRank[row]}`))
          return order[0]!
        },
      },
    }
    const orders = [rows, rows.toReversed(), [rows[1]!, rows[3]!, rows[0]!, rows[2]!]]
    const workers = orders.map((order) => run(policy, order).worker)
    expect(seen).toEqual(orders.map(() => ['10.0', '10.1', '30.0']))
    expect(workers).toEqual(orders.map(() => ({ workerId: 10n, dpRank: 0 })))
  })

  it('maps workerInfo to the kept rows', () => {
    const ids: unknown[] = []
    const policy: AnyPolicy = {
      filters: [rejectingFilter([30n])],
      picker: {
        name: 'recording',
        pick: ({ workerInfo }) => {
          ids.push(workerInfo(0)?.workerId, workerInfo(1)?.totalKvBlocks)
          return 0
        },
      },
    }
    run(policy, [rows[0]!, rows[1]!, { ...rows[2]!, totalKvBlocks: 77 }])
    expect(ids).toEqual([10n, 77])
  })

  it('fills costs with NaN before each scorer, so that an unwritten cell is an error with its scorer and row', () => {
    const lazy = {
      name: 'lazy',
      score: (_context: unknown, _candidates: never, costs: Float64Array) => void (costs[0] = 1),
    }
    const scorers = [constantScorer(3), lazy]
    expect(errorOf(() => run({ scorers, picker: firstMinimumPicker() }))).toEqual({
      code: 'ROUTER_NON_FINITE_COST',
      details: { scorerIndex: 1, row: 1 },
    })
  })

  it('finds the overflow of a total whose parts are finite', () => {
    const large = constantScorer(Number.MAX_VALUE)
    expect(errorOf(() => run({ scorers: [large, large], picker: firstMinimumPicker() }))).toEqual({
      code: 'ROUTER_NON_FINITE_COST',
      details: { scorerIndex: 1, row: 0 },
    })
  })

  it.each([4, -1, 0.5, NaN])('refuses the picked row %d', (row) => {
    expect(errorOf(() => run({ picker: fixedPicker(row) }))).toEqual({
      code: 'ROUTER_INVALID_PICKER_ROW',
      details: { row, candidateCount: 4 },
    })
  })

  it('names the component that throws, answers late or answers with the wrong type', () => {
    const picker = firstMinimumPicker()
    const throwing = { name: 'a', score: () => { throw new Error('broken') } } // prettier-ignore
    const late = { name: 'b', score: (() => Promise.resolve()) as never }
    const vague = { name: 'c', keep: (() => 1) as never }
    expect(errorOf(() => run({ scorers: [throwing], picker }))).toMatchObject({
      code: 'ROUTER_POLICY_FAILED',
      details: { component: 'scorer a', reason: 'broken' },
    })
    expect(errorOf(() => run({ scorers: [late], picker })).code).toBe('ROUTER_POLICY_FAILED')
    expect(errorOf(() => run({ filters: [vague], picker })).details).toMatchObject({ component: 'filter c' })
    expect(errorOf(() => run({ filters: [rejectingFilter([10n, 30n, 2n ** 63n])], picker })).code).toBe(
      'ROUTER_ALL_ELIGIBLE_WORKERS_FILTERED',
    )
    expect(errorOf(() => run({ picker }, [])).code).toBe('ROUTER_NO_ENDPOINTS')
  })

  it('refuses a component that declares more than its policy', () => {
    const picker = { ...firstMinimumPicker(), inputs: ['load', 'cache'] as const }
    expect(errorOf(() => run({ picker }, rows, { inputs: ['load'] }))).toMatchObject({
      code: 'ROUTER_INPUT_NOT_DECLARED',
      details: { input: 'cache' },
    })
  })

  it('shows each component its own groups and no other, over every declaration of filter, scorer and picker', () => {
    const names: readonly WorkerInputName[] = ['cache', 'load', 'preferredTaint']
    const masks = Array.from({ length: 8 }, (_unused, mask) =>
      names.filter((_name, bit) => (mask >> bit) & 1),
    )
    const seen = (candidates: unknown): WorkerInputs =>
      workerInputNames.filter((name) => (candidates as Record<string, unknown>)[name] !== undefined)
    for (const filterInputs of masks) {
      for (const scorerInputs of masks) {
        for (const pickerInputs of masks) {
          const views: WorkerInputs[] = []
          const policy: AnyPolicy = {
            filters: [{ name: 'f', inputs: filterInputs, keep: (_c, view) => views.push(seen(view)) > 0 }],
            scorers: [
              {
                name: 's',
                inputs: scorerInputs,
                score: (_c, view, costs) => void (views.push(seen(view)), costs.fill(0)),
              },
            ],
            picker: {
              name: 'p',
              inputs: pickerInputs,
              pick: (_c, view) => views.push(seen(view)) - views.length,
            },
          }
          run(policy, rows.slice(0, 1))
          expect(views).toEqual([filterInputs, scorerInputs, pickerInputs])
        }
      }
    }
  })

  it('places columns and costs in one buffer for policies that were built on it', () => {
    const memory = new TestMemory()
    const scratch = memory.allocate(12)
    const buffers = new Set<ArrayBufferLike>()
    const policy: AnyPolicy = {
      scorers: [
        {
          name: 'placed',
          score: (_context, candidates, costs) => {
            const { load, dpRank, count } = candidates as ReturnType<typeof handMadeView>
            for (const column of [load!.activeRequests, dpRank, costs, scratch.float64])
              buffers.add(column.buffer)
            for (let row = 0; row < count; row++) costs[row] = dpRank[row]!
          },
        },
      ],
      picker: firstMinimumPicker(),
    }
    expect(run(policy, rows, { memory }).worker).toEqual({ workerId: 10n, dpRank: 0 })
    expect([...buffers]).toEqual([memory.buffer])
    expect(scratch.float64).toHaveLength(2)
  })

  it('turns views stale after their callback when asked to', () => {
    let kept: ReturnType<typeof handMadeView> | undefined
    const policy: AnyPolicy = {
      scorers: [{ name: 'keeping', score: (_c, view, costs) => void ((kept = view), costs.fill(0)) }],
      picker: { name: 'late', pick: () => kept!.count - 4 },
    }
    expect(run(policy).row).toBe(0)
    const stale = errorOf(() => run(policy, rows, { checkViews: true }))
    expect(stale).toMatchObject({ code: 'ROUTER_POLICY_FAILED', details: { component: 'picker late' } })
  })
})
