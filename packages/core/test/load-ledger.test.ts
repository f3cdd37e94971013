import { describe, expect, it } from 'vitest'
import { BookingBudget, LoadLedger, WorkerTable } from '../src/index.js'
import { codeOf } from './support/caught.js'
import { type LedgerHost, ledgerHost } from './support/ledgers.js'

const blocksOn = (host: LedgerHost, name = '1.0'): number => host.ledger.loadOf(host.slot(name)).activeBlocks

/** Every order of these. */
function orders<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]]
  return items.flatMap((item, at) => orders(items.toSpliced(at, 1)).map((rest) => [item, ...rest]))
}

describe('S1: a shared prefix is counted once', () => {
  const paths: Readonly<Record<string, readonly number[]>> = {
    whole: [1, 2, 3, 4],
    start: [1, 2],
    branch: [1, 2, 9],
    same: [1, 2, 3, 4],
    other: [7],
  }

  it('on each rank for itself', () => {
    const host = ledgerHost()
    host.add('a', { path: [1, 2, 3] })
    host.add('b', { path: [1, 2, 4] })
    host.add('c', { path: [1, 2, 3], on: '2.0' })
    expect([blocksOn(host), blocksOn(host, '1.1'), blocksOn(host, '2.0')]).toEqual([4, 0, 3])
  })

  it('and a block goes with its last request, whatever the order', () => {
    for (const coming of orders(Object.keys(paths)).filter((_, index) => index % 7 === 0)) {
      for (const going of orders(Object.keys(paths)).filter((_, index) => index % 11 === 0)) {
        const host = ledgerHost()
        for (const id of coming) host.add(id, { path: paths[id]! })
        expect(blocksOn(host)).toBe(6)
        const live = new Set(coming)
        for (const id of going) {
          expect(host.ledger.free(id)).toBe(true)
          live.delete(id)
          const places = [...live].flatMap((one) =>
            paths[one]!.map((_, end) => paths[one]!.slice(0, end + 1).join()),
          )
          expect(blocksOn(host)).toBe(new Set(places).size)
          expect(host.ledger.audit()).toEqual([])
        }
      }
    }
  })

  it('and a second free does nothing and says so', () => {
    const host = ledgerHost()
    host.add('a', { path: [1, 2], prefillTokens: 10 })
    host.add('b', { path: [1] })
    expect([host.ledger.free('a'), host.ledger.free('a'), host.ledger.free('never seen')]).toEqual([
      true,
      false,
      false,
    ])
    expect(host.ledger.loadOf(host.slot('1.0'))).toMatchObject({
      activeBlocks: 1,
      activePrefillTokens: 0,
      activeRequests: 1,
    })
  })

  it('by the place of a block, so equal hashes elsewhere are other blocks', () => {
    const host = ledgerHost()
    host.add('a', { path: [5, 5, 5] })
    host.add('b', { path: [6, 5, 5] })
    expect(blocksOn(host)).toBe(6)
    host.ledger.free('a')
    expect(blocksOn(host)).toBe(3)
  })

  it('over paths longer than a run', () => {
    const host = ledgerHost()
    const long = Array.from({ length: 10_000 }, (_, block) => block)
    host.add('a', { path: long })
    host.add('b', { path: long })
    host.add('c', { path: [...long.slice(0, 4096), 1] })
    host.add('d', { path: [...long.slice(0, 9000), 1, 2] })
    expect(blocksOn(host)).toBe(10_003)
    expect(host.ledger.audit()).toEqual([])
    for (const id of ['a', 'd', 'b']) host.ledger.free(id)
    expect(blocksOn(host)).toBe(4097)
    expect(host.ledger.audit()).toEqual([])
  })

  it('and is not counted at all without hashes, or where blocks are not tracked', () => {
    const host = ledgerHost()
    host.add('a')
    host.add('b', { path: [] })
    expect(host.ledger.loadOf(host.slot('1.0'))).toMatchObject({ activeBlocks: 0, activeRequests: 2 })
    const pool = ledgerHost({ tracksBlocks: false })
    pool.add('a', { path: [1, 2, 3] })
    pool.ledger.project(new Uint32Array(8))
    expect(pool.table.columns.views.load!.decodeCostBlocks[0]).toBe(0)
    expect(blocksOn(pool)).toBe(0)
  })
})

