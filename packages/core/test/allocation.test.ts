import { defaultPolicy } from '@router/policy-default'
import { expect, it } from 'vitest'
import { type Host, type HostOptions, hostOf, request, tinyHost } from './support/hosts.js'
import { keepBy } from './support/policies.js'

declare const process: { readonly memoryUsage: () => { readonly heapUsed: number } }

const warmUps = 15_000
const calls = 10_000
const batches = 6

/**
 * Bytes per call on the JavaScript heap: the smallest growth over several batches. A batch during which the collector ran shrinks
 * the heap and is left out; a call that allocates shows in every other one.
 */
function bytesPerCall(body: () => unknown): number {
  for (let call = 0; call < warmUps; call++) body()
  let least = Infinity
  for (let batch = 0; batch < batches; batch++) {
    const before = process.memoryUsage().heapUsed
    for (let call = 0; call < calls; call++) body()
    const growth = process.memoryUsage().heapUsed - before
    if (growth >= 0 && growth < least) least = growth
  }
  return least / calls
}

const workers = Array.from({ length: 32 }, (_, id) => ({
  workerId: BigInt(id),
  dataParallelSize: 2,
  taints: [id % 2 === 0 ? 'even' : 'odd'],
}))

/** The default policy over 64 ranks with different loads and overlaps. */
function defaultHost(options: HostOptions = {}): Host {
  const host = hostOf(defaultPolicy, { workers, role: 'prefill', parameters: { seed: 42 }, ...options })
  for (let slot = 0; slot < 64; slot++) {
    host.table.setLoad(slot, 19 * (slot % 7), (slot % 11) + 3, slot % 5)
    host.table.setOverlap(slot, slot % 9, 2, 1, (slot % 9) + 0.5, 16 * (slot % 9) + 8)
  }
  return host
}

const sent = request({ promptTokens: 2048, hasTierMatches: true })
const ids = workers.map(({ workerId }) => workerId).filter((id) => id !== 5n)

it.each<[string, () => Host, ReturnType<typeof request>]>([
  ['tracked', defaultHost, sent],
  ['a query', defaultHost, { ...sent, mode: 'query' }],
  ['without WebAssembly', () => defaultHost({ webAssembly: false }), sent],
  ['with decay', () => defaultHost({ parameters: { seed: 42, overlap_score_credit_decay: 0.6 } }), sent],
  [
    'among holes',
    () => {
      const host = defaultHost()
      host.table.setOverloadedWorkers([7n, 9n])
      return host
    },
    sent,
  ],
  ['with an allowlist', defaultHost, { ...sent, allowedWorkerIds: ids }],
  ['with required taints', defaultHost, { ...sent, requiredTaints: ['even'] }],
  ['with preferred taints', defaultHost, { ...sent, preferredTaints: [{ taint: 'even', weight: 0.5 }] }],
  ['with a pin', defaultHost, { ...sent, pinnedWorker: { workerId: 4n, dpRank: 1 } }],
  ['with an affinity target', defaultHost, { ...sent, affinityTarget: { workerId: 4n } }],
  ['through filters', () => tinyHost({ filters: [keepBy(() => true)] }, { workers, inputs: ['load'] }), sent],
])('a warm selection allocates nothing: %s', (_name, build, asked) => {
  const { selector } = build()
  expect(bytesPerCall(() => selector.select(asked))).toBeLessThan(8)
})

it('nor does writing loads, overlaps and clearing them between selections', () => {
  const { selector, table } = defaultHost()
  table.setOverloadedWorkers([7n])
  const perCall = bytesPerCall(() => {
    for (let slot = 0; slot < 4; slot++) {
      table.setLoad(slot, 100, 20, 3)
      table.setOverlap(slot, 4, 0, 0, 4, 64)
    }
    table.setCacheUnknown(9)
    table.clearLoad(10)
    selector.select(sent)
    table.clearOverlaps()
  })
  expect(perCall).toBeLessThan(8)
})

it('the method sees an object per call', () => {
  const kept: object[] = []
  expect(bytesPerCall(() => (kept[0] = { a: kept.length }))).toBeGreaterThan(8)
})
