import {
  type PolicyDefinition,
  type WorkerCandidates,
  type WorkerInputName,
  preferredTaintMultiplier,
  workerInputNames,
} from '@router/sdk'
import type { SelectionRequest } from '../../src/index.js'
import type { NaiveFleet, NaiveRank } from './naive-fleet.js'
import { lowestTotal, tinyPolicy } from './policies.js'

/** What a probing policy saw in one selection: one text per row, and the flags of the groups. */
export interface Sight {
  /** Per filter call, in order. */
  filtered: string[]
  scored: string[]
  flags: string
}

/** One way to select; the filter keeps ranks whose `filterKey` is not 0. */
export interface ProbeKind {
  readonly name: string
  readonly affinity: 'exclusive' | 'advisory'
  readonly inputs: readonly WorkerInputName[]
  readonly filterInputs?: readonly WorkerInputName[]
  readonly scorers: 0 | 1 | 2
}

export const probeKinds: readonly ProbeKind[] = [
  { name: 'all inputs', affinity: 'exclusive', inputs: workerInputNames, scorers: 2 },
  { name: 'filtered', affinity: 'advisory', inputs: workerInputNames, filterInputs: ['load'], scorers: 1 },
  {
    name: 'filtered by taints',
    affinity: 'exclusive',
    inputs: ['load', 'preferredTaint', 'capacity'],
    filterInputs: ['preferredTaint', 'capacity'],
    scorers: 2,
  },
  { name: 'cache only', affinity: 'advisory', inputs: ['cache'], scorers: 0 },
  { name: 'blind', affinity: 'advisory', inputs: [], filterInputs: [], scorers: 1 },
]

export const filterKey = (workerId: bigint, dpRank: number): number => (Number(workerId % 5n) + dpRank) % 3
export const costOf = (scorer: number, workerId: bigint, dpRank: number): number =>
  scorer === 0 ? (Number(workerId % 97n) * 31 + dpRank * 17) % 23 : dpRank / 8 - Number(workerId % 7n)

const garbage = -12_345

/** A policy that notes all it sees into `sight`, and leaves garbage wherever it may write. */
export function probePolicy(kind: ProbeKind, sight: Sight): PolicyDefinition {
  const scorer = (index: number) => ({
    name: `scorer ${index}`,
    score: (_context: unknown, view: WorkerCandidates, costs: Float64Array) => {
      const isClean = costs.subarray(0, view.count).every(Number.isNaN)
      if (index === 0) note(view)
      for (let row = 0; row < view.count; row++)
        costs[row] = costOf(index, view.workerId(row), view.dpRank[row]!)
      costs.fill(garbage, view.count)
      if (!isClean) throw new Error('left-overs in the cost buffer')
    },
  })
  const note = (view: WorkerCandidates): void => {
    sight.scored = Array.from({ length: view.count }, (_, row) => sightOfRow(view, row))
    const { cache, load, preferredTaint } = view
    sight.flags = flagsOf({
      cache: cache && [cache.allAvailable, cache.hasTierMatches, cache.sharedHits?.count],
      load: load?.allAvailable,
      taint: preferredTaint?.applies,
    })
  }
  const filter = {
    name: 'filter',
    inputs: kind.filterInputs ?? [],
    keep: (_context: unknown, view: WorkerCandidates, row: number) => {
      sight.filtered.push(`${view.count}: ${sightOfRow(view, row)}`)
      return filterKey(view.workerId(row), view.dpRank[row]!) !== 0
    },
  }
  return tinyPolicy({
    affinity: kind.affinity,
    inputs: kind.inputs,
    create: () => ({
      filters: kind.filterInputs === undefined ? [] : [filter],
      scorers: [0, 1].slice(0, kind.scorers).map(scorer),
      picker: {
        name: 'picker',
        pick: (context, view, costs) => {
          if (kind.scorers === 0) note(view)
          const row = lowestTotal.pick(context, view, costs)
          costs.fill(garbage)
          return row
        },
      },
    }),
  })
}

