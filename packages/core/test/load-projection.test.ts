import { describe, expect, it } from 'vitest'
import { type PotentialRequest, effectivePrefillTokens } from '../src/index.js'
import { hostOf, request } from './support/hosts.js'
import { type LedgerHost, hashesOfPath, ledgerHost } from './support/ledgers.js'
import { tinyPolicy } from './support/policies.js'

/** Columns of a rank as a policy reads them: prefill tokens, blocks, requests. */
function columnsOf(host: LedgerHost, name: string): number[] {
  const { activePrefillTokens, decodeCostBlocks, activeRequests } = host.table.columns.views.load!
  const row = host.table.rowOfSlot[host.slot(name)]!
  return [activePrefillTokens[row]!, decodeCostBlocks[row]!, activeRequests[row]!]
}

const numbers = (count: number, from = 0): number[] =>
  Array.from({ length: count }, (_, index) => from + index)

describe('S2: the projection of a new request', () => {
  it.each([
    { promptTokens: 32, hashes: 0, active: 100, reports: 102 },
    { promptTokens: 32, hashes: 2, active: 100, reports: 102 },
    { promptTokens: 32, hashes: 2, active: 100, shares: true, reports: 100 },
    { promptTokens: 33, hashes: 2, active: 100, reports: 103 },
  ])(
    'with $active active blocks, $promptTokens tokens, $hashes hashes, shared $shares: reports $reports',
    (check) => {
      const path = check.shares === true ? numbers(check.hashes) : numbers(check.hashes, 1000)
      const ledger = ledgerHost({ workers: [{ workerId: 1n }] })
      ledger.add('a', { path: numbers(check.active) })
      ledger.ledger.project(hashesOfPath(path))
      const host = hostOf(tinyPolicy({}), { table: ledger.table, workers: [] })
      const words = { count: path.length, high: new Uint32Array(9), low: new Uint32Array(9) }
      const { potentialDecodeBlocks } = host.selector.select(
        request({ promptTokens: check.promptTokens, blockSize: 16, prefixHashes: words }),
      )
      expect(potentialDecodeBlocks).toBe(check.reports)
    },
  )

  it('a rank is charged for the blocks that it does not have active, from the left', () => {
    const host = ledgerHost()
    host.add('a', { path: [1, 2, 3, 4], prefillTokens: 64 })
    host.add('b', { path: [1, 2, 9], on: '1.1' })
    host.add('c', { path: [7], on: '1.1' })
    const charged = (path: readonly number[]): number[] => {
      host.ledger.project(hashesOfPath(path))
      return ['1.0', '1.1', '2.0'].map((name) => columnsOf(host, name)[1]!)
    }
    expect(charged([1, 2, 3, 5, 6])).toEqual([4 + 2, 4 + 3, 5])
    expect(charged([1, 2])).toEqual([4, 4, 2])
    expect(charged([2, 3])).toEqual([6, 6, 2])
    expect(charged([])).toEqual([4, 4, 0])
    expect(charged([1, 2, 3, 4, 5])).toEqual([5, 7, 5])
    expect([columnsOf(host, '1.0'), columnsOf(host, '1.1')]).toEqual([
      [64, 5, 1],
      [0, 7, 2],
    ])
  })

  it('counts as many hashes as it is told', () => {
    const host = ledgerHost()
    host.add('a', { path: [1, 2, 3], hashCount: 2 })
    host.ledger.project(hashesOfPath([1, 2, 3, 4]), 3)
    expect(columnsOf(host, '1.0')[1]).toBe(2 + 1)
  })

  it('more cached than asked for gives 0, and so does prefill that is not tracked', () => {
    expect([
      effectivePrefillTokens(100, 30),
      effectivePrefillTokens(100, 100),
      effectivePrefillTokens(100, 130),
      effectivePrefillTokens(100, 30, false),
      effectivePrefillTokens(0, 0),
    ]).toEqual([70, 0, 0, 0, 0])
    const host = ledgerHost()
    host.add('a', { prefillTokens: effectivePrefillTokens(32, 48) })
    expect(host.ledger.markPrefillCompleted('a')).toBe(false)
  })

  it('every rank has a load, also one that joined just now, and melting prefill is that of now', () => {
    const host = ledgerHost({ modelsPrefillTime: true })
    const { table, ledger, clock } = host
    host.add('a', { prefillTokens: 1000, prefillDurationMs: 2000, path: [1] })
    ledger.project(hashesOfPath([1, 2]))
    table.upsertWorker({ workerId: 0n, dataParallelSize: 40 })
    clock.ms = 500
    ledger.project(hashesOfPath([1, 2]))
    expect([columnsOf(host, '1.0'), columnsOf(host, '0.39'), table.columns.unknownLoads]).toEqual([
      [750, 2, 1],
      [0, 2, 0],
      0,
    ])
    const backlog = (name: string): number =>
      table.columns.views.prefillTime!.backlogMs[table.rowOfSlot[host.slot(name)]!]!
    expect([backlog('1.0'), backlog('0.39')]).toEqual([1500, 0])
    clock.ms = 600
    ledger.project()
    expect([columnsOf(host, '1.0'), backlog('1.0')]).toEqual([[700, 1, 1], 1400])
    host.add('b', { prefillTokens: 5 })
    ledger.project()
    expect([columnsOf(host, '1.0')[0], backlog('1.0')]).toEqual([705, Number.NaN])
  })

  it('without a model of prefill times the backlog stays unknown', () => {
    const host = ledgerHost()
    host.add('a', { prefillTokens: 1000, prefillDurationMs: 2000 })
    host.ledger.project()
    expect([...host.table.columns.views.prefillTime!.backlogMs.subarray(0, 3)]).toEqual([NaN, NaN, NaN])
  })

  it.each([true, false])('over a large fleet, whoever shares: WebAssembly %s', (webAssembly) => {
    const size = 1100
    const host = ledgerHost({ webAssembly, workers: [{ workerId: 1n, dataParallelSize: size }] })
    // Rank r holds the first blocks of the path: all share three, fewer and fewer share more.
    const depthOf = (dpRank: number): number => 3 + (dpRank % 7 === 0 ? 4 : 0) + (dpRank % 49 === 0 ? 20 : 0)
    for (let dpRank = 0; dpRank < size; dpRank++) {
      host.add(`${dpRank}`, { on: `1.${dpRank}`, path: numbers(depthOf(dpRank)) })
      if (dpRank % 3 === 0)
        host.add(`${dpRank} more`, { on: `1.${dpRank}`, path: [...numbers(2), 500 + dpRank] })
    }
    const path = numbers(40)
    const check = (): void => {
      host.ledger.project(hashesOfPath(path))
      for (let dpRank = 0; dpRank < size; dpRank++) {
        const [, blocks] = columnsOf(host, `1.${dpRank}`)
        const active = depthOf(dpRank) + (dpRank % 3 === 0 ? 1 : 0)
        expect([dpRank, blocks]).toEqual([dpRank, active + path.length - depthOf(dpRank)])
      }
    }
    check()
    host.table.setOverloadedWorkers([1n])
    host.table.setOverloadedWorkers([])
    for (let dpRank = 0; dpRank < size; dpRank += 13) host.table.setOverloaded(host.slot(`1.${dpRank}`), true)
    for (let selection = 0; selection < 6; selection++) host.table.eligible.refresh()
    expect(host.table.eligible.isMirrored).toBe(true)
    check()
    const { eligible } = host.table
    for (const [dense, row] of eligible.list.rows.view.subarray(0, eligible.list.count).entries()) {
      expect(eligible.columns.views.load!.decodeCostBlocks[dense]).toBe(
        host.table.columns.views.load!.decodeCostBlocks[row],
      )
    }
    expect(host.ledger.audit()).toEqual([])
  })
})

