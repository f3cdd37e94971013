import { SelectionError, requestBlocks } from '@router/sdk'
import { expect } from 'vitest'
import {
  type SelectionRequest,
  type SelectionResult,
  type Selector,
  WorkerTable,
  createSelector,
} from '../../src/index.js'
import type { FleetCommand } from './fleet-commands.js'
import { nameOf } from './hosts.js'
import { NaiveFleet, type NaiveRank, naiveEligible, naiveRejection, naiveTarget } from './naive-fleet.js'
import { resolved } from './policies.js'
import {
  type ProbeKind,
  type Sight,
  costOf,
  expectedFlags,
  expectedSight,
  filterKey,
  probeKinds,
  probePolicy,
} from './probe-policy.js'

interface Probe {
  readonly kind: ProbeKind
  readonly sight: Sight
  readonly selector: Selector
}

const noSight = (): Sight => ({ filtered: [], scored: [], flags: '' })
const maximumProbes = 6

/** Applies commands to a worker table with several selectors and to a naive fleet, and compares all that can be seen. */
export class FleetModel {
  readonly table: WorkerTable
  readonly #fleet = new NaiveFleet()
  readonly #slots = new Map<string, number>()
  #probes: Probe[] = []

  constructor(webAssembly: boolean) {
    this.table = new WorkerTable({ webAssembly })
    this.#open(0)
    this.#open(1)
  }

  run(commands: readonly FleetCommand[]): void {
    for (const command of commands) this.#apply(command)
    this.#checkTable()
  }

