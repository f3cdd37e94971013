import { describe, expect, it } from 'vitest'
import { type LedgerHost, ledgerHost } from './support/ledgers.js'

interface Prefill {
  readonly tokens: number
  readonly ms?: number
}

/** A rank with these prefills, by id a, b, c ..., all booked at the start. */
function rankWith(
  ...prefills: readonly Prefill[]
): LedgerHost & { at: (ms: number) => [number, number | undefined] } {
  const host = ledgerHost()
  for (const [index, { tokens, ms }] of prefills.entries()) {
    host.add('abcdef'[index]!, { prefillTokens: tokens, prefillDurationMs: ms })
  }
  const at = (ms: number): [number, number | undefined] => {
    host.clock.ms = ms
    const { activePrefillTokens, modeledRemainingMs } = host.ledger.loadOf(host.slot('1.0'))
    return [activePrefillTokens, modeledRemainingMs]
  }
  return { ...host, at }
}

describe('S3: prefill melts with time', () => {
  it('1,000 tokens in 2 s: 750 at 0.5 s, 0 at 2.5 s', () => {
    const { at } = rankWith({ tokens: 1000, ms: 2000 })
    expect([at(0), at(500), at(1000), at(2000), at(2500)]).toEqual([
      [1000, 2000],
      [750, 1500],
      [500, 1000],
      [0, 0],
      [0, 0],
    ])
  })

  it('in whole tokens: completed ones are rounded down', () => {
    const { at } = rankWith({ tokens: 10, ms: 3000 })
    expect([at(299)[0], at(300)[0], at(301)[0], at(2999)[0]]).toEqual([10, 9, 9, 1])
  })

  it('beyond the oldest one when all have a model', () => {
    const { at } = rankWith({ tokens: 100, ms: 1000 }, { tokens: 300, ms: 500 })
    expect([at(0), at(1000), at(1500), at(9000)]).toEqual([
      [400, 1500],
      [300, 500],
      [250, 0],
      [0, 0],
    ])
  })

  it('only the oldest when some have none, rounded up', () => {
    const { at } = rankWith({ tokens: 10, ms: 3000 }, { tokens: 7 }, { tokens: 5, ms: 100 })
    expect([at(0), at(299), at(301), at(3000), at(9000)].map(([tokens]) => tokens)).toEqual([
      22, 22, 21, 12, 12,
    ])
    expect(at(9000)[1]).toBeUndefined()
  })

  it('not at all while the oldest has none', () => {
    const { at, ledger } = rankWith({ tokens: 7 }, { tokens: 10, ms: 1000 })
    expect(at(5000)).toEqual([17, undefined])
    ledger.markPrefillCompleted('a')
    // Its clock starts now.
    expect([at(5000), at(5500)]).toEqual([
      [10, 1000],
      [5, 500],
    ])
  })

  it('at once with a duration of 0, and nothing more than that one', () => {
    const { at } = rankWith({ tokens: 40, ms: 0 }, { tokens: 10, ms: 1000 })
    expect([at(0), at(700)]).toEqual([
      [10, 1000],
      [10, 300],
    ])
    expect(rankWith({ tokens: 40, ms: 0 }, { tokens: 10 }).at(700)).toEqual([10, undefined])
  })

  it('no longer when it is completed, and 0 tokens are never tracked', () => {
    const { at, ledger } = rankWith({ tokens: 0, ms: 1000 }, { tokens: 10, ms: 1000 })
    expect(at(500)).toEqual([5, 500])
    ledger.markPrefillCompleted('b')
    expect([at(500), ledger.markPrefillCompleted('a')]).toEqual([[0, 0], false])
  })
})

describe('the clock of the oldest prefill', () => {
  it('starts when it becomes the oldest', () => {
    const { at, ledger } = rankWith({ tokens: 100, ms: 1000 }, { tokens: 100, ms: 1000 })
    at(400)
    ledger.free('a')
    expect([at(400), at(900)]).toEqual([
      [100, 1000],
      [50, 500],
    ])
  })

  it('moves on by the duration of another that completes first', () => {
    const { at, ledger } = rankWith({ tokens: 1000, ms: 1000 }, { tokens: 50, ms: 300 })
    expect(at(500)).toEqual([550, 800])
    ledger.markPrefillCompleted('b')
    // Of 500 ms, 300 did the work of the other.
    expect(at(500)).toEqual([800, 800])
  })

  it('but never beyond now', () => {
    const { at, ledger } = rankWith({ tokens: 1000, ms: 1000 }, { tokens: 50, ms: 900 })
    at(500)
    ledger.free('b')
    expect([at(500), at(600)]).toEqual([
      [1000, 1000],
      [900, 900],
    ])
  })

  it('and not for one without a model', () => {
    const { at, ledger } = rankWith({ tokens: 1000, ms: 1000 }, { tokens: 50 })
    at(500)
    ledger.free('b')
    expect(at(500)).toEqual([500, 500])
  })
})
