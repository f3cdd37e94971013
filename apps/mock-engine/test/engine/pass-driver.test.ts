import { type TimingModel, VllmEngine } from '@router/engine-sim'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { PassDriver } from '../../src/engine/pass-driver.js'
import { VirtualClock } from '../../src/engine/virtual-clock.js'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** An engine in a time that the test sets. */
function driven(timing: TimingModel, rate = 1) {
  const real = { ms: 1000 }
  const log: string[] = []
  const clock = new VirtualClock(rate, () => real.ms)
  const engine = new VllmEngine({ block_size: 4, num_gpu_blocks: 4096, timing_model: timing })
  const driver = new PassDriver(engine, clock, {
    admitted: (request) => log.push(`${request} runs`),
    preempted: () => {},
    stored: () => {},
    removed: () => {},
    token: (request, ordinal) => log.push(`${request}.${ordinal}`),
    ended: (request, reason) => log.push(`${request} ${reason}`),
    passEnded: () => log.push('|'),
  })
  return {
    log,
    clock,
    driver,
    submit: (outputTokens: number) => {
      driver.catchUp()
      const request = engine.submit({ promptTokens: 8, outputTokens })
      driver.wake()
      return request
    },
    cancel: (request: number) => {
      engine.cancel(request)
      driver.wake()
    },
    /** Time passes, and no timer goes off. */
    wait: (ms: number) => {
      real.ms = 1000 + ms
    },
    /** Sets real time, and lets the timers that are armed now go off; what they arm waits. */
    at: (ms: number) => {
      real.ms = 1000 + ms
      vi.runOnlyPendingTimers()
      return log.splice(0).join(' ')
    },
  }
}

const fixed = (prefillMs: number, decodeMs: number): TimingModel => ({
  type: 'fixed',
  prefill_ms: prefillMs,
  decode_ms: decodeMs,
})

describe('passes in real time', () => {
  it('are over when their time has come, and not before', () => {
    const { submit, at } = driven(fixed(10, 2))
    submit(3)
    expect([at(0), at(9), at(10), at(11.5), at(12), at(14)]).toEqual([
      '',
      '',
      '0 runs 0.1 |',
      '',
      '0.2 |',
      '0.3 0 completed |',
    ])
  })

  it('have no timer while there is nothing to do', () => {
    const { submit, at } = driven(fixed(10, 2))
    expect(vi.getTimerCount()).toBe(0)
    submit(1)
    expect(vi.getTimerCount()).toBe(1)
    at(0)
    expect(vi.getTimerCount()).toBe(1)
    // One is enough, whatever comes while a pass runs.
    submit(1)
    expect(vi.getTimerCount()).toBe(1)
    at(10)
    expect(vi.getTimerCount()).toBe(1)
    at(20)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('are looked at once when they are over, not before', () => {
    const { driver, submit, at } = driven(fixed(9.5, 2))
    submit(1)
    at(0)
    vi.advanceTimersByTime(9)
    expect(driver.turns).toBe(1)
    vi.advanceTimersByTime(1)
    expect(driver.turns).toBe(2)
  })

  it('that take years wait for them without a rush', () => {
    const { driver, submit, at } = driven(fixed(1e12, 2))
    submit(1)
    at(0)
    vi.advanceTimersByTime(1000)
    expect(driver.turns).toBe(1)
    expect(at(1e12)).toBe('0 runs 0.1 0 completed |')
  })

  it('that a late timer missed are made up for in one turn', () => {
    const { driver, submit, at } = driven(fixed(10, 2))
    submit(100)
    at(0)
    expect(at(105).split('|')).toHaveLength(1 + 48)
    expect(driver.turns).toBe(2)
    // The next one is due where the last one ended: at 106, not at 107.
    expect(at(106)).toBe('0.49 |')
  })

  it('of short duration share a turn, so that all is done in time at any speed', () => {
    const { driver, submit, at } = driven(fixed(10, 2), 1000)
    submit(201)
    at(0)
    expect(at(0.42).split('|')).toHaveLength(1 + 201)
    expect(driver.turns).toBe(2)
  })

  it('of no duration let others have their turn', () => {
    const { driver, submit, at } = driven(fixed(0, 0))
    submit(1000)
    const passes = [at(0), at(0), at(0), at(0)].map((text) => text.split('|').length - 1)
    expect(passes).toEqual([256, 256, 256, 232])
    expect([driver.turns, vi.getTimerCount()]).toEqual([4, 0])
  })

  it('that are over before a request comes do not serve it', () => {
    const { submit, at, wait } = driven(fixed(10, 2))
    submit(4)
    at(0)
    // The timer is late: three passes are over when the request comes, a fourth runs.
    wait(15)
    submit(1)
    expect([at(15), at(16), at(25), at(26)]).toEqual([
      '0 runs 0.1 | 0.2 | 0.3 |',
      '0.4 0 completed |',
      '',
      '1 runs 1.1 1 completed |',
    ])
  })

  it('take up all that comes in one turn', () => {
    const { submit, at } = driven(fixed(10, 2))
    submit(1)
    submit(1)
    at(0)
    expect(at(10)).toBe('0 runs 1 runs 0.1 0 completed 1.1 1 completed |')
  })

  it('tell the end of a request that was given up, with a pass and without', () => {
    const { submit, cancel, at } = driven(fixed(10, 2))
    cancel(submit(5))
    expect(at(0)).toBe('0 cancelled |')
    const request = submit(5)
    at(0)
    cancel(request)
    expect(at(10)).toBe('0 runs 0 cancelled |')
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('a clock that changes its pace', () => {
  it('is slower from now on', () => {
    const { driver, clock, submit, at } = driven(fixed(10, 2))
    submit(3)
    at(0)
    at(5)
    clock.setRate(0.5)
    driver.retime()
    expect([at(10), at(14), at(15), at(18), at(19)]).toEqual(['', '', '0 runs 0.1 |', '', '0.2 |'])
  })

  it('and stands still without a timer', () => {
    const { driver, clock, submit, cancel, at } = driven(fixed(10, 2))
    const request = submit(3)
    at(0)
    at(9)
    clock.setRate(0)
    driver.retime()
    expect(vi.getTimerCount()).toBe(0)
    submit(1)
    cancel(request)
    expect([at(10), at(1000)]).toEqual(['', ''])
    clock.setRate(1)
    driver.retime()
    expect([at(1000.5), at(1001), at(1011)]).toEqual(['', '0 runs 0 cancelled |', '1 runs 1.1 1 completed |'])
  })

  it('starts nothing while it stands still', () => {
    const { driver, clock, submit, at } = driven(fixed(10, 2))
    clock.setRate(0)
    driver.retime()
    submit(1)
    expect([at(1), at(100), vi.getTimerCount()]).toEqual(['', '', 0])
    clock.setRate(1)
    driver.retime()
    expect([at(100), at(109), at(110)]).toEqual(['', '', '0 runs 0.1 0 completed |'])
  })
})

it('a driver that was closed does nothing more', () => {
  const { driver, submit, at } = driven(fixed(10, 2))
  submit(3)
  at(0)
  driver.close()
  driver.retime()
  submit(1)
  expect([vi.getTimerCount(), at(100)]).toEqual([0, ''])
})
