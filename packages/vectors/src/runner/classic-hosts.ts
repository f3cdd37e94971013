import {
  type AnyPolicy,
  type HandMadeRow,
  TestMemory,
  handMadeContext,
  handMadeView,
  runComponents,
} from '@router/conformance'
import { type SelectionRequest, createSelector } from '@router/core'
import {
  type PickExplanation,
  type ResolvedPolicy,
  type RouterDefaults,
  SelectionError,
  type WorkerRank,
  routerDefaults,
} from '@router/sdk'
import type { ClassicDraw, ClassicExpected, ClassicRow } from '../shapes/classic.js'
import { listLimit } from '../shapes/common.js'
import type { CaseRandom } from './case-random.js'
import type { Checks } from './checks.js'
import { ShapeError } from './family.js'
import { permutations } from './permutations.js'
import { compareRanks, nameOf } from './rows.js'
import { type Kernel, type Place, emptyTable, unseededEntropy } from './selectors.js'

/** One request of a case, with its rows. */
export interface CaseStep {
  readonly rows: readonly ClassicRow[]
  readonly target: { readonly workerId: string; readonly dpRank?: number | null | undefined } | undefined
  readonly requiredCacheHits: number
  readonly queryOnly: boolean
  readonly draws: readonly ClassicDraw[] | undefined
  readonly expect: ClassicExpected
}

/** What a case is played with. */
export interface ClassicSource {
  /** Its random streams are `random`. */
  readonly policy: ResolvedPolicy
  readonly random: CaseRandom
  readonly place: Place
  readonly router: Partial<RouterDefaults>
  /** Rows of all steps: nobody leaves in between. */
  readonly fleet: readonly ClassicRow[]
}

/** What a policy made of a step. Rows by name, in canonical order. */
export interface Selected {
  readonly pick?: string
  readonly tieSet?: readonly string[]
  readonly mode?: string | undefined
  readonly allowedCpu?: number | undefined
  /** Known to a whole selection only. */
  readonly reservesOccupancy?: boolean
  readonly error?: SelectionError
}

/** One policy object that is asked step by step. */
export interface ClassicHost {
  /** @param draws what the random stream must be asked and what it answers; `undefined` = it is seeded */
  readonly select: (step: CaseStep, draws: readonly ClassicDraw[] | undefined, checks: Checks) => Selected
  readonly dispose: () => void
}

const memory = new TestMemory({ webAssembly: false })

/** The components alone over rows in one of the orders of `permutations`. */
export function overRows(source: ClassicSource, order: string): ClassicHost {
  const { policy: resolved, random, place, router, fleet } = source
  const { definition, parameters } = resolved
  const scope = {
    ...place,
    routerDefaults: { ...routerDefaults, ...router },
    reservesRuntimeInputs: false,
  }
  const inputs = definition.inputs(parameters, scope)
  const policy = definition.create(parameters, {
    ...scope,
    model: 'default',
    routingGroup: 'default',
    memory,
    random: () => random,
    nowMs: () => 0,
    warnOnce: () => undefined,
  }) as AnyPolicy
  const workers = new Set(handMadeView(fleet.map(handMadeRow)).workers)
  policy.onWorkersChanged?.([...workers].filter((worker) => worker !== undefined))
  return {
    dispose: () => policy.dispose?.(),
    select: (step, draws, checks) => {
      const { target, requiredCacheHits, queryOnly } = step
      const rows = step.rows.map(handMadeRow).toSorted((a, b) => compareRanks(rankOf(a), rankOf(b)))
      const all = permutations(rows.length)
      const { rowOf, canonicalRows } = all.find(({ name }) => name === order) ?? all[0]!
      const view = handMadeView(
        rowOf.map((position) => rows[position]!),
        { groups: inputs, writesCanonicalRows: canonicalRows !== undefined },
      )
      const facts = { requiredCacheHits, affinityTarget: targetOf(target) }
      const context = handMadeContext(view, { ...facts, queryOnly })
      return failing(draws, random, checks, () => {
        random.answer([])
        const explained = attempt(() =>
          policy.picker.explain?.(
            { ...context, queryOnly: true },
            view as never,
            new Float64Array(rows.length),
          ),
        )
        checks.list('draws of an explanation', [], random.asked)
        random.answer(draws)
        random.mark()
        const { worker } = runComponents(policy, view, context, { inputs, memory })
        checkDraws(draws, random, checks)
        if (queryOnly) random.rewind()
        const ranks = explained?.tieSet.map((row) => ({
          workerId: view.workerId(row),
          dpRank: view.dpRank[row]!,
        }))
        return { pick: nameOf(worker), ...told(explained, ranks) }
      })
    },
  }
}

