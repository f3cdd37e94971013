import { describe, expect, it } from 'vitest'
import { type AttemptEnd, WorkerHealth } from '../../src/workers/worker-health.js'

/** A health at a time that the test sets, and its reasons by code. */
function testHealth() {
  const health = new WorkerHealth()
  const clock = { ms: 0 }
  const begin = () => health.begin(clock.ms)
  return {
    health,
    clock,
    begin,
    request(how: AttemptEnd, status?: number) {
      const attempt = begin()!
      if (status !== undefined) {
        health.head(attempt, status, clock.ms)
        health.byte(attempt, clock.ms)
      }
      health.end(attempt, how, how, clock.ms)
    },
    hard: () => health.hard(clock.ms).map(({ code }) => code),
    soft: () => health.soft(clock.ms).map(({ code }) => code),
  }
}

describe('probes', () => {
  it('three failures in a row speak against a worker, one success lets it back', () => {
    const { health, hard } = testHealth()
    for (const expected of [[], [], ['probe_failed'], ['probe_failed']]) {
      health.probeFailed(false, 'status 503', 0)
      expect(hard()).toEqual(expected)
    }
    health.probeSucceeded(0)
    expect(hard()).toEqual([])
    health.probeFailed(false, 'status 503', 0)
    expect(hard()).toEqual([])
  })

  it('a refused connection does so at once, and until one succeeds (17.2)', () => {
    const { health, clock, hard, begin } = testHealth()
    health.probeFailed(true, 'connection refused', 0)
    expect(hard()).toEqual(['inhibited'])
    clock.ms = 100_000
    expect(hard()).toEqual(['inhibited'])
    expect(begin()).toBeUndefined()
    health.probeSucceeded(clock.ms)
    expect(hard()).toEqual([])
  })
})

describe('inhibition', () => {
  it.each([
    [200, []],
    [304, []],
    [307, ['inhibited']],
    [404, []],
    [503, ['inhibited']],
  ])('an answer with status %i: %j', (status, expected) => {
    const { request, soft } = testHealth()
    request('answered', status)
    expect(soft()).toEqual(expected)
  })

  it.each(['failed', 'refused'] as const)('a request that %s inhibits for 5 s', (how) => {
    const { health, clock, request, hard, soft } = testHealth()
    request(how)
    expect([...hard(), ...soft()]).toEqual(['inhibited'])
    health.probeSucceeded(clock.ms)
    // Who answers a probe after a refusal is there again; a failed request says that its work goes wrong.
    expect(soft()).toEqual(how === 'failed' ? ['inhibited'] : [])
    expect(health.nextChangeMs(0)).toBe(how === 'failed' ? 5000 : Infinity)
    clock.ms = 5000
    expect([...hard(), ...soft()]).toEqual([])
  })

  it('a status of 500 and above does too, below and a client that leaves do not (U43)', () => {
    const { request, soft } = testHealth()
    for (const status of [200, 400, 404, 429]) request('answered', status)
    request('abandoned')
    expect(soft()).toEqual([])
    request('answered', 500)
    expect(soft()).toEqual(['inhibited'])
  })

  it('a request that fails twice counts once', () => {
    const { health, begin, hard } = testHealth()
    for (let request = 0; request < 4; request++) {
      const attempt = begin()!
      health.head(attempt, 503, 0)
      health.end(attempt, 'failed', 'reset', 0)
      health.end(attempt, 'failed', 'reset', 0)
    }
    expect([hard(), health.inFlight]).toEqual([[], 0])
  })
})