describe('S4: the exclusive suffix is weighted, the shared prefix stays at 1', () => {
  it('up to the first block that another request holds', () => {
    const host = ledgerHost()
    host.add('a', { path: [1, 2, 3, 4, 5, 6] })
    host.add('b', { path: [1, 2] })
    host.ledger.addOutputBlock('a', 0.5)
    // Two shared, four at a half, an output block at a half, rounded away from zero.
    expect(blocksOn(host)).toBe(5)
    host.ledger.addOutputBlock('a', 0.25)
    expect(blocksOn(host)).toBe(2 + 1 + 1)
    host.ledger.free('b')
    expect(blocksOn(host)).toBe(4)
    host.ledger.addOutputBlock('a', 0.25)
    expect(blocksOn(host)).toBe(2)
    host.ledger.free('a')
    expect(blocksOn(host)).toBe(0)
  })

  it('and a request on another rank shares nothing', () => {
    const host = ledgerHost()
    host.add('a', { path: [1, 2, 3, 4] })
    host.add('b', { path: [1, 2, 3, 4], on: '1.1' })
    host.ledger.addOutputBlock('a', 0)
    expect([blocksOn(host), blocksOn(host, '1.1')]).toEqual([0, 4])
  })

  it('weights stick: when shared, when the owner is alone again, until a fraction or until the block comes back', () => {
    const host = ledgerHost()
    host.add('a', { path: [1, 2, 3, 4] })
    host.ledger.addOutputBlock('a', 0.5)
    host.add('b', { path: [1, 2] })
    expect(blocksOn(host)).toBe(3)
    host.ledger.addOutputBlock('a', 1)
    // The shared two stay at a half; what is exclusive is whole again.
    expect(blocksOn(host)).toBe(1 + 2 + 2)
    host.ledger.free('a')
    expect(blocksOn(host)).toBe(1)
    host.ledger.free('b')
    host.add('c', { path: [1, 2, 3] })
    expect(blocksOn(host)).toBe(3)
  })

  it('an output block without a fraction weighs 1 and changes no other', () => {
    const host = ledgerHost()
    host.add('a', { path: [1, 2] })
    host.ledger.addOutputBlock('a', 0.5)
    host.ledger.addOutputBlock('a')
    expect(blocksOn(host)).toBe(3)
    host.ledger.addOutputBlock('a', 0)
    expect(blocksOn(host)).toBe(0)
    host.ledger.addOutputBlock('a')
    expect(blocksOn(host)).toBe(1)
  })

  it('the fraction is the share of the expected output that is still to come', () => {
    const host = ledgerHost()
    host.add('a', { expectedOutputTokens: 400 })
    host.add('b')
    host.add('c', { expectedOutputTokens: 0 })
    const { ledger } = host
    expect([0, 100, 400, 1000].map((tokens) => ledger.outputFraction('a', tokens))).toEqual([1, 0.75, 0, 0])
    expect([ledger.outputFraction('b', 100), ledger.outputFraction('c', 0)]).toEqual([undefined, 0])
  })
})

