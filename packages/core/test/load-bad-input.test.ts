import { describe, expect, it } from 'vitest'
import { type Booking, BookingBudget, type BookingExpiry, LoadLedger } from '../src/index.js'
import { caught } from './support/caught.js'
import { type LedgerHost, hashesOfPath, ledgerHost, seen } from './support/ledgers.js'

/** A ledger in the middle of its work, at its limit of bookings. */
function busyHost(): LedgerHost {
  const host = ledgerHost({ budget: new BookingBudget(4), expiry: { measure: 'idle', afterMs: 300_000 } })
  host.clock.ms = 1000
  host.add('a', { path: [1, 2, 3], prefillTokens: 30, prefillDurationMs: 100, lora: 'x' })
  host.add('b', { path: [1, 2, 4], prefillTokens: 10 })
  host.add('c', { path: [1], on: '2.0' })
  host.ledger.addOutputBlock('a', 0.5)
  return host
}

const over = (booking: Partial<Booking>) => (host: LedgerHost) => {
  host.ledger.add({ requestId: 'new', slot: host.slot('1.1'), ...booking })
}

const cases: readonly [string, string, (host: LedgerHost) => unknown, Record<string, unknown>][] = [
  ['a duplicate id', 'ROUTER_DUPLICATE_REQUEST', (host) => host.add('a', { on: '2.0' }), { requestId: 'a' }],
  ['an unknown rank', 'ROUTER_NOT_FOUND', over({ slot: 77 }), { slot: 77 }],
  ['a negative slot', 'ROUTER_NOT_FOUND', over({ slot: -1 }), { slot: -1 }],
  ['half a slot', 'ROUTER_NOT_FOUND', over({ slot: 0.5 }), { slot: 0.5 }],
  ['no slot', 'ROUTER_NOT_FOUND', over({ slot: Number.NaN }), { slot: Number.NaN }],
  [
    'an unknown rank before a duplicate id',
    'ROUTER_NOT_FOUND',
    over({ slot: 77, requestId: 'a' }),
    { slot: 77 },
  ],
  ['an id that is no text', 'ROUTER_BAD_REQUEST', over({ requestId: 7 as never }), { requestId: 7 }],
  ['negative prefill', 'ROUTER_BAD_REQUEST', over({ prefillTokens: -1 }), { prefillTokens: -1 }],
  ['half a prefill token', 'ROUTER_BAD_REQUEST', over({ prefillTokens: 0.5 }), { prefillTokens: 0.5 }],
  [
    'prefill beyond any count',
    'ROUTER_BAD_REQUEST',
    over({ prefillTokens: 2 ** 53 }),
    { prefillTokens: 2 ** 53 },
  ],
  ['a negative duration', 'ROUTER_BAD_REQUEST', over({ prefillDurationMs: -1 }), { prefillDurationMs: -1 }],
  [
    'an endless duration',
    'ROUTER_BAD_REQUEST',
    over({ prefillDurationMs: Infinity }),
    { prefillDurationMs: Infinity },
  ],
  [
    'a duration of NaN',
    'ROUTER_BAD_REQUEST',
    over({ prefillDurationMs: Number.NaN }),
    { prefillDurationMs: Number.NaN },
  ],
  [
    'negative expected output',
    'ROUTER_BAD_REQUEST',
    over({ expectedOutputTokens: -1 }),
    { expectedOutputTokens: -1 },
  ],
  [
    'more hashes than given',
    'ROUTER_BAD_REQUEST',
    over({ hashes: hashesOfPath([1]), hashCount: 2 }),
    { hashCount: 2 },
  ],
  ['hashes that are not given', 'ROUTER_BAD_REQUEST', over({ hashCount: 1 }), { hashCount: 1 }],
  [
    'a negative count of hashes',
    'ROUTER_BAD_REQUEST',
    over({ hashes: hashesOfPath([1]), hashCount: -1 }),
    { hashCount: -1 },
  ],
  [
    'a projection of more hashes than given',
    'ROUTER_BAD_REQUEST',
    ({ ledger }) => ledger.project(hashesOfPath([1]), 2),
    { hashCount: 2 },
  ],
  [
    'a fraction above 1',
    'ROUTER_BAD_REQUEST',
    ({ ledger }) => ledger.addOutputBlock('a', 1.01),
    { decayFraction: 1.01 },
  ],
  [
    'a fraction below 0',
    'ROUTER_BAD_REQUEST',
    ({ ledger }) => ledger.addOutputBlock('a', -0.01),
    { decayFraction: -0.01 },
  ],
  [
    'a fraction of NaN',
    'ROUTER_BAD_REQUEST',
    ({ ledger }) => ledger.addOutputBlock('b', Number.NaN),
    { decayFraction: Number.NaN },
  ],
  [
    'an output block of an unknown id',
    'ROUTER_NOT_FOUND',
    ({ ledger }) => ledger.addOutputBlock('nobody', 0.5),
    { requestId: 'nobody' },
  ],
  [
    'the fraction of an unknown id',
    'ROUTER_NOT_FOUND',
    ({ ledger }) => ledger.outputFraction('nobody', 1),
    { requestId: 'nobody' },
  ],
  [
    'negative output',
    'ROUTER_BAD_REQUEST',
    ({ ledger }) => ledger.outputFraction('a', -1),
    { generatedTokens: -1 },
  ],
  ['the load of an unknown rank', 'ROUTER_NOT_FOUND', ({ ledger }) => ledger.loadOf(77), { slot: 77 }],
  ['the report of an unknown rank', 'ROUTER_NOT_FOUND', ({ ledger }) => ledger.activeLoad(-1), { slot: -1 }],
  [
    'a negative prompt',
    'ROUTER_BAD_REQUEST',
    ({ ledger }) => ledger.potentialLoads({ promptTokens: -1 }),
    { promptTokens: -1 },
  ],
]

