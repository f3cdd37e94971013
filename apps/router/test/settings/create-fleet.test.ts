import { afterEach, expect, it } from 'vitest'
import { fleetFindings } from '../../src/fleet/fleet-health.js'
import { loadServePolicy } from '../../src/serve-policy.js'
import { createFleet } from '../../src/service/create-fleet.js'
import { readServeSettings } from '../../src/settings/serve-settings.js'
import { TestEngine, storedBatch } from '../fleet/engine.js'
import { until } from '../until.js'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** A fleet as variables have it, in which time stands still, with a worker whose engine told of four blocks, in sequence 5. */
async function toldFleet(environment: Readonly<Record<string, string>>) {
  const clock = { ms: 0 }
  const policy = await loadServePolicy({ environment })
  const fleet = createFleet(readServeSettings({ environment }), policy, { clock: () => clock.ms })
  closing.push(() => fleet.dispose())
  const engine = new TestEngine()
  const kvEventsEndpoint = await engine.start()
  closing.push(() => engine.stop())
  fleet.workers.upsert({ workerId: 1n, endpoint: 'http://w1', blockSize: 4, kvEventsEndpoint })
  await until('subscribed', () => engine.subscriptions > 0)
  const report = () => fleet.workers.eventReports(1n)[0]!
  const tell = async (sequence: number) => {
    await engine.publish(sequence, storedBatch('abcd'))
    await until('told', () => report().cursor === BigInt(sequence))
  }
  await tell(5)
  return { fleet, clock, tell, state: () => report().state }
}

it('an engine of which no event was missed for the horizon of the settings is known again', async () => {
  const { clock, tell, state } = await toldFleet({ ROUTER_INDEX_REBUILD_HORIZON_SECS: '30' })
  expect(state()).toBe('rebuilding')
  clock.ms = 29_999
  await tell(6)
  expect(state()).toBe('rebuilding')
  clock.ms = 30_001
  await tell(7)
  expect(state()).toBe('live')
})

it('an index holds no more blocks than the settings allow', async () => {
  const blocksOf = async (environment: Readonly<Record<string, string>>) => {
    const { fleet } = await toldFleet(environment)
    return fleet.partitions[0]!.router.index.currentSize
  }
  expect(await blocksOf({ ROUTER_MAX_INDEX_BLOCKS: '4' })).toBe(4)
  expect(await blocksOf({ ROUTER_MAX_INDEX_BLOCKS: '3' })).toBeLessThan(4)
})

it.each(['kv', 'round-robin', 'direct'])(
  'in mode %s events are followed where somebody looks at them',
  async (mode) => {
    const environment = { ROUTER_MODE: mode }
    const settings = readServeSettings({ environment })
    const fleet = createFleet(settings, await loadServePolicy({ environment }))
    closing.push(() => fleet.dispose())
    fleet.workers.upsert({ workerId: 1n, endpoint: 'http://w1', blockSize: 4 })
    const told = { workerId: 2n, endpoint: 'http://w2', blockSize: 4, kvEventsEndpoint: 'tcp://127.0.0.1:1' }
    fleet.workers.upsert(told)
    // Over the API a worker without an event address is complete only where nobody wants one.
    expect(fleet.workers.get(1n)!.lifecycle).toBe(mode === 'kv' ? 'incomplete' : 'schedulable')
    expect(fleet.workers.eventReports(2n)).toHaveLength(mode === 'kv' ? 1 : 0)
    expect(fleetFindings(fleet).filter(({ code }) => code === 'approximate_mode')).toEqual([])
  },
)