describe('a booking', () => {
  it('is completed once, and freeing completes it', () => {
    const host = ledgerHost()
    const { ledger } = host
    host.add('a', { prefillTokens: 100 })
    host.add('b', { prefillTokens: 20 })
    host.add('c', { prefillTokens: 7, tracksPrefillTokens: false })
    const tokens = (): number => ledger.loadOf(host.slot('1.0')).activePrefillTokens
    expect(tokens()).toBe(120)
    expect([ledger.markPrefillCompleted('a'), ledger.markPrefillCompleted('a')]).toEqual([true, false])
    expect([ledger.markPrefillCompleted('c'), ledger.markPrefillCompleted('nobody')]).toEqual([false, false])
    expect([tokens(), ledger.loadOf(host.slot('1.0')).activeRequests]).toEqual([20, 3])
    ledger.free('b')
    expect(tokens()).toBe(0)
  })

  it('goes with its rank, its worker, its incarnation; late ends are silent and the id is free', () => {
    const host = ledgerHost()
    const { ledger, table } = host
    const book = (): void => {
      host.add('a', { path: [1, 2], prefillTokens: 5, lora: 'x' })
      host.add('b', { path: [1, 2], on: '1.1' })
      host.add('c', { path: [1, 2], on: '2.0' })
    }
    const late = (id: string): boolean[] => [
      ledger.markPrefillCompleted(id),
      ledger.touch(id),
      ledger.free(id),
    ]
    book()
    expect(ledger.dropRank(host.slot('1.0'))).toBe(1)
    expect([late('a'), ledger.live, ledger.loras.size]).toEqual([[false, false, false], 2, 0])
    host.add('a', { lora: 'x' })
    expect([ledger.dropWorker(1n), ledger.dropWorker(1n), ledger.dropWorker(77n)]).toEqual([2, 0, 0])
    expect(blocksOn(host, '2.0')).toBe(2)
    table.removeWorker(2n)
    expect([late('b'), late('c'), ledger.live]).toEqual([[false, false, false], [false, false, false], 0])
    table.upsertWorker({ workerId: 2n })
    book()
    expect(blocksOn(host, '2.0')).toBe(2)
    expect(ledger.audit()).toEqual([])
  })

  it('stays on ranks that stay when the range of its worker changes', () => {
    const host = ledgerHost({ workers: [{ workerId: 5n, dataParallelStartRank: 2, dataParallelSize: 2 }] })
    host.add('a', { on: '5.2', path: [1] })
    host.add('b', { on: '5.3', path: [1, 2] })
    host.table.upsertWorker({ workerId: 5n, dataParallelStartRank: 3, dataParallelSize: 2 })
    expect([blocksOn(host, '5.3'), blocksOn(host, '5.4'), host.ledger.has('a')]).toEqual([2, 0, false])
    // The slot of the rank that left may serve another one now; nothing came with it.
    host.table.upsertWorker({ workerId: 5n, dataParallelStartRank: 3, dataParallelSize: 4 })
    expect([blocksOn(host, '5.5'), blocksOn(host, '5.6')]).toEqual([0, 0])
    expect(host.ledger.audit()).toEqual([])
  })

  it('counts by adapter', () => {
    const host = ledgerHost()
    host.add('a', { lora: 'x' })
    host.add('b', { lora: 'x', on: '2.0' })
    host.add('c', { lora: 'y' })
    host.add('d')
    expect([...host.ledger.loras]).toEqual([
      ['x', 2],
      ['y', 1],
    ])
    host.ledger.free('c')
    host.ledger.free('a')
    expect([...host.ledger.loras]).toEqual([['x', 1]])
  })

  it('counts in a budget that ledgers share, and a disposed ledger gives its share back', () => {
    const budget = new BookingBudget(2)
    const [one, other] = [ledgerHost({ budget }), ledgerHost({ budget })]
    one.add('a')
    other.add('a')
    expect(codeOf(() => one.add('b'))).toBe('ROUTER_ADMISSION_FULL')
    other.ledger.dispose()
    one.add('b')
    expect([budget.live, one.ledger.live, other.ledger.live]).toEqual([2, 2, 0])
    other.table.removeWorker(1n)
    expect(budget.live).toBe(2)
    expect(new LoadLedger({ table: new WorkerTable(), nowMs: () => 0 }).budget.limit).toBe(1_048_576)
  })
})