describe('reported shapes', () => {
  const host = ledgerHost()
  host.add('a', { path: [1, 2, 3], prefillTokens: 48 })
  host.add('b', { path: [1], on: '2.0' })
  const loads = (asked?: PotentialRequest): unknown[] =>
    host.ledger
      .potentialLoads(asked)
      .map(({ workerId, dpRank, ...rest }) => [`${workerId}.${dpRank}`, ...Object.values(rest)])

  it('PotentialLoad of an empty request, and of one', () => {
    expect(loads()).toEqual([
      ['1.0', 48, 3, 1],
      ['1.1', 0, 0, 0],
      ['2.0', 0, 1, 1],
    ])
    const asked = { promptTokens: 50, hashes: hashesOfPath([1, 2, 8]) }
    expect(loads(asked)).toEqual([
      ['1.0', 98, 4, 1],
      ['1.1', 50, 3, 0],
      ['2.0', 50, 3, 1],
    ])
    const cachedTokens = (slot: number): number =>
      slot === host.slot('1.0') ? 32 : slot === host.slot('2.0') ? 64 : 0
    expect(loads({ ...asked, cachedTokens }).map((load) => (load as number[])[1])).toEqual([66, 50, 0])
    expect(loads({ ...asked, tracksPrefillTokens: false }).map((load) => (load as number[])[1])).toEqual([
      48, 0, 0,
    ])
    expect(loads({ ...asked, hashCount: 1 }).map((load) => (load as number[])[2])).toEqual([3, 1, 1])
  })

  it('ActiveLoad', () => {
    expect(host.ledger.activeLoad(host.slot('1.0'))).toEqual({
      workerId: 1n,
      dpRank: 0,
      activeDecodeBlocks: 3,
      activePrefillTokens: 48,
      schedulerLoadScope: 'local',
    })
  })
})
