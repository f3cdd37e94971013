import { afterEach, expect, test } from 'vitest'
import type { EngineFacts } from '../../src/fleet/engine-facts.js'
import type { FleetSettings } from '../../src/fleet/fleet-settings.js'
import type { FleetWarning } from '../../src/fleet/fleet-worker.js'
import { HealthCauses } from '../../src/fleet/health-causes.js'
import { PredictionCheck } from '../../src/proxy/prediction-check.js'
import type { RequestFacts } from '../../src/proxy/request-facts.js'
import { loadServePolicy } from '../../src/serve-policy.js'
import { ServiceHealth, predictionFindings, tellWarning } from '../../src/service/service-health.js'
import { inertSettings } from '../../src/settings/inert-settings.js'
import { readServeSettings } from '../../src/settings/serve-settings.js'
import { learnedFindings } from '../../src/workers/learning/learned-findings.js'
import { WorkerDiscovery } from '../../src/workers/sources/worker-discovery.js'
import { TestEngine, packedBatch, storedBatch } from '../fleet/engine.js'
import { testFleet } from '../fleet/support.js'
import { until } from '../until.js'
import { ManualTimers } from '../workers/support.js'

// Every cause that is found as long as it holds or raised until its worker goes, through the health of a service: each can be provoked, is
// told once, and clears. Those that only time shows are with the watch, those of requests also with the check of predictions.

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const end of cleanups.splice(0).toReversed()) await end()
})

/** A fleet whose health is looked at, and what was told of it. */
function watched(settings: FleetSettings = {}) {
  const told: string[] = []
  const causes = new HealthCauses(
    () => 0,
    ({ code, scope }) => told.push(`${code} ${scope}`),
  )
  const warn = (warning: FleetWarning): void => tellWarning(warning, causes, () => undefined)
  const one = testFleet(settings, { onWarning: warn })
  const check = new PredictionCheck()
  const health = new ServiceHealth(one.fleet, () => one.clock.ms, causes, check)
  health.add('predictions', () => predictionFindings(check))
  health.add('workers', () => learnedFindings(one.fleet.workers))
  cleanups.push(() => one.fleet.dispose())
  /** What holds now, of these codes; looked at twice: nothing is told again. */
  const look = (...codes: string[]): string[] => {
    health.look()
    health.look()
    const found = causes.list().map(({ code, scope }) => `${code} ${scope}`)
    return found.filter((cause) => codes.includes(cause.split(' ')[0]!))
  }
  return { ...one, causes, check, health, look, told, workers: one.fleet.workers }
}

/** An engine that tells worker 7 of a fleet. */
async function told(settings: FleetSettings = {}) {
  const one = watched(settings)
  const engine = new TestEngine()
  cleanups.push(() => engine.stop())
  one.add(7, { kvEventsEndpoint: await engine.start() })
  await until('subscribed', () => engine.subscriptions === 1)
  let sequence = -1n
  const publish = async (number: number, batch: Uint8Array) => {
    sequence = BigInt(number)
    await engine.publish(number, batch)
    await until('applied', () => one.workers.eventReports(7n)[0]?.cursor === sequence)
  }
  return { ...one, engine, publish }
}

const cleared = packedBatch(['AllBlocksCleared'])

test('F5: no_workers', () => {
  const { add, look, told: lines, workers } = watched({ usesKvEvents: false })
  expect(look('no_workers')).toEqual(['no_workers router'])
  add(1)
  expect(look('no_workers')).toEqual([])
  workers.setHindrances(1n, [{ code: 'probe_failed', detail: '', sinceMs: 0 }])
  expect(look('no_workers')).toEqual(['no_workers router'])
  expect(lines).toEqual(['no_workers router', 'no_workers router'])
})

test('F5: approximate_mode', async () => {
  const { look, told: lines, workers, engine } = await told()
  const record = { workerId: 8n, endpoint: 'http://w8', blockSize: 4 }
  workers.upsert(record, 'trusted')
  expect(look('approximate_mode')).toEqual(['approximate_mode 8'])
  const other = new TestEngine()
  cleanups.push(() => other.stop())
  workers.upsert({ ...record, kvEventsEndpoint: await other.start() }, 'trusted')
  expect(look('approximate_mode')).toEqual([])
  expect(lines.filter((line) => line.startsWith('approximate_mode'))).toEqual(['approximate_mode 8'])
  expect(engine.subscriptions).toBe(1)
})

