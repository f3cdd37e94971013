import { HOST_PINNED } from '@router/kv-index'
import { defaultPolicy } from '@router/policy-default'
import { PolicyCatalog } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import { createRouterCore } from '../src/index.js'
import { tinyPolicy } from './support/policies.js'
import { routingHost, tokensOf } from './support/routing-hosts.js'

describe('the best that a request could have got', () => {
  const best = (host: ReturnType<typeof routingHost>): number =>
    host.router.partition.selector.bestEligibleOverlapBlocks

  it('is the largest weighed overlap of the eligible ranks, whether the policy looks at caches or not', () => {
    const blind = tinyPolicy({
      inputs: [],
      create: () => ({ picker: { name: 'first', inputs: [], pick: () => 0 } }),
    })
    const host = routingHost({ policy: blind })
    host.store('2', 'ab')
    host.store('3', 'a')
    host.store('3', 'abcd', { from: 1, tier: HOST_PINNED })
    expect(host.reserve('one', 'abcd').effectiveOverlapBlocks).toBe(0)
    expect(best(host)).toBe(1 + 3 * 0.75)
    host.select('zz')
    expect(best(host)).toBe(0)
  })

  it('does not count ranks that could not take it, nor those of which nobody knows what they hold', () => {
    const host = routingHost()
    host.store('1', 'abc')
    host.store('2', 'ab')
    host.store('3', 'a')
    const { table } = host.router.partition
    host.select('abc', { allowedWorkerIds: [2n, 3n] })
    expect(best(host)).toBe(2)
    table.setOverloaded(host.router.slotOf(1n, 0), true)
    host.select('abc')
    expect(best(host)).toBe(2)
    table.setAvailableWorkers([3n])
    host.select('abc')
    expect(best(host)).toBe(1)
    host.router.setCacheKnown(3n, 0, false)
    host.select('abc')
    expect(best(host)).toBe(0)
  })
})

describe('stages of a selection', () => {
  it('take the time between the looks at the clock', () => {
    // Every look at the clock costs one more millisecond than the one before.
    let ms = 0
    let step = 0
    const core = createRouterCore({
      policy: coreOptions().policy,
      clock: () => (ms += ++step),
      random: () => 1n,
      config: { blockSize: 4 },
    })
    const router = core.router({ role: 'aggregated' })
    router.upsertWorker({ workerId: 1n })
    for (const ask of [
      () => router.select({ tokens: tokensOf('ab') }),
      () => router.reserve({ tokens: tokensOf('ab'), requestId: 'one' }),
    ]) {
      ask()
      const { hashingMs, matchingMs, schedulingMs } = router.stages
      expect([hashingMs > 0, matchingMs > hashingMs, schedulingMs > matchingMs]).toEqual([true, true, true])
    }
  })

  it('that a refused request did not get to took none', () => {
    let ms = 0
    const core = createRouterCore({ ...coreOptions(), clock: () => ++ms, config: { blockSize: 4 } })
    const router = core.router({ role: 'aggregated' })
    router.upsertWorker({ workerId: 1n })
    router.select({ tokens: tokensOf('ab') })
    expect(router.stages.matchingMs).toBeGreaterThan(0)
    expect(() => router.reserve({ tokens: [-1], requestId: 'bad' })).toThrow()
    const { hashingMs, matchingMs, schedulingMs } = router.stages
    expect([hashingMs, matchingMs, schedulingMs]).toEqual([0, 0, 0])
  })
})

function coreOptions() {
  const policies = new PolicyCatalog().withDefault(defaultPolicy)
  return { policy: policies.resolve({}), clock: () => 0, random: () => 1n }
}
