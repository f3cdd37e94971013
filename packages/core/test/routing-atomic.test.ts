import { KvIndexError } from '@router/kv-index'
import { describe, expect, it } from 'vitest'
import type { ReservedRequest, RouterCoreConfig } from '../src/index.js'
import { codeOf } from './support/caught.js'
import { lowestTotal, tinyPolicy } from './support/policies.js'
import {
  type RoutingHost,
  believed,
  drawingPolicy,
  hashed,
  routingHost,
  told,
  tokensOf,
} from './support/routing-hosts.js'

/** What a router knows, the order of its own draws, and the books. */
function state({ router }: RoutingHost) {
  return { snapshot: router.snapshot(), booked: router.ledger.booked, audit: router.ledger.audit() }
}

function kindOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    if (KvIndexError.isInstance(error)) return error.code
    return codeOf(() => {
      throw error
    })
  }
  return 'nothing was thrown'
}

const tokens = tokensOf('abcd.')
type Sent = { readonly [K in keyof ReservedRequest | 'promptTokens' | 'objectsByBlock']?: unknown }
const blocks = hashed('abcd')

const bad = 'ROUTER_BAD_REQUEST'
const refusals: [string, string, Sent, ((host: RoutingHost) => void)?][] = [
  ['a live id', 'ROUTER_DUPLICATE_REQUEST', { requestId: 'live' }],
  ['an id that is no text', bad, { requestId: 7 }],
  ['no id', bad, { requestId: undefined }],
  ['a token that is none', 'KV_INDEX_TOKEN_INVALID', { tokens: [1, 2, -3] }],
  ['a token with a fraction', 'KV_INDEX_TOKEN_INVALID', { tokens: [0.5] }],
  ['an object hash beyond 64 bits', 'KV_INDEX_HASH_INVALID', { objectsByBlock: [[2n ** 64n]] }],
  ['neither tokens nor blocks', bad, { tokens: undefined }],
  ['more blocks than hashes', bad, { tokens: undefined, blocks: { ...blocks, count: 5 }, promptTokens: 17 }],
  ['a fraction of a block', bad, { tokens: undefined, blocks: { ...blocks, count: 1.5 }, promptTokens: 17 }],
  ['no chained hashes', bad, { tokens: undefined, blocks: { ...blocks, sequence: [] }, promptTokens: 17 }],
  ['fewer than no tokens', bad, { tokens: undefined, blocks, promptTokens: -1 }],
  ['an expected output that is no count', bad, { expectedOutputTokens: -1 }],
  ['a taint weight that is no number', bad, { preferredTaints: [{ taint: 'a', weight: Number.NaN }] }],
  ['no worker allowed', 'ROUTER_NO_ENDPOINTS', { allowedWorkerIds: [] }],
  ['a taint that nobody has', 'ROUTER_NO_ENDPOINTS', { requiredTaints: ['gold'] }],
  ['a pin to nobody', 'ROUTER_NO_ENDPOINTS', { pinnedWorker: { workerId: 9n, dpRank: 0 } }],
  [
    'a pin that is not allowed',
    'ROUTER_PINNED_WORKER_NOT_ALLOWED',
    { pinnedWorker: { workerId: 1n, dpRank: 0 }, allowedWorkerIds: [2n] },
  ],
  [
    'a pin to an overloaded rank',
    'ROUTER_PINNED_WORKER_OVERLOADED',
    { pinnedWorker: { workerId: 1n, dpRank: 0 } },
    ({ router }) => router.partition.table.setOverloadedWorkers([1n]),
  ],
  [
    'a fleet that is overloaded',
    'ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED',
    {},
    ({ router }) => router.partition.table.setOverloadedWorkers([1n, 2n, 3n]),
  ],
  [
    'a process that is full',
    'ROUTER_ADMISSION_FULL',
    {},
    ({ router }) => Object.assign(router.ledger.budget, { limit: router.ledger.budget.live }),
  ],
  ['a clock that goes back', bad, {}, ({ clock }) => void (clock.ms -= 1)],
  ['a clock that is none', bad, {}, ({ clock }) => void (clock.ms = Number.NaN)],
]