test('F5: index_started_empty, U35: an engine that was there before', async () => {
  const { look, publish } = await told()
  expect(look('index_started_empty')).toEqual([])
  await publish(5, storedBatch('ab'))
  expect(look('index_started_empty')).toEqual(['index_started_empty 7.0'])
  await publish(6, cleared)
  expect(look('index_started_empty')).toEqual([])
})

test('F5: index_rebuilding', async () => {
  const { look, publish } = await told()
  await publish(0, storedBatch('ab'))
  expect(look('index_rebuilding')).toEqual([])
  await publish(2, storedBatch('cd'))
  expect(look('index_rebuilding')).toEqual(['index_rebuilding 7.0'])
  await publish(3, cleared)
  expect(look('index_rebuilding')).toEqual([])
})

test('F5: kv_events_disconnected', async () => {
  const { look, engine, workers, told: lines, causes } = await told()
  const endpoint = workers.get(7n)!.registration.kvEventsEndpoint!
  await engine.stop()
  await until('failed', () => look('kv_events_disconnected').length > 0)
  expect(look('kv_events_disconnected')).toEqual(['kv_events_disconnected 7.0'])
  const { detail } = causes.list().find(({ code }) => code === 'kv_events_disconnected')!
  expect(detail).toContain(
    `worker 7, rank 0, events at ${endpoint}, no replay endpoint: it cannot be reached`,
  )
  const again = new TestEngine()
  cleanups.push(() => again.stop())
  await again.start(endpoint)
  await until('back', () => look('kv_events_disconnected').length === 0)
  expect(lines.filter((line) => line.startsWith('kv_events_disconnected'))).toHaveLength(1)
})

test('F5: block_size_mismatch, U4: blocks of 8 where the partition has 4 store nothing', async () => {
  const { look, publish, fleet, causes, told: lines } = await told()
  await publish(0, storedBatch('ab', 8))
  await publish(1, storedBatch('cd', 8))
  expect(look('block_size_mismatch')).toEqual(['block_size_mismatch 7.0'])
  expect(causes.list().find(({ code }) => code === 'block_size_mismatch')!.detail).toMatch(/8 in place of 4/)
  expect(fleet.partitions[0]!.router.index.currentSize).toBe(0)
  // Another process, which has them right.
  await publish(0, storedBatch('ab'))
  expect(look('block_size_mismatch')).toEqual([])
  expect(fleet.partitions[0]!.router.index.currentSize).toBe(2)
  expect(lines.filter((line) => line.startsWith('block_size'))).toHaveLength(1)
})

test('F5: hash_layout_mismatch', async () => {
  const { look, publish, workers } = await told()
  const pairs = [0, 1, 2, 3].map((token) => [token, token + 1])
  await publish(0, packedBatch(['BlockStored', [1], null, pairs, 4, null, 'GPU']))
  expect(look('hash_layout_mismatch')).toEqual(['hash_layout_mismatch 7.0'])
  workers.remove(7n)
  expect(look('hash_layout_mismatch')).toEqual([])
})

test('F5: capacity_unknown', () => {
  const { add, look } = watched({ usesKvEvents: false, busyThresholds: { activePrefillTokensFraction: 2 } })
  add(1)
  expect(look('capacity_unknown')).toEqual(['capacity_unknown 1'])
  add(1, { maxNumBatchedTokens: 100 })
  expect(look('capacity_unknown')).toEqual([])
})

test('F5: config_conflict', () => {
  const { add, look, fleet, causes, workers } = watched({ usesKvEvents: false })
  add(1)
  add(2, { blockSize: 8 })
  add(3, { isEagle: true })
  add(4, { blockSize: 0 })
  expect(look('config_conflict')).toEqual(['config_conflict 2', 'config_conflict 3'])
  expect(causes.list()[0]!.detail).toMatch(/block_size is 8.* 4/)
  // The older ones keep serving.
  expect(fleet.workers.schedulable).toBe(1)
  add(2)
  workers.remove(3n)
  expect(look('config_conflict')).toEqual([])
})

