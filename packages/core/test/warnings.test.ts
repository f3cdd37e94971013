import { describe, expect, it } from 'vitest'
import { type RouterWarning, createSelector } from '../src/index.js'
import { WarningGate } from '../src/warnings.js'
import { request, tinyHost } from './support/hosts.js'
import { firstAfter, resolved, tinyPolicy } from './support/policies.js'

/** A host whose policy warns as `warn` says, in each selection. */
function warningHost(warn: (warnOnce: (code: string, workerId?: bigint, dpRank?: number) => void) => void) {
  return tinyHost((_parameters, scope) => ({ picker: firstAfter(() => warn(scope.warnOnce)) }), {
    workers: [1n, 2n].map((workerId) => ({ workerId, dataParallelSize: 2 })),
  })
}

const causes = (warnings: readonly RouterWarning[]): string[] =>
  warnings.map(({ code, workerId, dpRank }) => `${code} ${workerId}.${dpRank}`)

describe('warnings of a policy', () => {
  it('are reported once per code and rank, with the instance that warned', () => {
    const host = warningHost((warnOnce) => {
      warnOnce('odd_fleet')
      warnOnce('no_capacity', 1n, 0)
      warnOnce('no_capacity', 1n, 1)
      warnOnce('slow', 1n, 0)
    })
    for (let round = 0; round < 3; round++) host.select()
    expect(causes(host.warnings)).toEqual([
      'odd_fleet undefined.undefined',
      'no_capacity 1.0',
      'no_capacity 1.1',
      'slow 1.0',
    ])
    expect(host.warnings[1]).toEqual({
      code: 'no_capacity',
      message: 'policy tested: no_capacity (worker 1, rank 0)',
      policy: 'tested',
      workerId: 1n,
      dpRank: 0,
    })
    expect(host.warnings[0]).not.toHaveProperty('workerId')
  })

  it('are ignored during a query, and reported by the tracked selection after it', () => {
    const host = warningHost((warnOnce) => warnOnce('odd'))
    host.select({ mode: 'query' })
    host.selector.explain(request())
    expect([host.warnings.length, host.selector.rememberedWarnings]).toEqual([0, 0])
    host.select()
    expect(causes(host.warnings)).toEqual(['odd undefined.undefined'])
  })

  it('are forgotten when their worker leaves, and when only their rank does', () => {
    let warned: readonly [bigint, number][] = []
    const host = warningHost((warnOnce) => warned.forEach(([id, rank]) => warnOnce('no_capacity', id, rank)))
    const round = (...ranks: readonly [bigint, number][]): number => {
      warned = ranks
      const before = host.warnings.length
      host.select()
      return host.warnings.length - before
    }
    const all: [bigint, number][] = [
      [1n, 0],
      [1n, 1],
      [2n, 0],
    ]
    expect([round(...all), round(...all)]).toEqual([3, 0])
    host.table.removeWorker(2n)
    expect(round([1n, 0])).toBe(0)
    expect(host.selector.rememberedWarnings).toBe(2)
    host.table.upsertWorker({ workerId: 2n })
    expect(round([2n, 0])).toBe(1)
    host.table.upsertWorker({ workerId: 1n, dataParallelSize: 1 })
    expect(round([1n, 0])).toBe(0)
    host.table.upsertWorker({ workerId: 1n, dataParallelSize: 2 })
    expect(round(...all)).toBe(1)
    host.table.removeWorker(2n)
    host.table.upsertWorker({ workerId: 2n })
    expect(round(...all), 'gone and back between two selections').toBe(1)
  })

  it('of a worker that never was are forgotten at the next change of workers', () => {
    const host = warningHost((warnOnce) => warnOnce('stranger', 99n, 0))
    host.select()
    host.table.upsertWorker({ workerId: 3n })
    host.select()
    expect(host.warnings).toHaveLength(2)
    expect(host.selector.rememberedWarnings).toBe(1)
  })

  it('that name a worker without a rank stay while any rank of it does', () => {
    const host = warningHost((warnOnce) => warnOnce('old_engine', 1n))
    host.select()
    host.table.upsertWorker({ workerId: 1n, dataParallelSize: 1 })
    host.select()
    expect(host.warnings).toHaveLength(1)
  })

  it('work without a listener', () => {
    const { table } = tinyHost({})
    const selector = createSelector({
      table,
      policy: resolved(
        tinyPolicy({ create: (_parameters, scope) => ({ picker: firstAfter(() => scope.warnOnce('x')) }) }),
      ),
      role: 'decode',
      entropy: () => 1n,
      nowMs: () => 0,
    })
    expect(selector.select(request()).workerId).toBe(1n)
  })
})

describe('the memory of warnings', () => {
  it('is bounded: beyond 65,536 causes the oldest is forgotten', () => {
    const reported: RouterWarning[] = []
    const gate = new WarningGate('p', (warning) => reported.push(warning))
    for (let id = 0n; id < 65_536n; id++) gate.once('c', 'm', id)
    expect([gate.size, reported.length]).toEqual([65_536, 65_536])
    gate.once('c', 'm', 0n)
    expect(reported).toHaveLength(65_536)
    gate.once('c', 'm', 70_000n)
    expect(gate.size).toBe(65_536)
    gate.once('c', 'm', 1n)
    expect(reported).toHaveLength(65_537)
    gate.once('c', 'm', 0n)
    expect(reported).toHaveLength(65_538)
  })

  it('tells causes apart whatever their codes look like', () => {
    const reported: RouterWarning[] = []
    const gate = new WarningGate('p', (warning) => reported.push(warning))
    gate.once('a/1', 'm')
    gate.once('a', 'm', 1n)
    gate.once('a', 'm', 1n, 0)
    gate.once('a/1', 'm', 0n)
    expect(reported).toHaveLength(4)
  })
})

describe('a role that the policy is not meant for', () => {
  it('is served, with one warning that names the roles it is meant for', () => {
    const host = tinyHost({}, { roles: ['prefill', 'decode'], role: 'encode' })
    host.select()
    host.select()
    expect(host.warnings).toHaveLength(1)
    expect(host.warnings[0]).toMatchObject({ code: 'role_not_intended', policy: 'tested' })
    expect(host.warnings[0]!.message).toMatch(/tiny.*prefill, decode.*encode/u)
    expect(tinyHost({}, { roles: ['encode'], role: 'encode' }).warnings).toEqual([])
  })
})
