import { describe, expect, it } from 'vitest'
import {
  type DefaultOptions,
  ReferenceSelector,
  type ReferenceOutcome,
  type Snapshot,
  matrixA,
} from '../src/index.js'
import {
  ParityMismatch,
  type ParityImplementation,
  type ParityOutcome,
  type TestRunner,
  defineParitySuite,
  requireParity,
} from '../src/parity/index.js'

type Select = (snapshot: Snapshot) => ReferenceOutcome

/** The oracle itself as an implementation, spoilt by `change`. */
function oracleWith(
  change: (select: Select, options: DefaultOptions) => (snapshot: Snapshot) => Partial<ParityOutcome>,
): ParityImplementation {
  return {
    create: (options) => {
      const selector = new ReferenceSelector(options)
      const changed = change((snapshot) => selector.select(snapshot), options)
      return {
        select: (snapshot) => {
          const { result, error, ranks, costs } = { warnings: [], ...changed(snapshot) } as ParityOutcome
          return { ranks, costs, result, error, warnings: [] }
        },
      }
    },
  }
}

const plain = ({ result, error, eligible, costs }: ReferenceOutcome): Partial<ParityOutcome> => ({
  result,
  error,
  ranks: eligible,
  costs,
})

/** Runs the tests of a suite until one fails; returns its name and error. */
function firstFailure(implementation: ParityImplementation): { name: string; error: unknown } | undefined {
  const tests: (readonly [string, () => void])[] = []
  const runner: TestRunner = {
    describe: (_name, body) => body(),
    it: (name, body) => tests.push([name, body]),
  }
  defineParitySuite(runner, implementation, { runs: 1500, shrinks: false })
  // Random cases, the last four, find a fault soonest.
  for (const [name, body] of [...tests.slice(-4), ...tests.slice(0, -4)]) {
    try {
      body()
    } catch (error) {
      return { name, error }
    }
  }
  return undefined
}

describe('the oracle agrees with itself', () => {
  defineParitySuite(
    { describe, it },
    oracleWith((select) => (snapshot) => plain(select(snapshot))),
    { runs: 300 },
  )
})

const nextDouble = (value: number): number => {
  const bits = new BigInt64Array(new Float64Array([value]).buffer)
  bits[0]! += 1n
  return new Float64Array(bits.buffer)[0]!
}

const forgetful = (
  options: DefaultOptions,
  change: Partial<DefaultOptions['parameters']>,
): DefaultOptions => ({
  ...options,
  parameters: { ...options.parameters, ...change },
})

const withOptions = (change: (options: DefaultOptions) => DefaultOptions): ParityImplementation =>
  oracleWith((_select, options) => {
    const other = new ReferenceSelector(change(options))
    return (snapshot) => plain(other.select(snapshot))
  })

const withSnapshot = (change: (snapshot: Snapshot) => Snapshot): ParityImplementation =>
  oracleWith((select) => (snapshot) => plain(select(change(snapshot))))

const withRequest = (change: Partial<Snapshot['request']>): ParityImplementation =>
  withSnapshot((snapshot) => ({ ...snapshot, request: { ...snapshot.request, ...change } }))

const withConstraints = (change: Partial<Snapshot['constraints']>): ParityImplementation =>
  withSnapshot((snapshot) => ({ ...snapshot, constraints: { ...snapshot.constraints, ...change } }))

