import type { SharedHits } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { nameOf } from './support/hosts.js'
import { tinyPolicy } from './support/policies.js'
import { believed, hashed, routingHost, told, tokensOf } from './support/routing-hosts.js'

const roles = ['aggregated', 'decode', 'prefill', 'encode'] as const

describe('a prompt that was hashed before', () => {
  it('is found, booked and believed as its tokens would be', () => {
    const run = (isHashed: boolean) => {
      const host = routingHost({ workers: [...told(1), ...believed(2)] })
      host.store('1', 'ab')
      const prompt = (word: string) =>
        isHashed ? { blocks: hashed(word), promptTokens: tokensOf(word).length } : { tokens: tokensOf(word) }
      const { router } = host
      const steps = ['abcd.', 'abc', '..', '', 'abcde'].map((word, at) => {
        const before = [
          nameOf(router.select(prompt(word))),
          router.explain(prompt(word)),
          router.potentialLoads(prompt(word)),
        ]
        const { workerId, cachedTokens, requiredBlocks } = router.reserve({
          ...prompt(word),
          requestId: `${at}`,
        })
        return { before, workerId, cachedTokens, requiredBlocks, after: router.snapshot() }
      })
      return steps
    }
    expect(run(true)).toEqual(run(false))
    expect(run(true)[0]).toMatchObject({ workerId: 1n, cachedTokens: 8, requiredBlocks: 5 })
  })

  it('may stand in arrays that are longer than it', () => {
    const host = routingHost({ workers: believed(1) })
    const { local, sequence } = hashed('abcdef')
    host.router.reserve({ blocks: { local, sequence, count: 2 }, promptTokens: 9, requestId: 'r' })
    expect(host.device('abcdef')).toEqual({ '1.0': 2 })
    expect(host.router.ledger.loadOf(0)).toMatchObject({ activeBlocks: 2, activePrefillTokens: 9 })
  })
})

describe('what sets equal tokens apart', () => {
  const objects = { objectsByBlock: [[7n], [], [9n]] }
  it.each<[string, object, object]>([
    ['adapters', { loraName: 'one' }, { loraName: 'two' }],
    ['salts', { cacheSalt: 'one' }, { cacheSalt: 'two' }],
    ['objects', objects, { objectsByBlock: [[8n]] }],
    ['layouts', { isEagle: true }, {}],
  ])('is kept apart by index and books: %s', (_name, one, other) => {
    const host = routingHost({ workers: believed(1) })
    host.reserve('one', 'abc.', one)
    expect(host.device('abc.', one)).toEqual({ '1.0': 3 })
    expect(host.device('abc.', other)).toEqual({ '1.0': 0 })
    host.reserve('again', 'abc.', one)
    expect(host.router.ledger.loadOf(0).activeBlocks).toBe(3)
    host.reserve('other', 'abc.', other)
    expect(host.router.ledger.loadOf(0).activeBlocks).toBe(6)
  })

  it('counts the adapters in flight; an empty name is none', () => {
    const { router, reserve } = routingHost()
    for (const [at, loraName] of ['a', 'b', '', null, undefined, 'a'].entries())
      reserve(`${at}`, 'abc', { loraName } as never)
    router.reserve({ requestId: 'hashed', blocks: hashed('a'), promptTokens: 4, loraName: 'b' })
    expect([...router.ledger.loras]).toEqual([
      ['a', 2],
      ['b', 2],
    ])
  })
})

it('the policy is told what the request brings along, and nothing of the one before', () => {
  const names = [
    'sessionContext',
    'affinityTarget',
    'pinnedWorker',
    'policyClass',
    'expectedOutputTokens',
    'priorityJump',
    'strictPriority',
    'routerTemperatureOverride',
    'requiredCacheHits',
    'tracksPrefillTokens',
    'promptTokens',
    'requestBlocks',
    'blockSize',
    'queryOnly',
  ] as const
  const seen: unknown[] = []
  const policy = tinyPolicy({
    roles,
    create: () => ({
      scorers: [
        {
          name: 'look',
          inputs: ['cache', 'preferredTaint'],
          score: (context, { count, cache, preferredTaint }, costs) => {
            seen.push(Object.fromEntries(names.map((name) => [name, context[name]])), cache!.sharedHits)
            costs.fill(preferredTaint!.applies ? preferredTaint!.multiplier[0]! : 0, 0, count)
          },
        },
      ],
    }),
  })
  const host = routingHost({ policy, workers: [{ workerId: 1n, taints: ['gold'] }, { workerId: 2n }] })
  const context = {
    sessionContext: { sessionId: 's', agentHeaders: {} },
    affinityTarget: { workerId: 2n },
    pinnedWorker: { workerId: 1n, dpRank: 0 },
    policyClass: 'batch',
    expectedOutputTokens: 77,
    priorityJump: 1.5,
    strictPriority: 3,
    routerTemperatureOverride: 0.25,
    requiredCacheHits: 2,
    tracksPrefillTokens: false,
  }
  const sharedHits: SharedHits = { count: 1, starts: Uint32Array.of(1), ends: Uint32Array.of(3) }
  host.reserve('rich', 'ab.', { ...context, sharedHits })
  host.reserve('plain', 'abc')
  const sizes = { requestBlocks: 3, blockSize: 4, queryOnly: false }
  const absent = Object.fromEntries(Object.keys(context).map((name) => [name, undefined]))
  const defaults = {
    policyClass: 'default',
    strictPriority: 0,
    requiredCacheHits: 0,
    tracksPrefillTokens: true,
  }
  expect(seen).toEqual([
    { ...context, ...sizes, promptTokens: 9 },
    sharedHits,
    { ...absent, ...defaults, ...sizes, promptTokens: 12 },
    undefined,
  ])
  const tokens = tokensOf('a')
  const { rows } = host.router.explain({ tokens, requiredTaints: ['gold'] })
  expect(rows.map(({ rejection }) => rejection)).toEqual([undefined, 'RoutingConstraintsUnsatisfied'])
  const [gold] = host.router.explain({ tokens, preferredTaints: [{ taint: 'gold', weight: 1 }] }).rows
  expect(gold!.total).toBeCloseTo(Math.exp(-Math.tanh(1)), 9)
})