describe('bad input has a code, names the value and changes nothing', () => {
  it.each(cases)('%s', (_name, code, work, details) => {
    const host = busyHost()
    const before = seen(host)
    const error = caught(() => work(host))
    expect([error.code, error.details]).toEqual([code, details])
    expect(error.message).toContain(String(Object.values(details)[0]))
    expect(seen(host)).toEqual(before)
    over({})(host)
    expect(host.ledger.live).toBe(4)
  })

  it('one booking too many', () => {
    const host = busyHost()
    over({})(host)
    const before = seen(host)
    expect(caught(() => host.add('e'))).toMatchObject({
      code: 'ROUTER_ADMISSION_FULL',
      details: { limit: 4 },
    })
    // Known faults win over a full house.
    expect(caught(() => host.add('a')).code).toBe('ROUTER_DUPLICATE_REQUEST')
    expect(seen(host)).toEqual(before)
    host.ledger.free('new')
    host.add('e')
  })

  it('unknown ids that end or live on are no errors', () => {
    const host = busyHost()
    const before = seen(host)
    const { ledger } = host
    expect([
      ledger.free('x'),
      ledger.markPrefillCompleted('x'),
      ledger.touch('x'),
      ledger.setRelayed('x', true),
    ]).toEqual([false, false, false, false])
    expect([ledger.dropRank(77), ledger.dropRank(-1), ledger.dropRank(0.5), ledger.dropWorker(9n)]).toEqual([
      0, 0, 0, 0,
    ])
    expect(seen(host)).toEqual(before)
  })

  it('names that objects have by birth are ordinary ids and adapters', () => {
    const host = busyHost()
    host.add('__proto__', { lora: 'constructor' })
    expect([host.ledger.has('__proto__'), host.ledger.loras.get('constructor')]).toEqual([true, 1])
    expect([host.ledger.has('toString'), host.ledger.free('__proto__')]).toEqual([false, true])
  })

  it.each<BookingExpiry>([
    { measure: 'idle', afterMs: 0 },
    { measure: 'age', afterMs: -1 },
    { measure: 'idle', afterMs: Number.NaN },
  ])('an expiry that is not positive: %o', (expiry) => {
    const { table } = busyHost()
    expect(caught(() => new LoadLedger({ table, nowMs: () => 0, expiry })).code).toBe('ROUTER_BAD_REQUEST')
  })
})

describe('a clock that goes back', () => {
  const refused: readonly [string, (host: LedgerHost) => unknown][] = [
    ['a booking', over({})],
    ['a projection', ({ ledger }) => ledger.project()],
    ['a sweep', ({ ledger }) => ledger.sweep()],
    ['a load', ({ ledger, slot }) => ledger.loadOf(slot('1.0'))],
  ]

  it.each(refused)('refuses %s and nothing changes', (_name, work) => {
    for (const ms of [999, -Infinity, Infinity, Number.NaN]) {
      const host = busyHost()
      const before = seen(host)
      host.clock.ms = ms
      const { code, details } = caught(() => work(host))
      expect([code, details]).toEqual(['ROUTER_BAD_REQUEST', { nowMs: ms }])
      host.clock.ms = 1000
      expect(seen(host)).toEqual(before)
      expect(work(host)).not.toBeNull()
    }
  })

  it('never keeps a request from ending: then it is the latest time that was', () => {
    const host = busyHost()
    const { ledger, clock } = host
    clock.ms = 1050
    ledger.project()
    clock.ms = 0
    expect([ledger.markPrefillCompleted('a'), ledger.touch('b'), ledger.free('a'), ledger.free('b')]).toEqual(
      [true, true, true, true],
    )
    ledger.addOutputBlock('c')
    expect(ledger.dropWorker(2n)).toBe(1)
    clock.ms = 1050
    expect([ledger.live, ledger.audit()]).toEqual([0, []])
  })
})
