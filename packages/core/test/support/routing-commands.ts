import fc from 'fast-check'

/** One step of a random history of a partition; ranks and prompts come from few, so that most meet. */
export type RoutingCommand =
  | {
      readonly kind: 'upsert'
      readonly workerId: bigint
      readonly start: number
      readonly size: number
      readonly hasEvents: boolean
      readonly incarnationId: string | undefined
    }
  | { readonly kind: 'remove' | 'restart'; readonly workerId: bigint }
  | { readonly kind: 'overload'; readonly workerIds: readonly bigint[] }
  | {
      readonly kind: 'store'
      readonly rank: string
      readonly word: string
      readonly from: number
      readonly tier: number
    }
  | { readonly kind: 'drop'; readonly rank: string; readonly word: string; readonly tier: number }
  | { readonly kind: 'clear'; readonly rank: string }
  | { readonly kind: 'known'; readonly rank: string; readonly isKnown: boolean }
  | {
      readonly kind: 'reserve'
      readonly id: string
      readonly word: string
      readonly isDispatched: boolean
      readonly tracks: boolean
      readonly expected: number | undefined
      readonly pin: string | undefined
    }
  | { readonly kind: 'dispatch' | 'complete' | 'free'; readonly id: string }
  | { readonly kind: 'output'; readonly id: string; readonly tokens: number }
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'tick' }
  /** So many selections without a change of flags that the dense columns of eligible ranks come into use. */
  | { readonly kind: 'calm' }
  | { readonly kind: 'ask'; readonly word: string }

const kind = <K extends string>(name: K): fc.Arbitrary<K> => fc.constant(name)
const workerId = fc.constantFrom(1n, 2n, 2n ** 63n + 3n)
const rank = fc.constantFrom('1.0', '1.1', '2.0', '2.0', '2.1', `${2n ** 63n + 3n}.0`, '9.0')
const id = fc.constantFrom('p', 'q', 'r', 's', 't')
const tier = fc.constantFrom(0, 0, 0, 1, 1, 2, 3)

/** Prompts of a system prompt and a few branches; a dot is a token of an incomplete last block. */
const word: fc.Arbitrary<string> = fc
  .tuple(fc.nat({ max: 4 }), fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 4 }), fc.nat({ max: 3 }))
  .map(([shared, rest, dots]) => `${'a'.repeat(shared)}${rest}${'.'.repeat(dots)}`)

/** Random histories; events, bookings and questions are the most frequent. */
export const routingCommands: fc.Arbitrary<RoutingCommand[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: kind('upsert'),
        workerId,
        start: fc.constantFrom(0, 0, 0, 1),
        size: fc.constantFrom(1, 2, 2, 0, 3),
        hasEvents: fc.constantFrom(true, true, true, false),
        incarnationId: fc.constantFrom(undefined, undefined, 'x', 'y'),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constantFrom('remove' as const, 'restart' as const), workerId }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: kind('overload'),
        workerIds: fc.subarray([1n, 2n, 2n ** 63n + 3n], { maxLength: 2 }),
      }),
    },
    {
      weight: 14,
      arbitrary: fc.record({ kind: kind('store'), rank, word, from: fc.constantFrom(0, 0, 1, 2, 3), tier }),
    },
    { weight: 4, arbitrary: fc.record({ kind: kind('drop'), rank, word, tier }) },
    { weight: 1, arbitrary: fc.record({ kind: kind('clear'), rank }) },
    { weight: 1, arbitrary: fc.record({ kind: kind('known'), rank, isKnown: fc.boolean() }) },
    {
      weight: 10,
      arbitrary: fc.record({
        kind: kind('reserve'),
        id,
        word,
        isDispatched: fc.constantFrom(true, true, false),
        tracks: fc.constantFrom(true, true, true, false),
        expected: fc.constantFrom(undefined, 8, 16),
        pin: fc.option(rank, { nil: undefined, freq: 2 }),
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constantFrom('dispatch' as const, 'complete' as const, 'free' as const),
        id,
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ kind: kind('output'), id, tokens: fc.constantFrom(0, 1, 2, 4, 12, 20) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: kind('advance'),
        ms: fc.constantFrom(1, 50, 150, 1000, 5000, 31_000, 301_000),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: kind('tick') }) },
    { weight: 3, arbitrary: fc.record({ kind: kind('calm') }) },
    { weight: 10, arbitrary: fc.record({ kind: kind('ask'), word }) },
  ),
  { minLength: 10, maxLength: 70, size: 'max' },
)
