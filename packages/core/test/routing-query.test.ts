import type { PolicyDefinition } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import type { RouterCoreConfig } from '../src/index.js'
import { nameOf } from './support/hosts.js'
import {
  type RoutingHost,
  believed,
  drawingPolicy,
  routingHost,
  told,
  tokensOf,
} from './support/routing-hosts.js'

const words = ['abcd', 'ab.', '', 'xyz', 'abcdefgh', '..']

/** A busy partition of ranks that tell, that never told, and that are believed. */
function busy(policy: PolicyDefinition | undefined, config: RouterCoreConfig): RoutingHost {
  const host = routingHost({
    workers: [...told(1, 2, 5), ...believed(3, 4)],
    config: { tracksOutputBlocks: true, predictedTtlMs: 400, ...config },
    ...(policy === undefined ? {} : { policy }),
  })
  host.store('1', 'abcd')
  host.store('2', 'ab', { tier: 1 })
  for (const [at, word] of words.entries()) host.reserve(`${at}`, word, { expectedOutputTokens: 16 })
  host.router.noteOutput('0', 9)
  host.router.markPrefillCompleted('1')
  host.router.partition.table.setOverloadedWorkers([2n])
  return host
}

const queries: [string, (host: RoutingHost, word: string) => unknown][] = [
  ['select', (host, word) => nameOf(host.select(word))],
  ['explain', ({ router }, word) => router.explain({ tokens: tokensOf(word) }).chosen],
  ['potentialLoads', ({ router }, word) => router.potentialLoads({ tokens: tokensOf(word) })],
]
const configs: [string, RouterCoreConfig][] = [
  ['by default', {}],
  ['with blocks that nobody shares', { assumesKvReuse: false }],
  ['with retention by capacity', { approximateCachePolicy: 'lru' }],
  ['with a model of prefills', { prefillMs: (tokens) => 10 * tokens }],
]

describe.each(configs)('a query %s', (_name, config) => {
  it.each(queries)('leaves the snapshot as it was: %s', (_query, ask) => {
    for (const policy of [undefined, drawingPolicy()]) {
      const host = busy(policy, config)
      for (let turn = 0; turn < 8; turn++) {
        const before = host.router.snapshot()
        for (const word of words) {
          const answer = ask(host, word)
          expect(host.router.snapshot()).toEqual(before)
          expect(ask(host, word)).toEqual(answer)
        }
        // Time in which beliefs and predictions run out, whoever notices it first.
        host.clock.ms += turn === 4 ? 119_000 : 150
      }
      expect(host.router.ledger.audit()).toEqual([])
    }
  })

  it('moves no random stream: the rest of the sequence is the same however many there are', () => {
    const run = (asks: number): string[] => {
      const seen: string[] = []
      const host = busy(drawingPolicy(seen), config)
      const chosen = Array.from({ length: 12 }, (_, turn) => {
        for (let ask = 0; ask < asks; ask++) queries[ask % 3]![1](host, words[(turn + ask) % 6]!)
        seen.splice(0)
        const asked = asks > 0 ? nameOf(host.select('abcd')) : undefined
        const [ofQuery] = seen.splice(0)
        const taken = nameOf(host.reserve(`turn-${turn}`, 'abcd'))
        if (asked !== undefined) expect([asked, ofQuery]).toEqual([taken, seen[0]])
        return `${taken}: ${seen[0]}`
      })
      return chosen
    }
    const alone = run(0)
    expect(run(1)).toEqual(alone)
    expect(run(7)).toEqual(alone)
    expect(new Set(alone.map((line) => line.split(':')[0])).size).toBeGreaterThan(1)
  })
})

it('blocks that nobody shares have other hashes for each booking, and count each time', () => {
  const seen: string[] = []
  const host = routingHost({
    workers: told(1),
    policy: drawingPolicy(seen),
    config: { assumesKvReuse: false },
  })
  for (const id of ['one', 'two', 'three']) host.reserve(id, 'abc')
  expect(new Set(seen.join(',').split(',')).size).toBe(9)
  expect(host.router.ledger.loadOf(host.router.slotOf(1n, 0)).activeBlocks).toBe(9)
  expect(host.router.potentialLoads({ tokens: tokensOf('abc') })[0]).toMatchObject({
    potentialDecodeBlocks: 12,
  })
})

it('prefill pools track no blocks, of output neither, and no pool does where it is switched off', () => {
  const seen: string[] = []
  const policy = drawingPolicy(seen)
  const hosts = [
    routingHost({ workers: told(1), policy, role: 'prefill', config: { tracksOutputBlocks: true } }),
    routingHost({ workers: told(1), policy, config: { tracksActiveBlocks: false } }),
  ]
  for (const { router, reserve } of hosts) {
    const { slot, potentialDecodeBlocks } = reserve('r', 'abc.')
    router.noteOutput('r', 20)
    expect(router.ledger.loadOf(slot)).toMatchObject({
      activeBlocks: 0,
      activePrefillTokens: 13,
      activeRequests: 1,
    })
    expect(potentialDecodeBlocks).toBe(4)
  }
  expect(seen).toEqual(['undefined', 'undefined'])
})