/** Whole selections of a worker table. Ranks that are not among the rows of a step are overloaded in it. */
export function whole(source: ClassicSource, kernel: Kernel): ClassicHost {
  const { policy, random, place, router, fleet } = source
  const table = emptyTable(kernel)
  const ranges = rangesOf(fleet)
  const selector = createSelector({
    table,
    policy,
    ...place,
    routerDefaults: { ...routerDefaults, ...router },
    entropy: () => unseededEntropy,
    nowMs: () => 0,
  })
  return {
    dispose: () => selector.dispose(),
    select: (step, draws, checks) => {
      const { target, requiredCacheHits, queryOnly } = step
      for (const [workerId, { start, size }] of ranges) {
        const rows = step.rows.filter((row) => row.workerId === workerId)
        const lowest = rows.toSorted((a, b) => a.dpRank - b.dpRank)[0]
        table.upsertWorker({
          workerId: BigInt(workerId),
          dataParallelStartRank: start,
          dataParallelSize: size,
          deviceKind: lowest?.deviceKind,
        })
        for (let dpRank = start; dpRank < start + size; dpRank++) {
          const row = rows.find((candidate) => candidate.dpRank === dpRank)
          const slot = table.slotOf(BigInt(workerId), dpRank)
          table.setOverloaded(slot, row === undefined)
          table.setOccupancy(slot, row?.reservations ?? 0, row?.cacheHits ?? 0)
        }
      }
      const affinityTarget = targetOf(target)
      const request: SelectionRequest = {
        mode: queryOnly ? 'query' : 'tracked',
        promptTokens: 16,
        blockSize: 16,
        requiredCacheHits,
        affinityTarget,
      }
      return failing(draws, random, checks, () => {
        random.answer(draws)
        random.mark()
        const { tieSet, ...explained } = selector.explain(request)
        if (explained.error !== undefined) throw explained.error
        checkDraws(draws, random, checks)
        random.rewind()
        random.answer(draws)
        const { workerId, dpRank, reservesOccupancy } = selector.select(request)
        checkDraws(draws, random, checks)
        if (queryOnly) random.rewind()
        const pick = nameOf({ workerId, dpRank })
        checks.equal('pick of an explanation', pick, nameOf(explained.chosen!))
        if (affinityTarget?.dpRank === dpRank && affinityTarget.workerId === workerId) {
          const pinnedWorker = { workerId, dpRank }
          const pinned = selector.select({
            ...request,
            mode: 'query',
            affinityTarget: undefined,
            pinnedWorker,
          })
          checks.equal('pick of a pin', pick, nameOf(pinned))
          checkDraws(draws, random, checks)
        }
        return { pick, reservesOccupancy, ...told(explained, tieSet) }
      })
    },
  }
}

function checkDraws(draws: readonly ClassicDraw[] | undefined, random: CaseRandom, checks: Checks): void {
  const bounds = draws?.map(({ n }) => n) ?? []
  checks.list('bounds of the draws', bounds, random.asked)
}

function told(
  explained: Pick<PickExplanation, 'mode' | 'keys'> | undefined,
  tied: readonly WorkerRank[] | undefined,
): Selected {
  return {
    tieSet: tied?.toSorted(compareRanks).map(nameOf) ?? [],
    mode: explained?.mode,
    allowedCpu: explained?.keys?.['allowedCpuReservations']?.[0],
  }
}

/** A request that is refused draws what the case says, too. */
function failing(
  draws: readonly ClassicDraw[] | undefined,
  random: CaseRandom,
  checks: Checks,
  select: () => Selected,
): Selected {
  try {
    return select()
  } catch (error) {
    if (!SelectionError.isInstance(error)) throw error
    checkDraws(draws, random, checks)
    return { error }
  }
}

/** A policy that refuses the request refuses to explain it too. */
function attempt<T>(explain: () => T): T | undefined {
  try {
    return explain()
  } catch {
    return undefined
  }
}

function handMadeRow(row: ClassicRow): HandMadeRow {
  const { workerId, dpRank, reservations, deviceKind, cacheHits } = row
  return { workerId: BigInt(workerId), dpRank, reservations, cacheHits, worker: { deviceKind } }
}

function rankOf({ workerId, dpRank = 0 }: HandMadeRow): WorkerRank {
  return { workerId, dpRank }
}

function targetOf(target: CaseStep['target']): { workerId: bigint; dpRank?: number } | undefined {
  if (target === undefined) return undefined
  const { workerId, dpRank } = target
  return { workerId: BigInt(workerId), ...(typeof dpRank === 'number' ? { dpRank } : {}) }
}

/** First rank and number of ranks of every worker. */
function rangesOf(fleet: readonly ClassicRow[]): ReadonlyMap<string, { start: number; size: number }> {
  const ranges = new Map<string, { start: number; size: number }>()
  for (const { workerId, dpRank } of fleet) {
    const { start = dpRank, size = 1 } = ranges.get(workerId) ?? {}
    const first = Math.min(start, dpRank)
    ranges.set(workerId, { start: first, size: Math.max(start + size, dpRank + 1) - first })
  }
  const ranks = [...ranges.values()].reduce((sum, { size }) => sum + size, 0)
  if (ranks <= listLimit) return ranges
  throw new ShapeError([
    `rows: expected at most ${listLimit} ranks from the first to the last of each worker, got ${ranks}`,
  ])
}