const cacheColumns = [
  'deviceOverlapBlocks',
  'hostOverlapBlocks',
  'diskOverlapBlocks',
  'estimateBlocks',
  'estimateTokens',
] as const
const loadColumns = ['activePrefillTokens', 'decodeCostBlocks', 'activeRequests'] as const

function sightOfRow(view: WorkerCandidates, row: number): string {
  const { cache, load, preferredTaint, capacity, occupancy, prefillTime } = view
  const high = view.workerIdHigh[row]!
  return text({
    rank: `${(BigInt(high) << 32n) | BigInt(view.workerIdLow[row]!)}.${view.dpRank[row]}`,
    cache: cache && [cache.isAvailable[row], ...cacheColumns.map((name) => cache[name][row])],
    load: load && [load.isAvailable[row], ...loadColumns.map((name) => load[name][row])],
    taint: preferredTaint && (preferredTaint.applies ? preferredTaint.multiplier[row] : 'none'),
    capacity: capacity && [capacity.totalKvBlocks[row], capacity.maxNumBatchedTokens[row]],
    occupancy: occupancy && [
      occupancy.reservations[row],
      occupancy.deviceKind[row],
      occupancy.cacheHits[row],
    ],
    backlog: prefillTime?.backlogMs[row],
  })
}

/** What the probe should note of a rank. */
export function expectedSight(
  fleet: NaiveFleet,
  rank: NaiveRank,
  request: SelectionRequest,
  inputs: readonly WorkerInputName[],
): string {
  const { record } = fleet.workerOf(rank.workerId)!
  const ifDeclared = <T>(group: WorkerInputName, value: T): T | undefined =>
    inputs.includes(group) ? value : undefined
  const none = Number.NaN
  const multiplier = (): number | string => {
    if (!taintsApply(request)) return 'none'
    const matching = request.preferredTaints!.filter(({ taint }) => record.taints?.includes(taint))
    return preferredTaintMultiplier(matching.reduce((sum, { weight }) => sum + Math.fround(weight), 0))
  }
  return text({
    rank: `${rank.workerId}.${rank.dpRank}`,
    cache: ifDeclared(
      'cache',
      rank.cache === undefined ? [0, none, none, none, none, none] : [1, ...rank.cache],
    ),
    load: ifDeclared('load', rank.load === undefined ? [0, none, none, none] : [1, ...rank.load]),
    taint: ifDeclared('preferredTaint', multiplier()),
    capacity: ifDeclared('capacity', [record.totalKvBlocks || none, record.maxNumBatchedTokens || none]),
    occupancy: ifDeclared('occupancy', [
      rank.reservations,
      record.deviceKind === 'cpu' ? 1 : 0,
      rank.cacheHits,
    ]),
    backlog: ifDeclared('prefillTime', rank.backlogMs),
  })
}

/** What the probe should note of the groups of a selection that kept these ranks. */
export function expectedFlags(
  kept: readonly NaiveRank[],
  request: SelectionRequest,
  inputs: readonly WorkerInputName[],
): string {
  const cacheKnown = kept.every(({ cache }) => cache !== undefined)
  return flagsOf({
    cache: inputs.includes('cache')
      ? [cacheKnown, request.hasTierMatches ?? false, request.sharedHits?.count]
      : undefined,
    load: inputs.includes('load') ? kept.every(({ load }) => load !== undefined) : undefined,
    taint: inputs.includes('preferredTaint') ? taintsApply(request) : undefined,
  })
}

function taintsApply({ preferredTaints = [], pinnedWorker }: SelectionRequest): boolean {
  return preferredTaints.length > 0 && pinnedWorker === undefined
}

const flagsOf = (flags: object): string => text(flags)

function text(value: object): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === 'number' ? String(part) : part))
}