it('a request that tracks no prefill adds none to what is asked or booked; the configuration says what others do', () => {
  for (const isDefault of [true, false]) {
    const host = routingHost({ workers: told(1), config: { tracksPrefillTokens: isDefault } })
    host.store('1', 'ab')
    const tokens = tokensOf('abcd.')
    const potential = (rest = {}) =>
      host.router.potentialLoads({ tokens, ...rest }).map((load) => load.potentialPrefillTokens)
    expect(potential({ tracksPrefillTokens: false })).toEqual([0])
    expect(potential({ tracksPrefillTokens: true })).toEqual([9])
    expect(potential()).toEqual([isDefault ? 9 : 0])
    const { slot } = host.reserve('default', 'abcd.')
    expect(host.router.ledger.loadOf(slot).activePrefillTokens).toBe(isDefault ? 9 : 0)
    host.reserve('not', 'abcd.', { tracksPrefillTokens: false })
    expect(host.router.ledger.loadOf(slot).activePrefillTokens).toBe(isDefault ? 9 : 0)
    host.reserve('does', 'abcd.', { tracksPrefillTokens: true })
    expect(host.router.ledger.loadOf(slot).activePrefillTokens).toBe(isDefault ? 18 : 9)
  }
})

describe('a booking', () => {
  it('that is relayed never expires; one without a sign of life does, of 300 s, by the second look', () => {
    const host = routingHost({ workers: told(1) })
    const { router, clock } = host
    for (const id of ['relayed', 'silent', 'talking'])
      host.reserve(id, 'abc', { isRelayed: id === 'relayed' })
    for (let step = 1; step <= 13; step++) {
      clock.ms = step * 30_001
      router.noteOutput('talking', step)
      router.tick()
    }
    expect(['relayed', 'silent', 'talking'].map((id) => router.free(id))).toEqual([true, false, true])
    expect(router.ledger.expired).toBe(1)
  })

  it('gives way by its expected output, block by block; one of unknown length weighs all it wrote', () => {
    const host = routingHost({ workers: told(1), config: { tracksOutputBlocks: true } })
    const { router } = host
    const blocks = () => router.ledger.loadOf(router.slotOf(1n, 0)).activeBlocks
    host.reserve('known', 'abcd.', { expectedOutputTokens: 16 })
    // 17 tokens of prompt: the fifth block is begun already, and is not counted.
    const steps = [3, 4, 8, 8, 2, 16, 40].map((tokens) => [router.noteOutput('known', tokens), blocks()])
    // Weights of prompt and output: 4; 5 x 0.75; 6 x 0.5; the same; the same; 8 x 0; 14 x 0.
    expect(steps.map(([, weight]) => weight)).toEqual([4, 4, 3, 3, 3, 0, 0])
    router.free('known')
    host.reserve('unknown', 'abcd')
    expect([0, 1, 4, 5, 12].map((tokens) => (router.noteOutput('unknown', tokens), blocks()))).toEqual([
      4, 5, 5, 6, 7,
    ])
    expect([router.noteOutput('nobody', 4), router.ledger.audit()]).toEqual([false, []])
  })

  it('is no output block more where none are tracked', () => {
    const host = routingHost({ workers: told(1) })
    host.reserve('r', 'abcd')
    expect(host.router.noteOutput('r', 100)).toBe(true)
    expect(host.router.ledger.loadOf(host.router.slotOf(1n, 0)).activeBlocks).toBe(4)
  })

  it('loses its prefill with the first token', () => {
    const host = routingHost({ workers: told(1) })
    const { slot } = host.reserve('r', 'abcd')
    expect([host.router.markPrefillCompleted('r'), host.router.markPrefillCompleted('r')]).toEqual([
      true,
      false,
    ])
    expect(host.router.ledger.loadOf(slot)).toMatchObject({
      activeBlocks: 4,
      activePrefillTokens: 0,
      activeRequests: 1,
    })
  })
})
