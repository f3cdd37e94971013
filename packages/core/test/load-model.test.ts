import fc from 'fast-check'
import { describe, it } from 'vitest'
import type { BookingExpiry } from '../src/index.js'
import { ledgerCommands } from './support/ledger-commands.js'
import { LedgerModel } from './support/ledger-model.js'

const expiries: readonly BookingExpiry[] = [
  { measure: 'idle', afterMs: 300_000 },
  { measure: 'age', afterMs: 300_000 },
  { measure: 'never' },
]

describe('a ledger equals a slow one of plain maps', () => {
  it.each(
    expiries.flatMap((expiry) =>
      [true, false].map((webAssembly) => [expiry.measure, webAssembly, expiry] as const),
    ),
  )(
    'S6: in outcomes, loads and columns, with a clean audit after each step of random histories: expiry %s, WebAssembly %s',
    (_measure, webAssembly, expiry) => {
      fc.assert(
        fc.property(ledgerCommands, (commands) => new LedgerModel(expiry, webAssembly).run(commands)),
        { seed: 4_711, numRuns: 150 },
      )
    },
  )
})