describe('breaker', () => {
  it('opens at 5 failures within 10 s, and not at 5 within more', () => {
    const { clock, request, hard } = testHealth()
    for (let failure = 0; failure < 5; failure++) {
      clock.ms = failure * 2600
      request('failed')
    }
    expect(hard()).toEqual([])
    clock.ms = 12_000
    request('failed')
    expect(hard()).toEqual(['breaker_open'])
  })

  it('a hundred bad requests leave it closed (U43)', () => {
    const { request, hard, soft } = testHealth()
    for (let count = 0; count < 100; count++) request('answered', 400)
    expect([...hard(), ...soft()]).toEqual([])
  })

  it('after 2 s lets one request through at a time: a failure opens it again, a success closes it', () => {
    const { health, clock, request, begin, hard } = testHealth()
    for (let failure = 0; failure < 5; failure++) request('failed')
    clock.ms = 1999
    expect(begin()).toBeUndefined()
    clock.ms = 2000
    expect(hard()).toEqual([])
    const trial = begin()!
    expect(begin()).toBeUndefined()
    health.end(trial, 'failed', 'reset', clock.ms)
    expect(hard()).toEqual(['breaker_open'])
    clock.ms = 4000
    request('abandoned')
    const next = begin()!
    health.head(next, 200, clock.ms)
    expect(hard()).toEqual(['breaker_open'])
    expect(health.byte(next, clock.ms)).toBe(true)
    expect(hard()).toEqual([])
    // Closed, it counts anew.
    for (let failure = 0; failure < 4; failure++) request('failed')
    expect(hard()).toEqual([])
    expect(begin()).toBeDefined()
  })

  it('a probe that succeeds half-opens it at once, a restart forgets it', () => {
    const { health, request, hard } = testHealth()
    for (let failure = 0; failure < 5; failure++) request('failed')
    health.probeSucceeded(0)
    expect(hard()).toEqual([])
    request('failed')
    expect(hard()).toEqual(['breaker_open'])
    health.restarted()
    expect([hard(), health.soft(0)]).toEqual([[], []])
  })

  it('what a request of the process before says late is not held against the next', () => {
    const { health, begin, soft } = testHealth()
    const before = begin()!
    health.restarted()
    health.end(before, 'refused', 'reset', 0)
    expect([soft(), health.isRefused, health.inFlight]).toEqual([[], false, 0])
  })
})

describe('progress', () => {
  it('silence lasts from the first request without a byte, and any byte ends it', () => {
    const { health, clock, begin } = testHealth()
    clock.ms = 1000
    expect(health.silenceMs(1000)).toBe(0)
    const first = begin()!
    clock.ms = 4000
    begin()
    expect(health.silenceMs(4000)).toBe(3000)
    health.byte(first, 5000)
    expect(health.silenceMs(6000)).toBe(1000)
  })

  it('a silent worker is avoided until a byte comes; without requests it is tried again with one', () => {
    const { health, clock, begin, soft } = testHealth()
    const stuck = begin()!
    health.markSilent(0)
    expect(soft()).toEqual(['no_progress'])
    health.end(stuck, 'abandoned', '', 0)
    clock.ms = 9999
    expect([soft(), health.nextChangeMs(clock.ms)]).toEqual([['no_progress'], 10_000])
    clock.ms = 10_000
    expect(soft()).toEqual([])
    const trial = begin()!
    expect(soft()).toEqual(['no_progress'])
    expect(health.byte(trial, clock.ms)).toBe(true)
    expect(soft()).toEqual([])
  })

  it('keeps the last 100 times to the first byte, of good answers alone', () => {
    const { health, clock } = testHealth()
    for (let request = 0; request < 150; request++) {
      const attempt = health.begin(clock.ms)!
      health.head(attempt, request % 3 === 0 ? 404 : 200, clock.ms)
      health.byte(attempt, clock.ms + request)
      health.byte(attempt, clock.ms + 1_000_000)
      health.end(attempt, 'answered', '', clock.ms)
    }
    expect(health.firstByteMs).toHaveLength(100)
    for (let request = 0; request < 3; request++) {
      const attempt = health.begin(clock.ms)!
      health.head(attempt, 200, clock.ms)
      health.byte(attempt, clock.ms + 7777)
    }
    expect([...health.firstByteMs].filter((ms) => ms === 7777)).toHaveLength(3)
    expect(health.firstByteMs).toHaveLength(100)
    health.restarted()
    expect(health.firstByteMs).toHaveLength(0)
  })
})
