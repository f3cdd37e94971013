import { describe, expect, it } from 'vitest'
import { FleetWatch } from '../../src/fleet/fleet-watch.js'
import { HealthCauses } from '../../src/fleet/health-causes.js'
import { until } from '../until.js'
import { TestEngine, storedBatch } from './engine.js'
import { testFleet } from './support.js'

describe('what only time shows', () => {
  it('F5: kv_events_silent, U3: no batch for a minute while requests come, until one does; told once', async () => {
    const one = testFleet({})
    const watch = new FleetWatch(one.fleet, () => one.clock.ms)
    const told: string[] = []
    const causes = new HealthCauses(
      () => 0,
      ({ code }) => told.push(code),
    )
    const codes = () => {
      causes.found('fleet', watch.look())
      return causes.list().map(({ code, scope }) => `${code} ${scope}`)
    }
    const engine = new TestEngine()
    one.add(7, { kvEventsEndpoint: await engine.start() })
    const at = (seconds: number, isBusy: boolean) => {
      one.clock.ms = 1000 * seconds
      if (isBusy) one.reserve(`r${seconds}`, 'abc')
      return codes()
    }
    expect([at(0, true), at(59, true), at(60, true)]).toEqual([[], [], ['kv_events_silent 7.0']])
    expect(at(119, false)).toEqual(['kv_events_silent 7.0'])
    expect(told).toEqual(['kv_events_silent'])
    // Nobody asks for anything: that nothing changes is no wonder.
    expect(at(121, false)).toEqual([])
    expect(at(130, true)).toEqual(['kv_events_silent 7.0'])
    await until('subscribed', () => engine.subscriptions === 1)
    await engine.publish(0, storedBatch('ab'))
    await until('applied', () => one.fleet.workers.eventReports(7n)[0]!.cursor === 0n)
    expect(codes()).toEqual([])
    expect([at(131, true), at(190, true), at(191, true)]).toEqual([[], [], ['kv_events_silent 7.0']])
    one.fleet.workers.remove(7n)
    expect(codes()).toEqual(['no_workers router'])
    one.fleet.dispose()
    await engine.stop()
  })

  it('F5: kv_events_silent is none of a rank that was asked for nothing new, nor of the first request after a long silence', async () => {
    const one = testFleet({})
    const watch = new FleetWatch(one.fleet, () => one.clock.ms)
    const engines = [new TestEngine(), new TestEngine()]
    for (const [index, engine] of engines.entries())
      one.add(index + 1, { kvEventsEndpoint: await engine.start() })
    await until('subscribed', () => engines.every(({ subscriptions }) => subscriptions === 1))
    await engines[0]!.publish(0, storedBatch('ab'))
    await until('applied', () => one.fleet.workers.eventReports(1n)[0]!.cursor === 0n)
    const silent = (seconds: number, word: string) => {
      one.clock.ms = 1000 * seconds
      one.reserve(`r${seconds}`, word, { allowedWorkerIds: [1n] })
      return watch.look().flatMap(({ code, scope }) => (code === 'kv_events_silent' ? scope : []))
    }
    // All of it is there; less than a block.
    for (let seconds = 0; seconds <= 300; seconds += 30) expect(silent(seconds, 'ab')).toEqual([])
    for (let seconds = 301; seconds <= 391; seconds += 30) expect(silent(seconds, '')).toEqual([])
    expect([silent(5000, 'abc'), silent(5059, 'abc'), silent(5060, 'abc')]).toEqual([[], [], ['1.0']])
    one.fleet.dispose()
    for (const engine of engines) await engine.stop()
  })

  it('F5: undecodable_events: one within the last minute; what a filter drops is none', async () => {
    const one = testFleet({})
    const watch = new FleetWatch(one.fleet, () => one.clock.ms)
    const codes = () =>
      watch.look().flatMap(({ code, scope }) => (code.startsWith('index') ? [] : `${code} ${scope}`))
    const engine = new TestEngine()
    one.add(7, { kvEventsEndpoint: await engine.start() })
    await until('subscribed', () => engine.subscriptions === 1)
    const cursorIs = (cursor: bigint) => () => one.fleet.workers.eventReports(7n)[0]!.cursor === cursor
    // A batch of one event with a tag that nobody knows, and one that repeats a hash.
    const event = [0x91, 0xa4, ...Buffer.from('What')]
    await engine.publish(0, storedBatch('ab', 8))
    await until('applied', cursorIs(0n))
    expect(codes()).toEqual([])
    await engine.publish(1, Uint8Array.from([0x92, 0xca, 0, 0, 0, 0, 0x91, ...event]))
    await until('applied', cursorIs(1n))
    one.clock.ms = 1000
    expect(codes()).toEqual(['undecodable_events 7'])
    one.clock.ms = 60_999
    expect(codes()).toEqual(['undecodable_events 7'])
    one.clock.ms = 61_000
    expect(codes()).toEqual([])
    one.fleet.dispose()
    await engine.stop()
  })

  it('F5: expired_bookings: more than one in a thousand of the last hour', () => {
    const one = testFleet()
    const watch = new FleetWatch(one.fleet, () => one.clock.ms)
    const minute = () => {
      one.clock.ms += 60_000
      one.fleet.tick()
      return watch.look().some(({ code }) => code === 'expired_bookings')
    }
    one.add(1)
    watch.look()
    one.reserve('lost', 'ab')
    const first = Array.from({ length: 10 }, minute)
    expect([first[0], first.at(-1)]).toEqual([false, true])
    for (let booking = 0; booking < 998; booking++) {
      one.reserve(`r${booking}`, 'a')
      one.fleet.free(`r${booking}`)
    }
    expect(minute()).toBe(true)
    one.reserve('r', 'a')
    one.fleet.free('r')
    expect(minute()).toBe(false)
    one.reserve('lost again', 'ab')
    for (let minutes = 0; minutes < 60; minutes++) minute()
    expect(minute()).toBe(true)
    for (let minutes = 0; minutes < 20; minutes++) minute()
    expect(minute()).toBe(false)
  })
})