const silent: EngineFacts = { models: [{ id: 'm' }] }

test('F5: block_size_assumed, capacity_suspicious', () => {
  const { look, workers } = watched({ learnsFacts: true, usesKvEvents: false })
  for (const workerId of [1n, 2n])
    workers.upsert({ workerId, endpoint: `http://w${workerId}`, modelName: `m${workerId}` }, 'trusted')
  workers.learn(1n, silent)
  workers.learn(2n, { ...silent, blockSize: 16, maxNumBatchedTokens: 900, isCapacitySuspicious: true })
  const codes = ['block_size_assumed', 'capacity_suspicious']
  expect(look(...codes)).toEqual(['block_size_assumed 1', 'capacity_suspicious 2'])
  workers.learn(1n, { ...silent, blockSize: 16 })
  workers.learn(2n, { ...silent, blockSize: 16, maxNumBatchedTokens: 100 })
  expect(look(...codes)).toEqual([])
})

test('F5: discovery_invalid, U55: a bad worker file leaves the old workers serving', async () => {
  const one = watched({ usesKvEvents: false })
  const workerFile = (url: string) =>
    JSON.stringify({ workers: [{ endpoint: url, model_name: 'm', block_size: 16 }] })
  let text = workerFile('http://a:1')
  const timers = new ManualTimers(one.clock)
  const discovery = new WorkerDiscovery({
    workers: one.workers,
    timers,
    sources: { file: '/etc/workers.yaml' },
    readFile: async () => text,
  })
  cleanups.push(() => discovery.close())
  one.health.add('sources', () => discovery.findings())
  await discovery.start()
  expect(one.look('discovery_invalid')).toEqual([])
  text = 'workers: ['
  await timers.advance(3000)
  expect(one.look('discovery_invalid')).toEqual(['discovery_invalid /etc/workers.yaml'])
  expect([one.workers.schedulable, one.workers.list()[0]!.registration.endpoint]).toEqual([1, 'http://a:1'])
  text = workerFile('http://a:1')
  await timers.advance(3000)
  expect(one.look('discovery_invalid')).toEqual([])
  expect(one.told.filter((line) => line.startsWith('discovery'))).toHaveLength(1)
})

test('F5: inert_setting', async () => {
  const policy = await loadServePolicy({})
  const codesWith = (flags: Record<string, string>) =>
    inertSettings(readServeSettings({ flags }), policy).map(({ code }) => code)
  expect(codesWith({ 'router-queue-threshold': '2' })).toEqual(['inert_setting'])
  expect(codesWith({})).toEqual([])
})

const answered = {
  ending: 'answered',
  model: 'm',
  workerId: 1n,
  wantsTokenizer: true,
  isEstimated: false,
  promptTokens: 320,
  predictedTokens: 160,
  blockSize: 16,
  usage: { promptTokens: 320, cachedTokens: 160 },
} as RequestFacts

test.each<[string, string, Partial<RequestFacts>]>([
  ['hash_mismatch', '1 m', { usage: { promptTokens: 320, cachedTokens: 0 } }],
  ['index_blind', '1 m', { predictedTokens: 0 }],
  ['eviction_drift', '1 m', { usage: { promptTokens: 320, cachedTokens: 60 } }],
  ['tokenizer_missing', 'm', { cause: 'tokenizer_missing', isEstimated: true }],
  ['tokenizer_mismatch', 'm', { promptTokens: 321 }],
  ['tokenizer_slow', 'm', { cause: 'tokenizer_slow', isEstimated: true }],
])('F5: %s', (code, scope, more) => {
  const { check, look, told: lines } = watched({ usesKvEvents: false })
  const finish = (count: number, facts: Partial<RequestFacts>) => {
    for (let request = 0; request < count; request++) check.add({ ...answered, ...facts })
  }
  finish(200, {})
  expect(look(code)).toEqual([])
  finish(200, more)
  expect(look(code)).toEqual([`${code} ${scope}`])
  finish(200, {})
  expect(look(code)).toEqual([])
  expect(lines.filter((line) => line.startsWith(code))).toEqual([`${code} ${scope}`])
})
