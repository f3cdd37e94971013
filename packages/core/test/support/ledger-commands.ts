import fc from 'fast-check'

/** One step of a random history of a ledger. */
export type LedgerCommand =
  | {
      readonly kind: 'add'
      readonly id: string
      readonly rank: string
      readonly path: readonly number[] | undefined
      readonly tokens: number
      readonly tracks: boolean
      readonly durationMs: number | undefined
      readonly lora: string | undefined
      readonly isRelayed: boolean
    }
  | { readonly kind: 'complete' | 'free' | 'touch'; readonly id: string }
  | { readonly kind: 'relayed'; readonly id: string; readonly isRelayed: boolean }
  | { readonly kind: 'output'; readonly id: string; readonly fraction: number | undefined }
  | { readonly kind: 'dropRank'; readonly rank: string }
  | { readonly kind: 'restart'; readonly workerId: bigint }
  | { readonly kind: 'upsert'; readonly workerId: bigint; readonly start: number; readonly size: number }
  | { readonly kind: 'remove'; readonly workerId: bigint }
  | { readonly kind: 'overload'; readonly workerId: bigint }
  | { readonly kind: 'refresh' }
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'sweep' }
  | { readonly kind: 'probe'; readonly path: readonly number[] }

const ids = Array.from({ length: 12 }, (_, id) => `r${id}`)
const ranks = ['1.0', '1.1', '1.2', '2.0', '2.1', '3.0', '3.1', '9.0']

const id = fc.constantFrom(...ids)
const rank = fc.constantFrom(...ranks)
const workerId = fc.constantFrom(1n, 2n, 3n)
// A small alphabet and few lengths: paths end within one another, branch, and repeat hashes.
const path = fc.array(fc.constantFrom(0, 0, 0, 1, 2), { maxLength: 9 })
const fraction = fc.constantFrom(undefined, 0, 0.125, 0.25, 0.5, 0.75, 1)
const ms = fc.constantFrom(1, 100, 1000, 7000, 29_999, 30_000, 300_000, 300_001)
const kind = <K extends string>(name: K): fc.Arbitrary<K> => fc.constant(name)

const add = fc.record({
  kind: kind('add'),
  id,
  rank,
  path: fc.option(path, { nil: undefined, freq: 8 }),
  tokens: fc.constantFrom(0, 1, 16, 100, 333),
  tracks: fc.constantFrom(true, true, true, false),
  durationMs: fc.constantFrom(undefined, 0, 500, 1000, 2048),
  lora: fc.constantFrom(undefined, undefined, 'a', 'b'),
  isRelayed: fc.constantFrom(false, false, true),
})

/** Random histories; bookings and their ends are the most frequent. */
export const ledgerCommands: fc.Arbitrary<LedgerCommand[]> = fc.array(
  fc.oneof(
    { weight: 14, arbitrary: add },
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constantFrom('free' as const, 'free' as const, 'complete' as const, 'touch' as const),
        id,
      }),
    },
    { weight: 5, arbitrary: fc.record({ kind: kind('output'), id, fraction }) },
    { weight: 1, arbitrary: fc.record({ kind: kind('relayed'), id, isRelayed: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ kind: kind('dropRank'), rank }) },
    { weight: 1, arbitrary: fc.record({ kind: kind('restart'), workerId }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: kind('upsert'),
        workerId,
        start: fc.nat({ max: 1 }),
        size: fc.integer({ min: 1, max: 3 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: kind('remove'), workerId }) },
    { weight: 1, arbitrary: fc.record({ kind: kind('overload'), workerId }) },
    { weight: 2, arbitrary: fc.record({ kind: kind('refresh') }) },
    { weight: 5, arbitrary: fc.record({ kind: kind('advance'), ms }) },
    { weight: 3, arbitrary: fc.record({ kind: kind('sweep') }) },
    { weight: 5, arbitrary: fc.record({ kind: kind('probe'), path }) },
  ),
  { minLength: 10, maxLength: 80, size: 'max' },
)
