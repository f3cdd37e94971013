import {
  type WorkerCandidates,
  type WorkerInputName,
  definePolicy,
  sharedHitsFrom,
  workerInputNames,
} from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createSelector, WorkerTable } from '../src/index.js'
import { request } from './support/hosts.js'

const probed = ['cache', 'load', 'preferredTaint'] as const
const groupsOf = (mask: number, names: readonly WorkerInputName[]): readonly WorkerInputName[] =>
  names.filter((_, bit) => ((mask >> bit) & 1) === 1)

const hits = sharedHitsFrom([
  [0, 2],
  [5, 6],
])

/** What a component saw, when it is exactly what it declared; else a description of the difference. */
function look(
  candidates: WorkerCandidates,
  declared: readonly WorkerInputName[],
  facts: { tiers: boolean; shared: boolean },
): string {
  const seen = workerInputNames.filter((group) => candidates[group] !== undefined)
  if (seen.join() !== declared.join()) return `declared ${declared.join()}, saw ${seen.join()}`
  const { cache, load, preferredTaint } = candidates
  if (cache !== undefined) {
    const device = facts.tiers ? 3 : 0
    if (cache.deviceOverlapBlocks[0] !== device || cache.estimateBlocks[0] !== 4.5) return 'cache columns'
    if (cache.hasTierMatches !== facts.tiers) return 'hasTierMatches'
    if (cache.sharedHits !== (facts.shared ? hits : undefined)) return 'sharedHits'
  }
  if (load !== undefined && load.activePrefillTokens[0] !== 11) return 'load columns'
  if (preferredTaint !== undefined && (!preferredTaint.applies || preferredTaint.multiplier[0] === 1))
    return 'taint'
  return 'ok'
}

/** Five components (two filters, two scorers, a picker) with their own inputs; counts declaration reads. */
function probe(
  masks: readonly number[],
  names: readonly WorkerInputName[],
  facts: { tiers: boolean; shared: boolean },
) {
  const [filter, scorer, picker] = masks.map((mask) => groupsOf(mask, names)) as WorkerInputName[][]
  const union = names.filter((name) => [filter, scorer, picker].some((inputs) => inputs!.includes(name)))
  const state = { reads: 0, looks: [] as string[], union, order: [] as string[] }
  const component = (name: string, inputs: readonly WorkerInputName[]) => ({
    name,
    get inputs() {
      state.reads++
      state.order.push(name)
      return inputs
    },
  })
  const note = (candidates: WorkerCandidates, inputs: readonly WorkerInputName[]): void =>
    void state.looks.push(look(candidates, inputs, facts))
  const with_ = <T extends object>(base: object, members: T): T => Object.assign(base, members)
  const filters = [filter!, []].map((inputs, index) =>
    with_(component(`filter ${index}`, inputs), {
      keep: (_context: unknown, candidates: WorkerCandidates, row: number) => {
        note(candidates, inputs)
        return candidates.workerId(row) !== 2n
      },
    }),
  )
  const scorers = [scorer!, []].map((inputs, index) =>
    with_(component(`scorer ${index}`, inputs), {
      score: (_context: unknown, candidates: WorkerCandidates, costs: Float64Array) => {
        note(candidates, inputs)
        costs.fill(0, 0, candidates.count)
      },
    }),
  )
  const pick = with_(component('picker', picker!), {
    pick: (_context: unknown, candidates: WorkerCandidates) => {
      note(candidates, picker!)
      return 0
    },
  })
  const definition = definePolicy({
    type: 'probe',
    version: '1.0.0',
    stability: 'stable',
    roles: ['decode'],
    affinity: 'advisory',
    parameters,
    inputs: union,
    create: () => ({ filters, scorers, picker: pick }) as never,
  })
  return { state, definition }
}

const parameters = z.strictObject({})

function tableOf(tiers: boolean): WorkerTable {
  const table = new WorkerTable()
  for (const workerId of [1n, 2n, 3n]) table.upsertWorker({ workerId, taints: ['fast'], totalKvBlocks: 9 })
  for (const workerId of [1n, 2n, 3n]) {
    const slot = table.slotOf(workerId, 0)
    table.setLoad(slot, 11, 12, 13)
    table.setOverlap(slot, tiers ? 3 : 0, 0, 0, 4.5, 72)
    table.setOccupancy(slot, 5, 6)
    table.setPrefillBacklog(slot, 7)
  }
  return table
}

const asked = { preferredTaints: [{ taint: 'fast', weight: 1 }] }

describe('input probe', () => {
  it.each([
    [true, true],
    [true, false],
    [false, true],
    [false, false],
  ])('512 masks of filters, scorers and picker; tier maps %s, shared hits %s', (tiers, shared) => {
    const table = tableOf(tiers)
    const facts = { tiers, shared }
    let policies = 0
    for (let masks = 0; masks < 512; masks++) {
      const each = [masks & 7, (masks >> 3) & 7, masks >> 6]
      const { state, definition } = probe(each, probed, facts)
      const selector = createSelector({
        table,
        policy: { definition, name: 'probe', configured: {}, parameters: {}, runtime: false },
        role: 'decode',
        entropy: () => 1n,
        nowMs: () => 0,
      })
      const sent = request({ ...asked, hasTierMatches: tiers, sharedHits: shared ? hits : undefined })
      for (let selection = 0; selection < 2; selection++) expect(selector.select(sent).workerId).toBe(1n)
      // Three rows, of which the first filter rejects one: 3 + 2 filter calls, two scorers, a picker, twice.
      expect(state.looks.length).toBe(16)
      expect(state.looks.every((found) => found === 'ok') || [each, state.looks]).toBe(true)
      expect(state.reads).toBe(5)
      expect(state.order).toEqual(['picker', 'filter 0', 'filter 1', 'scorer 0', 'scorer 1'])
      expect([...selector.declaredInputs].sort()).toEqual([...state.union].sort())
      selector.dispose()
      policies++
    }
    expect(policies).toBe(512)
  })

  it.each(['capacity', 'occupancy', 'prefillTime'] as const)(
    '%s too is seen by those who declare it only',
    (group) => {
      for (let masks = 0; masks < 8; masks++) {
        const each = [masks & 1, (masks >> 1) & 1, masks >> 2]
        const { state, definition } = probe(each, [group], { tiers: true, shared: false })
        const selector = createSelector({
          table: tableOf(true),
          policy: { definition, name: 'probe', configured: {}, parameters: {}, runtime: false },
          role: 'decode',
          entropy: () => 1n,
          nowMs: () => 0,
        })
        for (let selection = 0; selection < 2; selection++) selector.select(request(asked))
        expect(state.looks).toEqual(Array.from({ length: 16 }, () => 'ok'))
        expect(state.reads).toBe(5)
      }
    },
  )
})
