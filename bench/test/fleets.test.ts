import { defaultPolicy } from '@router/policy-default'
import { ReferenceSelector, builtInParameters, fixture } from '@router/reference-selector'
import { describe, expect, it } from 'vitest'
import {
  floorInputOf,
  hostFleet,
  requestOf,
  selectorOver,
  standardFleet,
  tableOf,
} from '../src/selection/fleet.js'
import { floor } from '../src/selection/floor.js'
import { resolved } from '../src/selection/policies.js'

const sizes = [2, 9, 64]

describe('standard fleet', () => {
  it.each(sizes)('is the fixture of the oracle, column by column, at %i workers', (workers) => {
    const { rows } = fixture(workers, 2048, 16)
    const table = tableOf(standardFleet(workers))
    expect(table.slotCount).toBe(2 * workers)
    const { identity, cache, load, capacity } = table.columns.views
    for (const [row, expected] of rows.entries()) {
      expect({
        workerId: BigInt(identity!.workerIdHigh[row]!) * 2n ** 32n + BigInt(identity!.workerIdLow[row]!),
        dpRank: identity!.dpRank[row],
        deviceOverlapBlocks: cache!.deviceOverlapBlocks[row],
        hostOverlapBlocks: cache!.hostOverlapBlocks[row],
        diskOverlapBlocks: cache!.diskOverlapBlocks[row],
        estimateBlocks: cache!.estimateBlocks[row],
        estimateTokens: cache!.estimateTokens[row],
        load: {
          activePrefillTokens: load!.activePrefillTokens[row],
          decodeCostBlocks: load!.decodeCostBlocks[row],
          activeRequests: load!.activeRequests[row],
        },
      }).toEqual(expected)
      expect(capacity!.totalKvBlocks[row]).toBe(16_384)
    }
  })

  it('sums to what its periods say', () => {
    const { rows } = standardFleet(9 * 5 * 7 * 11)
    const sum = (of: (row: (typeof rows)[number]) => number): number =>
      rows.reduce((total, row) => total + of(row), 0)
    expect(sum((row) => row.deviceOverlapBlocks)).toBe(rows.length * 4)
    expect(sum((row) => row.load!.activePrefillTokens)).toBe(rows.length * 19 * 3)
    expect(sum((row) => row.load!.decodeCostBlocks)).toBe(rows.length * 8)
    expect(sum((row) => row.load!.activeRequests)).toBe(rows.length * 2)
  })
})

describe('host fleet', () => {
  it('has one rank a worker, estimates only', () => {
    const { request, rows } = hostFleet(200)
    expect(request.hasTierMatches).toBe(false)
    expect(rows).toHaveLength(200)
    expect(rows[130]).toMatchObject({ deviceOverlapBlocks: 0, estimateTokens: 128, estimateBlocks: 8 })
    expect(rows[130]!.load).toEqual({ activePrefillTokens: 2080, decodeCostBlocks: 3, activeRequests: 11 })
  })
})

describe('what is timed', () => {
  const oracle = (temperature: number): ReferenceSelector =>
    new ReferenceSelector({
      role: 'prefill',
      conditionalDisaggregation: false,
      parameters: { ...builtInParameters, router_temperature: temperature },
      seed: 42n,
    })

  it.each(sizes)('is the same formula in the floor, at %i workers', (workers) => {
    const fleet = standardFleet(workers)
    const { costs } = oracle(0).select(fleet)
    expect(floor(floorInputOf(fleet))).toBe(costs.indexOf(Math.min(...costs)))
  })

  it.each([
    [0, true],
    [0, false],
    [0.7, true],
    [0.7, false],
  ])('picks what the oracle picks at T %d, WebAssembly %s', (temperature, webAssembly) => {
    const fleet = standardFleet(16)
    const policy = resolved(defaultPolicy, { router_temperature: temperature })
    const selector = selectorOver(tableOf(fleet, { webAssembly }), policy)
    const reference = oracle(temperature)
    for (let selection = 0; selection < 50; selection++) {
      const { workerId, dpRank } = selector.select(requestOf(fleet))
      expect(reference.select(fleet).result).toMatchObject({ workerId, dpRank })
    }
  })
})
