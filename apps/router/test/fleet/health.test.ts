import { describe, expect, it } from 'vitest'
import { fleetFindings, partitionsHealth } from '../../src/fleet/fleet-health.js'
import { type Finding, HealthCauses } from '../../src/fleet/health-causes.js'
import { until } from '../until.js'
import { TestEngine, storedBatch } from './engine.js'
import { everybody, promptOf, testFleet } from './support.js'

const finding = (code: Finding['code'], scope: string): Finding => ({
  code,
  scope,
  detail: `${code} ${scope}`,
})

describe('causes', () => {
  it('that are found last as long as they are found, and are told once', () => {
    let wallMs = 1000
    const told: string[] = []
    const causes = new HealthCauses(
      () => wallMs,
      ({ scope }) => told.push(scope),
    )
    causes.found('fleet', [finding('index_rebuilding', '1.0'), finding('no_workers', 'router')])
    wallMs = 2000
    causes.found('fleet', [finding('index_rebuilding', '1.0'), finding('index_rebuilding', '2.0')])
    expect(causes.list().map(({ scope, sinceMs, count }) => [scope, sinceMs, count])).toEqual([
      ['1.0', 1000, 1],
      ['2.0', 2000, 1],
    ])
    causes.found('other', [finding('discovery_invalid', 'file')])
    causes.found('fleet', [])
    causes.found('fleet', [finding('index_rebuilding', '1.0')])
    expect(causes.list().map(({ code, sinceMs }) => [code, sinceMs])).toEqual([
      ['discovery_invalid', 2000],
      ['index_rebuilding', 2000],
    ])
    expect(told).toEqual(['1.0', 'router', '2.0', 'file', '1.0'])
  })

  it('that were raised are counted, and stay until their scope is cleared', () => {
    const causes = new HealthCauses(() => 0)
    for (const scope of ['1.0', '1.0', '1.1', '10.0', '1'])
      causes.raise(finding('block_size_mismatch', scope))
    causes.found('fleet', [])
    expect(causes.list().map(({ scope, count }) => [scope, count])).toEqual([
      ['1', 1],
      ['1.0', 2],
      ['1.1', 1],
      ['10.0', 1],
    ])
    causes.clear('1')
    expect(causes.list().map(({ scope }) => scope)).toEqual(['10.0'])
  })

  it('are bounded', () => {
    const causes = new HealthCauses(() => 0)
    for (let scope = 0; scope < 10_050; scope++) causes.raise(finding('hash_mismatch', `${scope}`))
    expect(causes.list()).toHaveLength(10_000)
    causes.raise(finding('hash_mismatch', '7'))
    expect(causes.list().find(({ scope }) => scope === '7')!.count).toBe(2)
  })
})

describe('what a fleet finds', () => {
  const codesOf = ({ fleet }: ReturnType<typeof testFleet>) =>
    fleetFindings(fleet).map(({ code, scope }) => `${code} ${scope}`)

  it('nobody who takes requests, and capacities that a limit needs', () => {
    const one = testFleet({ usesKvEvents: false, busyThresholds: { activeDecodeBlocks: 0.9 } })
    expect(codesOf(one)).toEqual(['no_workers router'])
    one.add(1, { endpoint: '' })
    expect(codesOf(one)).toEqual(['no_workers router'])
    one.add(1)
    expect(codesOf(one)).toEqual(['capacity_unknown 1'])
    one.add(1, { totalKvBlocks: 0 })
    expect(codesOf(one)).toEqual(['capacity_unknown 1'])
    one.add(1, { totalKvBlocks: 9 })
    expect(codesOf(one)).toEqual([])
    expect(partitionsHealth(one.fleet)).toMatchObject([
      { workers: 1, schedulable: 1, mode: 'approximate', blocks: 0 },
    ])
  })

  it('ranks of which something is missing, and those without events beside them', async () => {
    const one = testFleet({})
    const engine = new TestEngine()
    const url = await engine.start()
    one.add(1, { kvEventsEndpoint: url })
    expect(partitionsHealth(one.fleet)).toMatchObject([
      { mode: 'exact', isComplete: false, ranks: { connecting: 1 } },
    ])
    await until('subscribed', () => engine.subscriptions === 1)
    await engine.publish(5, storedBatch('ab'))
    await until('applied', () => partitionsHealth(one.fleet)[0]!.blocks === 2)
    expect(codesOf(one)).toEqual(['index_started_empty 1.0'])
    one.fleet.workers.upsert({ workerId: 2n, endpoint: 'http://w2', blockSize: 4 }, 'trusted')
    expect(codesOf(one)).toEqual(['index_started_empty 1.0', 'approximate_mode 2'])
    expect(partitionsHealth(one.fleet)).toMatchObject([{ workers: 2, mode: 'mixed', isComplete: false }])
    one.fleet.workers.remove(1n)
    expect(codesOf(one)).toEqual(['approximate_mode 2'])
    expect(one.fleet.overlaps(everybody, { prompt: promptOf('ab') }).ranks).toHaveLength(1)
    one.fleet.dispose()
    await engine.stop()
  })
})
