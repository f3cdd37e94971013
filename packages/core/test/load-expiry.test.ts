import { describe, expect, it } from 'vitest'
import { codeOf } from './support/caught.js'
import { type LedgerHost, ledgerHost } from './support/ledgers.js'

/** Sweeps each 30 s until the time; when the ledger first expired something. */
function sweepUntil(
  { ledger, clock }: LedgerHost,
  ms: number,
  each: () => void = () => {},
): number | undefined {
  while (clock.ms < ms) {
    clock.ms += 30_000
    each()
    if (ledger.sweep() > 0) return clock.ms
  }
  return undefined
}

describe('S5: an idle booking expires, a streaming one does not', () => {
  it('after five to six minutes without a sign of life, by the second scan that finds it so', () => {
    const host = ledgerHost()
    host.add('a', { path: [1, 2], prefillTokens: 10 })
    host.clock.ms = 10_000
    host.ledger.sweep()
    expect(sweepUntil(host, 900_000)).toBe(340_000)
    expect(host.ledger.loadOf(host.slot('1.0'))).toMatchObject({
      activeBlocks: 0,
      activePrefillTokens: 0,
      activeRequests: 0,
    })
    expect([host.ledger.expired, host.ledger.audit()]).toEqual([1, []])
  })

  it.each<[string, (host: LedgerHost) => void]>([
    ['an output block', ({ ledger }) => ledger.addOutputBlock('a')],
    ['a relayed chunk', ({ ledger }) => ledger.touch('a')],
    ['the first token', ({ ledger }) => ledger.markPrefillCompleted('a')],
  ])('not while there is a sign of life: %s', (_name, sign) => {
    const host = ledgerHost()
    host.add('a')
    expect(sweepUntil(host, 3_600_000, () => host.clock.ms % 300_000 === 0 && sign(host))).toBeUndefined()
    expect(host.ledger.has('a')).toBe(true)
    expect(sweepUntil(host, 7_200_000)).toBe(3_600_000 + 360_000)
  })

  it('a sign of life between the two scans saves it', () => {
    const host = ledgerHost()
    host.add('a')
    sweepUntil(host, 330_000)
    host.ledger.touch('a')
    expect(sweepUntil(host, 660_000)).toBeUndefined()
    expect(sweepUntil(host, 690_000)).toBe(690_000)
  })

  it('never while this process relays it, however silent', () => {
    const host = ledgerHost()
    host.add('a', { isRelayed: true })
    expect(sweepUntil(host, 86_400_000)).toBeUndefined()
    expect(host.ledger.setRelayed('a', false)).toBe(true)
    expect(sweepUntil(host, 2 * 86_400_000)).toBe(86_400_000 + 360_000)
    expect(host.ledger.setRelayed('a', true)).toBe(false)
  })

  it('no free is published: the late one says that there is nothing to publish', () => {
    const host = ledgerHost()
    host.add('a')
    sweepUntil(host, 900_000)
    expect([host.ledger.expired, host.ledger.free('a'), host.ledger.markPrefillCompleted('a')]).toEqual([
      1,
      false,
      false,
    ])
    host.add('a')
    expect(host.ledger.live).toBe(1)
  })

  it('scans that come too often count as one', () => {
    const host = ledgerHost({ expiry: { measure: 'idle', afterMs: 1000 } })
    host.add('a')
    host.clock.ms = 5000
    expect([host.ledger.sweep(), host.ledger.sweep(), host.ledger.sweep()]).toEqual([0, 0, 0])
    host.clock.ms = 34_999
    expect(host.ledger.sweep()).toBe(0)
    host.clock.ms = 35_000
    expect(host.ledger.sweep()).toBe(1)
  })
})

describe('S5: by absolute age, as the stand-alone tracker does', () => {
  const byAge = (): LedgerHost => ledgerHost({ expiry: { measure: 'age', afterMs: 300_000 } })

  it('strictly older, streaming or not, each rank at most every 30 s', () => {
    const host = byAge()
    host.add('a', { isRelayed: true })
    const sweepAt = (ms: number): number => {
      host.clock.ms = ms
      host.ledger.addOutputBlock('a')
      return host.ledger.sweep()
    }
    expect([sweepAt(300_000), sweepAt(300_001), sweepAt(329_999), sweepAt(330_000)]).toEqual([0, 0, 0, 1])
  })

  it('an add looks at its own rank, after rank and id were tested', () => {
    const host = byAge()
    host.add('old')
    host.add('elsewhere', { on: '1.1' })
    host.clock.ms = 350_000
    expect(codeOf(() => host.add('old'))).toBe('ROUTER_DUPLICATE_REQUEST')
    expect(host.ledger.has('old')).toBe(true)
    host.add('new')
    expect([host.ledger.has('old'), host.ledger.has('elsewhere')]).toEqual([false, true])
    host.add('old')
    expect(host.ledger.live).toBe(3)
  })

  it('a rank that joins counts as checked', () => {
    const host = ledgerHost({ expiry: { measure: 'age', afterMs: 10_000 } })
    host.clock.ms = 1_000_000
    host.table.upsertWorker({ workerId: 3n })
    host.clock.ms = 1_005_000
    host.add('a', { on: '3.0' })
    host.clock.ms = 1_030_000
    expect(host.ledger.sweep()).toBe(1)
  })
})
