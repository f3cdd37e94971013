import { describe, expect, it } from 'vitest'
import { LoadReports, WorkerTable } from '../src/index.js'
import { codeOf } from './support/caught.js'

function reportsHost(maxAgeMs?: number): {
  table: WorkerTable
  reports: LoadReports
  clock: { ms: number }
  slot: number
} {
  const table = new WorkerTable()
  table.upsertWorker({ workerId: 7n, dataParallelStartRank: 3 })
  const clock = { ms: 0 }
  const age = maxAgeMs === undefined ? {} : { maxAgeMs }
  return {
    table,
    clock,
    reports: new LoadReports({ table, nowMs: () => clock.ms, ...age }),
    slot: table.slotOf(7n, 3),
  }
}

const rank = { workerId: 7n, dpRank: 3 }

describe('S7, U16, U36: load reports', () => {
  it('of several sources merge by field: a partial one erases nothing', () => {
    const { reports, slot } = reportsHost()
    expect(reports.read(slot)).toEqual(rank)
    reports.merge(slot, { activeDecodeBlocks: 40, activePrefillTokens: 900, schedulerLoadScope: 'local' })
    reports.merge(slot, { kvUsedBlocks: 77 })
    reports.merge(slot, { activeDecodeBlocks: 41, activePrefillTokens: undefined } as object)
    expect(reports.read(slot)).toEqual({
      ...rank,
      activeDecodeBlocks: 41,
      activePrefillTokens: 900,
      kvUsedBlocks: 77,
      schedulerLoadScope: 'local',
    })
  })

  it('age field by field: what is older than 10 s is absent, not last known and not 0', () => {
    const { reports, clock, slot } = reportsHost()
    reports.merge(slot, { activeDecodeBlocks: 40, kvUsedBlocks: 0 })
    clock.ms = 6000
    reports.merge(slot, { kvUsedBlocks: 5 })
    clock.ms = 10_000
    expect(reports.read(slot)).toEqual({ ...rank, activeDecodeBlocks: 40, kvUsedBlocks: 5 })
    clock.ms = 10_001
    expect(reports.read(slot)).toEqual({ ...rank, kvUsedBlocks: 5 })
    clock.ms = 16_001
    expect(reports.read(slot)).toEqual(rank)
    reports.merge(slot, { activeDecodeBlocks: 3 })
    expect(reports.read(slot)).toEqual({ ...rank, activeDecodeBlocks: 3 })
  })

  it('hold as long as the host says', () => {
    const { reports, clock, slot } = reportsHost(500)
    reports.merge(slot, { kvUsedBlocks: 5 })
    clock.ms = 501
    expect(reports.read(slot)).toEqual(rank)
  })

  it('go with their rank, and the next one on the slot starts unknown', () => {
    const { table, reports, slot } = reportsHost()
    reports.merge(slot, { kvUsedBlocks: 5 })
    table.removeWorker(7n)
    expect(codeOf(() => reports.read(slot))).toBe('ROUTER_NOT_FOUND')
    table.upsertWorker({ workerId: 8n })
    expect(table.slotOf(8n, 0)).toBe(slot)
    expect(reports.read(slot)).toEqual({ workerId: 8n, dpRank: 0 })
    reports.dispose()
  })

  it.each<[string, object]>([
    ['a negative value', { activeDecodeBlocks: 1, kvUsedBlocks: -1 }],
    ['NaN', { activeDecodeBlocks: 1, activePrefillTokens: Number.NaN }],
    ['an endless one', { activeDecodeBlocks: Infinity }],
    ['an unknown scope', { activeDecodeBlocks: 1, schedulerLoadScope: 'global' }],
  ])('with %s are refused whole', (_name, report) => {
    const { reports, slot } = reportsHost()
    reports.merge(slot, { activeDecodeBlocks: 40 })
    expect(codeOf(() => reports.merge(slot, report))).toBe('ROUTER_BAD_REQUEST')
    expect(reports.read(slot)).toEqual({ ...rank, activeDecodeBlocks: 40 })
  })

  it('of an unknown rank are refused', () => {
    const { reports } = reportsHost()
    for (const slot of [-1, 5, 0.5]) expect(codeOf(() => reports.merge(slot, {}))).toBe('ROUTER_NOT_FOUND')
  })
})