const wrong: readonly (readonly [string, ParityImplementation])[] = [
  [
    'one cost is off by one bit',
    oracleWith((select) => (snapshot) => {
      const outcome = select(snapshot)
      return {
        ...plain(outcome),
        costs: outcome.costs.map((cost, row) => (row === 3 ? nextDouble(cost) : cost)),
      }
    }),
  ],
  [
    'ties go to the first row',
    oracleWith((select, options) => (snapshot) => {
      const outcome = select(snapshot)
      const first = outcome.tieSet[0]
      if (options.parameters.router_temperature > 0 || first === undefined) return plain(outcome)
      return plain({ ...outcome, result: { ...outcome.result!, ...first } })
    }),
  ],
  ['another seed', withOptions((options) => ({ ...options, seed: options.seed ^ 1n }))],
  [
    'a fresh stream for each selection',
    oracleWith((_select, options) => (snapshot) => plain(new ReferenceSelector(options).select(snapshot))),
  ],
  [
    'a query moves the stream',
    oracleWith((select) => (snapshot) => {
      const outcome = select({ ...snapshot, request: { ...snapshot.request, tracked: true } })
      if (snapshot.request.tracked || outcome.result === undefined) return plain(outcome)
      const result = { ...outcome.result, maxRawCachedTokens: undefined, selectedRawCachedTokens: undefined }
      return plain({ ...outcome, result })
    }),
  ],
  ['decay is forgotten', withOptions((options) => forgetful(options, { overlap_score_credit_decay: 0 }))],
  ['the scale is forgotten', withOptions((options) => forgetful(options, { prefill_load_scale: 1 }))],
  [
    'the request weight is forgotten',
    withOptions((options) => forgetful(options, { decode_active_request_weight: 0 })),
  ],
  ['the host tier is forgotten', withOptions((options) => forgetful(options, { host_cache_hit_weight: 0 }))],
  ['the disk tier is forgotten', withOptions((options) => forgetful(options, { disk_cache_hit_weight: 0 }))],
  ['shared hits are forgotten', withRequest({ sharedHits: null })],
  [
    'affinity weight is forgotten',
    withOptions((options) => forgetful(options, { prefix_affinity_weight: 0 })),
  ],
  ['temperature is ignored', withOptions((options) => forgetful(options, { router_temperature: 0 }))],
  [
    'decode pools are treated as aggregated',
    withOptions((options) => ({ ...options, conditionalDisaggregation: true })),
  ],
  ['the label of prefill pools is ignored', withOptions((options) => ({ ...options, role: 'aggregated' }))],
  [
    'a reserved cache group is not accounted',
    withOptions((options) => ({ ...options, reservesRuntimeInputs: false })),
  ],
  ['tracking is assumed', withRequest({ tracksPrefillTokens: true })],
  ['tier matches are derived, estimates ignored', withRequest({ hasTierMatches: true })],
  ['tracking hashes are ignored', withRequest({ trackedHashes: null })],
  [
    'unknown load is idle',
    withSnapshot((snapshot) => ({
      ...snapshot,
      rows: snapshot.rows.map((row) => ({
        ...row,
        load: row.load ?? { activePrefillTokens: 0, decodeCostBlocks: 0, activeRequests: 0 },
      })),
    })),
  ],
  [
    'unknown cache values are used',
    withSnapshot((snapshot) => ({
      ...snapshot,
      rows: snapshot.rows.map((row) => ({ ...row, cacheUnknown: false })),
    })),
  ],
  ['taints are ignored', withConstraints({ preferredTaints: [] })],
  ['required taints are ignored', withConstraints({ requiredTaints: [] })],
  ['the allowlist is ignored', withConstraints({ allowedWorkerIds: null })],
  ['availability is ignored', withConstraints({ availableWorkerIds: null })],
  ['overload is ignored', withConstraints({ overloadedWorkerIds: null, overloadedRanks: [] })],
  ['overload of single ranks is ignored', withConstraints({ overloadedRanks: [] })],
  ['pins are ignored', withConstraints({ pinnedWorker: null })],
  ['affinity is advisory', withConstraints({ affinityTarget: null })],
  [
    'facts of a larger fleet are kept',
    oracleWith((select) => {
      let left: Snapshot['rows'] = []
      return (snapshot) => {
        const rows = [...snapshot.rows, ...left]
        left = snapshot.rows
        return plain(select({ ...snapshot, rows }))
      }
    }),
  ],
  [
    'an error is swallowed',
    oracleWith((select) => (snapshot) => ({ ...plain(select(snapshot)), error: undefined })),
  ],
]

describe('the suite rejects', () => {
  it.each(wrong)('%s', (_name, implementation) => {
    expect(firstFailure(implementation)).toBeDefined()
  })

  it('with a message that names field, values, bits and case', () => {
    const [, implementation] = wrong[0]!
    const { options, snapshot } = matrixA()[0]!
    const play = (): void =>
      requireParity(implementation, new ReferenceSelector(options), options, [snapshot])
    expect(play).toThrow(ParityMismatch)
    expect(play).toThrow(/^cost of 1\.1: expected [\d.]+ \(0x[\da-f]{16}\), got [\d.]+ \(0x[\da-f]{16}\)\n/)
    expect(play).toThrow(/seed: 42n.*promptTokens: 1,/)
  })
})
