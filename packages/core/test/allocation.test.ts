import { defaultPolicy } from '@router/policy-default'
import { expect, it } from 'vitest'
import { bytesPerCall } from './support/allocation.js'
import { type Host, type HostOptions, hostOf, request, tinyHost } from './support/hosts.js'
import { keepBy } from './support/policies.js'

const weighing = { warmUps: 15_000, calls: 10_000, batches: 6 }

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
  expect(bytesPerCall(() => selector.select(asked), weighing)).toBeLessThan(8)
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
  }, weighing)
  expect(perCall).toBeLessThan(8)
})

it('the method sees an object per call', () => {
  const kept: object[] = []
  expect(bytesPerCall(() => (kept[0] = { a: kept.length }), weighing)).toBeGreaterThan(8)
})