  #apply(command: FleetCommand): void {
    const { table } = this
    switch (command.kind) {
      case 'upsert':
        table.upsertWorker(command.record)
        this.#fleet.upsert(command.record)
        return this.#checkTable()
      case 'remove':
        expect(table.removeWorker(command.workerId)).toBe(this.#fleet.remove(command.workerId))
        return this.#checkTable()
      case 'available':
        table.setAvailableWorkers(command.ids)
        this.#fleet.available = command.ids
        return
      case 'overloadedWorkers':
        table.setOverloadedWorkers(command.ids)
        for (const rank of this.#fleet.ranks) rank.isOverloaded = command.ids.includes(rank.workerId)
        return
      case 'clearOverlaps':
        table.clearOverlaps()
        for (const rank of this.#fleet.ranks) rank.cache = [0, 0, 0, 0, 0]
        return
      case 'open':
        return this.#open(command.probe)
      case 'dispose':
        return this.#dispose(command.at)
      case 'select':
        return this.#select(this.#probes[command.at % this.#probes.length]!, command.request)
      case 'selectOften': {
        const probe = this.#probes[command.at % this.#probes.length]!
        const request: SelectionRequest = {
          mode: 'tracked',
          promptTokens: 100,
          blockSize: 16,
          hasTierMatches: true,
        }
        for (let time = 0; time < 6; time++) this.#select(probe, request)
        return
      }
      case 'explain':
        return this.#explain(this.#probes[command.at % this.#probes.length]!, command.request)
      default:
        return this.#write(command)
    }
  }

  #write(command: Extract<FleetCommand, { readonly at: number }>): void {
    const { ranks } = this.#fleet
    const rank = ranks[command.at % Math.max(1, ranks.length)]
    if (rank === undefined) return
    const { table } = this
    const slot = table.slotOf(rank.workerId, rank.dpRank)
    if (command.kind === 'overloaded') {
      table.setOverloaded(slot, command.flag)
      rank.isOverloaded = command.flag
    } else if (command.kind === 'load') {
      if (command.values === undefined) table.clearLoad(slot)
      else table.setLoad(slot, ...command.values)
      rank.load = command.values
    } else if (command.kind === 'overlap') {
      if (command.values === undefined) table.setCacheUnknown(slot)
      else table.setOverlap(slot, ...command.values)
      rank.cache = command.values
    } else if (command.kind === 'occupancy') {
      table.setOccupancy(slot, ...command.values)
      ;[rank.reservations, rank.cacheHits] = command.values
    } else if (command.kind === 'backlog') {
      table.setPrefillBacklog(slot, command.ms)
      rank.backlogMs = command.ms
    }
  }

  #open(probe: number): void {
    if (this.#probes.length === maximumProbes) return
    const kind = probeKinds[probe]!
    const sight = noSight()
    const selector = createSelector({
      table: this.table,
      policy: resolved(probePolicy(kind, sight)),
      role: 'decode',
      entropy: () => 1n,
      nowMs: () => 0,
    })
    this.#probes.push({ kind, sight, selector })
  }

  #dispose(at: number): void {
    if (this.#probes.length < 2) return
    this.#probes.splice(at % this.#probes.length, 1)[0]!.selector.dispose()
  }

  /** Ranks, slots and workers are those of the fleet, and a rank keeps its slot. */
  #checkTable(): void {
    const { table } = this
    const { ranks, workers } = this.#fleet
    expect(table.slotCount).toBe(ranks.length)
    const sorted = workers.map(({ record }) => record.workerId).sort((a, b) => (a < b ? -1 : 1))
    expect(table.workers.map(({ workerId }) => workerId)).toEqual(sorted)
    const slots = ranks.map(({ workerId, dpRank }) => table.slotOf(workerId, dpRank))
    expect(new Set(slots).size).toBe(ranks.length)
    expect(slots.every((slot) => slot >= 0)).toBe(true)
    const names = ranks.map(nameOf)
    names.forEach((name, row) => expect(this.#slots.get(name) ?? slots[row]).toBe(slots[row]))
    this.#slots.clear()
    names.forEach((name, row) => this.#slots.set(name, slots[row]!))
    for (const { record } of workers) {
      const { workerId, dataParallelStartRank: start = 0, dataParallelSize: size = 1 } = record
      expect([table.slotOf(workerId, start - 1), table.slotOf(workerId, start + size)]).toEqual([-1, -1])
    }
  }

  /** Ranks that the probe should keep, cheapest first chosen, or the code of the error. */
  #expected({ kind }: Probe, request: SelectionRequest) {
    const eligible = naiveEligible(this.#fleet, request, kind.affinity === 'exclusive')
    if (typeof eligible === 'string') return { eligible: [], kept: [], code: eligible }
    const hasFilter = kind.filterInputs !== undefined
    const kept = eligible.filter(({ workerId, dpRank }) => !hasFilter || filterKey(workerId, dpRank) !== 0)
    if (kept.length === 0) return { eligible, kept, code: 'ROUTER_ALL_ELIGIBLE_WORKERS_FILTERED' }
    const totals = kept.map(({ workerId, dpRank }) =>
      [0, 1].slice(0, kind.scorers).reduce((sum, scorer) => sum + costOf(scorer, workerId, dpRank), 0),
    )
    return { eligible, kept, totals, chosen: kept[totals.indexOf(Math.min(...totals))]! }
  }

  #select(probe: Probe, request: SelectionRequest): void {
    const { kind, sight, selector } = probe
    Object.assign(sight, noSight())
    const { eligible, kept, code, chosen } = this.#expected(probe, request)
    let result: SelectionResult | undefined
    try {
      result = selector.select(request)
    } catch (error) {
      if (!SelectionError.isInstance(error)) throw error
      expect(error.code).toBe(code)
    }
    expect(result === undefined ? undefined : nameOf(result)).toBe(chosen && nameOf(chosen))
    if (kind.filterInputs !== undefined) {
      const seen = eligible.map(
        (rank) => `${eligible.length}: ${expectedSight(this.#fleet, rank, request, kind.filterInputs!)}`,
      )
      expect(sight.filtered).toEqual(seen)
    }
    if (chosen === undefined) {
      expect(sight.scored).toEqual([])
      return
    }
    expect(sight.scored).toEqual(kept.map((rank) => expectedSight(this.#fleet, rank, request, kind.inputs)))
    expect(sight.flags).toBe(expectedFlags(kept, request, kind.inputs))
    expect(factsOf(result!)).toEqual(this.#expectedFacts(kind, request, kept, chosen))
  }

  #expectedFacts(kind: ProbeKind, request: SelectionRequest, kept: readonly NaiveRank[], chosen: NaiveRank) {
    const rawOf = ({ cache }: NaiveRank): number =>
      cache === undefined ? 0 : (cache[0]! + cache[1]! + cache[2]!) * request.blockSize
    const seesCache = kind.inputs.includes('cache')
    const isQuery = request.mode === 'query'
    const blocks = requestBlocks(request.promptTokens, request.blockSize)
    const best = this.#fleet.ranks.reduce<NaiveRank | undefined>(
      (winner, rank) => ((rank.cache?.[0] ?? 0) > (winner?.cache?.[0] ?? 0) ? rank : winner),
      undefined,
    )
    return {
      slot: this.table.slotOf(chosen.workerId, chosen.dpRank),
      requiredBlocks: blocks,
      effectiveOverlapBlocks: seesCache ? (chosen.cache?.[3] ?? 0) : 0,
      cachedTokens: seesCache ? (chosen.cache?.[4] ?? 0) : 0,
      maxRawCachedTokens: isQuery ? undefined : seesCache ? Math.max(0, ...kept.map(rawOf)) : 0,
      selectedRawCachedTokens: isQuery ? undefined : seesCache ? rawOf(chosen) : 0,
      potentialDecodeBlocks: (chosen.load?.[1] ?? 0) + blocks,
      bestOverlap: best && nameOf(best),
      bestOverlapBlocks: best?.cache?.[0] ?? 0,
    }
  }

  #explain(probe: Probe, request: SelectionRequest): void {
    const { kind, selector } = probe
    const { eligible, kept, code, chosen, totals = [] } = this.#expected(probe, request)
    const applied = naiveTarget(this.#fleet, request, kind.affinity === 'exclusive')
    const explanation = selector.explain(request)
    expect(explanation.error?.code).toBe(code)
    expect(explanation.chosen && nameOf(explanation.chosen)).toBe(chosen && nameOf(chosen))
    const isOffered = (rank: NaiveRank): boolean => eligible.includes(rank)
    const rows = this.#fleet.ranks.map((rank) => {
      const rejection = naiveRejection(this.#fleet, request, applied, rank)
      const { pinnedWorker: pin } = request
      const isPin = pin?.workerId === rank.workerId && pin.dpRank === rank.dpRank
      return {
        name: nameOf(rank),
        rejection: rejection ?? (pin !== undefined && !isPin ? 'NotPinned' : undefined),
        filter: isOffered(rank) && !kept.includes(rank) ? 'filter' : undefined,
        total: totals[kept.indexOf(rank)],
      }
    })
    expect(
      explanation.rows.map(({ workerId, dpRank, rejection, filter, total }) => ({
        name: nameOf({ workerId, dpRank }),
        rejection,
        filter,
        total,
      })),
    ).toEqual(rows)
    const sorted = totals.toSorted((a, b) => a - b)
    expect(explanation.margin).toBe(sorted.length < 2 ? undefined : sorted[1]! - sorted[0]!)
  }
}

function factsOf(result: SelectionResult) {
  return {
    slot: result.slot,
    requiredBlocks: result.requiredBlocks,
    effectiveOverlapBlocks: result.effectiveOverlapBlocks,
    cachedTokens: result.cachedTokens,
    maxRawCachedTokens: result.maxRawCachedTokens,
    selectedRawCachedTokens: result.selectedRawCachedTokens,
    potentialDecodeBlocks: result.potentialDecodeBlocks,
    bestOverlap: result.bestOverlapWorker && nameOf(result.bestOverlapWorker),
    bestOverlapBlocks: result.bestOverlapBlocks,
  }
}