describe.each<[string, RouterCoreConfig]>([
  ['by default', {}],
  ['with blocks that nobody shares', { assumesKvReuse: false, predictedTtlMs: 500 }],
  ['with retention by capacity', { approximateCachePolicy: 'lru', tracksOutputBlocks: true }],
])('a refused reservation changes nothing, %s', (_name, config) => {
  const busy = (): RoutingHost => {
    const workers = [...told(1), ...believed(2, 3)]
    const host = routingHost({ workers, config, policy: drawingPolicy() })
    host.clock.ms = 1000
    host.store('1', 'ab')
    host.reserve('live', 'abcx', { pinnedWorker: { workerId: 2n, dpRank: 0 } })
    return host
  }

  it.each(refusals)('%s', (_case, code, sent, prepare = () => {}) => {
    const host = busy()
    const twin = busy()
    const before = state(host)
    const { budget } = host.router.ledger
    const { limit } = budget
    prepare(host)
    const request = { tokens, requestId: 'r', ...sent } as ReservedRequest
    for (let time = 0; time < 2; time++) expect(kindOf(() => host.router.reserve(request))).toBe(code)
    // Back to the state before the obstacle: nothing else differs, and the next reservation is that of a router that refused nothing.
    host.router.partition.table.setOverloadedWorkers([])
    Object.assign(budget, { limit })
    host.clock.ms = 1000
    expect(state(host)).toEqual(before)
    for (const id of ['r', 's', 't', 'u', 'v', 'w'])
      expect(host.reserve(id, 'abcd.')).toEqual(twin.reserve(id, 'abcd.'))
    expect(state(host)).toEqual(state(twin))
  })
})

it('nor does it move the draws of hashes: the next reservation draws what this one did, and never what was drawn before', () => {
  const fault = { row: 0 }
  const drawn: string[] = []
  const policy = tinyPolicy({
    roles: ['aggregated', 'decode', 'prefill', 'encode'],
    create: () => ({
      picker: {
        name: 'look',
        inputs: [],
        pick: ({ prefixHashes }) => {
          drawn.push(String(prefixHashes!.low.slice(0, prefixHashes!.count)))
          return fault.row
        },
      },
    }),
  })
  const host = routingHost({ workers: believed(1), policy, config: { assumesKvReuse: false } })
  host.reserve('one', 'abc')
  expect(kindOf(() => host.router.reserve({ tokens: [-1], requestId: 'two' }))).toBe('KV_INDEX_TOKEN_INVALID')
  expect(kindOf(() => host.reserve('two', 'abc', { expectedOutputTokens: -1 }))).toBe(bad)
  fault.row = 9
  expect(kindOf(() => host.reserve('two', 'abc'))).toBe('ROUTER_INVALID_PICKER_ROW')
  fault.row = 0
  host.reserve('two', 'abc')
  expect(drawn[2]).toBe(drawn[1])
  expect(drawn[1]).not.toBe(drawn[0])
  expect(host.router.ledger.loadOf(host.router.slotOf(1n, 0)).activeBlocks).toBe(6)
})

