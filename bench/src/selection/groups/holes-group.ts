import type { SelectionRequest, WorkerTable } from '@router/core'
import { defaultPolicy } from '@router/policy-default'
import type { Snapshot } from '@router/reference-selector'
import type { Body, Variant } from '../../harness/variant.js'
import { requestOf, selectorOver, standardFleet, tableOf } from '../fleet.js'
import { resolved } from '../policies.js'
import type { Group } from './group.js'

/** What is not whole. */
interface Hole {
  readonly fleet?: (fleet: Snapshot) => Snapshot
  readonly table?: (table: WorkerTable) => void
  readonly request?: Partial<SelectionRequest>
  readonly parameters?: Record<string, unknown>
  /** Done before every selection, and timed with it. */
  readonly eachTime?: (table: WorkerTable, turn: number) => void
  readonly webAssembly?: boolean
}

const taint = 'wanted'

function withTaintOnOddWorkers(fleet: Snapshot): Snapshot {
  return {
    ...fleet,
    workers: fleet.workers.map((worker) => ({
      ...worker,
      taints: worker.workerId % 2n === 1n ? [taint] : [],
    })),
  }
}

function withoutEveryTenthLoad(fleet: Snapshot): Snapshot {
  return { ...fleet, rows: fleet.rows.map((row, index) => (index % 10 === 7 ? { ...row, load: null } : row)) }
}

function overloadMiddleWorker(table: WorkerTable): void {
  table.setOverloadedWorkers([BigInt(table.workers.length >> 1)])
}

/** Sets a flag that another selection cleared; the hole that stays keeps the fleet from ever being whole. */
function flipFirstRank(table: WorkerTable, turn: number): void {
  table.setOverloaded(table.slotOf(0n, 0), turn === 1)
}

const holes: Readonly<Record<string, Hole>> = {
  none: {},
  'one-overloaded': { table: overloadMiddleWorker },
  'required-taint': { fleet: withTaintOnOddWorkers, request: { requiredTaints: [taint] } },
  'unknown-loads': { fleet: withoutEveryTenthLoad },
  'block-size-17': { request: { blockSize: 17 } },
  'decay-0.6': { parameters: { overlap_score_credit_decay: 0.6 } },
  'flag-flips': { table: overloadMiddleWorker, eachTime: flipFirstRank },
}

const jsHoles: readonly string[] = ['none', 'one-overloaded', 'required-taint', 'unknown-loads', 'flag-flips']

function holeBody(workers: number, hole: Hole): Body {
  const whole = standardFleet(workers)
  const fleet = hole.fleet?.(whole) ?? whole
  const table = tableOf(fleet, { webAssembly: hole.webAssembly ?? true })
  hole.table?.(table)
  const selector = selectorOver(table, resolved(defaultPolicy, hole.parameters))
  const request = requestOf(fleet, hole.request)
  const { eachTime } = hole
  if (eachTime === undefined) return () => selector.select(request).slot
  let turn = 0
  return () => {
    turn ^= 1
    eachTime(table, turn)
    return selector.select(request).slot
  }
}

const named = (hole: string, isJs: boolean): string => `holes/${hole}${isJs ? '-js' : ''}`

/** A fleet that is never fully eligible is the real one. */
export const holesGroup: Group = {
  name: 'holes',
  title: 'the default policy on fleets with holes',
  sizes: [64, 1024, 4096],
  contest: (workers) => {
    const variant = (name: string, isJs: boolean): Variant => ({
      name: named(name, isJs),
      temperature: 0,
      prepare: () => holeBody(workers, { ...holes[name], webAssembly: !isJs }),
    })
    const against = (name: string, isJs: boolean) => ({
      of: { name: named(name, isJs), temperature: 0 },
      to: { name: named('none', isJs), temperature: 0 },
    })
    const names = Object.keys(holes)
    return {
      group: 'holes',
      workers,
      ranks: 2,
      variants: [...names.map((name) => variant(name, false)), ...jsHoles.map((name) => variant(name, true))],
      comparisons: [
        ...names.slice(1).map((name) => against(name, false)),
        ...jsHoles.slice(1).map((name) => against(name, true)),
      ],
    }
  },
}