describe('a policy that fails', () => {
  const failing = (fault: { message?: string; cost: number; row: number }) =>
    tinyPolicy({
      roles: ['aggregated', 'decode', 'prefill', 'encode'],
      create: () => ({
        filters: [{ name: 'keep', inputs: [], keep: () => fault.message !== 'filter' }],
        scorers: [
          {
            name: 'cost',
            inputs: [],
            score: (_context, { count }, costs) => {
              if (fault.message === 'score') throw new Error('no')
              costs.fill(fault.cost, 0, count)
            },
          },
        ],
        picker: { name: 'pick', inputs: [], pick: (...seen) => fault.row + lowestTotal.pick(...seen) },
      }),
    })

  it.each([
    ['ROUTER_POLICY_FAILED', { message: 'score' }],
    ['ROUTER_ALL_ELIGIBLE_WORKERS_FILTERED', { message: 'filter' }],
    ['ROUTER_NON_FINITE_COST', { cost: Number.NaN }],
    ['ROUTER_INVALID_PICKER_ROW', { row: 3 }],
  ])('%s: books nothing, and the id may be used again', (code, wrong) => {
    const fault = { cost: 1, row: 0 }
    const host = routingHost({
      workers: believed(1, 2, 3),
      policy: failing(fault),
      config: { assumesKvReuse: false },
    })
    host.reserve('live', 'ab')
    const before = state(host)
    Object.assign(fault, wrong)
    expect(codeOf(() => host.reserve('r', 'abc'))).toBe(code)
    expect(state(host)).toEqual(before)
    Object.assign(fault, { message: undefined, cost: 1, row: 0 })
    host.reserve('r', 'abc')
    expect(host.router.snapshot()).toMatchObject({ bookings: 2, believedBlocks: 3 })
  })

  it('or routes while it is asked: what it asked for is refused, and what it was asked is done', () => {
    const codes: string[] = []
    const inner: (() => unknown)[] = []
    const policy = tinyPolicy({
      roles: ['aggregated', 'decode', 'prefill', 'encode'],
      create: () => ({
        picker: {
          name: 'nosy',
          inputs: [],
          pick: () => {
            for (const call of inner) codes.push(codeOf(call))
            return 0
          },
        },
      }),
    })
    const host = routingHost({ workers: told(1), policy })
    host.store('1', 'ab')
    const { router } = host
    const sent = { tokens: tokensOf('zz') }
    inner.push(
      () => router.select(sent),
      () => router.reserve({ ...sent, requestId: 'inner' }),
      () => router.explain(sent),
      () => router.potentialLoads(sent),
    )
    expect(host.reserve('outer', 'abc')).toMatchObject({ cachedTokens: 8 })
    expect(codes).toEqual(Array.from({ length: 4 }, () => 'ROUTER_SELECTION_REENTERED'))
    expect(router.ledger.loadOf(router.slotOf(1n, 0))).toMatchObject({
      activeBlocks: 3,
      activePrefillTokens: 4,
    })
    expect([router.ledger.has('inner'), router.ledger.has('outer')]).toEqual([false, true])
  })
})

describe('a model of prefills', () => {
  it('is asked for what is to be computed and what is cached there', () => {
    const asked: [number, number][] = []
    const host = routingHost({
      workers: told(1),
      config: {
        prefillMs: (newTokens, cachedTokens) => {
          asked.push([newTokens, cachedTokens])
          return 100
        },
      },
    })
    host.store('1', 'ab')
    const { slot } = host.reserve('r', 'abc.')
    host.clock.ms = 50
    expect(host.router.ledger.loadOf(slot)).toMatchObject({ activePrefillTokens: 3, modeledRemainingMs: 50 })
    host.reserve('s', 'abc.', { tracksPrefillTokens: false })
    expect(asked).toEqual([
      [5, 8],
      [0, 8],
    ])
  })

  it.each([Number.NaN, -1, Infinity, 'soon' as never])(
    'that answers %s books nothing, and the id may be used again',
    (answer) => {
      let isBroken = true
      const host = routingHost({
        workers: believed(1, 2),
        config: { prefillMs: () => (isBroken ? answer : 5), assumesKvReuse: false },
      })
      const before = state(host)
      expect(codeOf(() => host.reserve('r', 'abc'))).toBe(bad)
      expect(state(host)).toEqual(before)
      isBroken = false
      host.reserve('r', 'abc')
      expect(host.router.snapshot()).toMatchObject({ bookings: 1, believedBlocks: 3 })
    },
  )

  it('that throws lets its own error through', () => {
    const host = routingHost({
      workers: believed(1),
      config: {
        prefillMs: () => {
          throw new RangeError('no model')
        },
      },
    })
    const before = state(host)
    expect(() => host.reserve('r', 'abc')).toThrow(RangeError)
    expect(state(host)).toEqual(before)
    expect(host.select('abc')).toMatchObject({ workerId: 1n })
  })
})
