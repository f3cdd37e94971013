import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type ServedEngineOptions, servedEngineSettings } from '../../src/engine/engine-options.js'
import { RankEngine } from '../../src/engine/rank-engine.js'
import type { GenerationRequest } from '../../src/engine/serving.js'
import { VirtualClock } from '../../src/engine/virtual-clock.js'
import type { CacheEvent } from '../../src/events/cache-event.js'
import { noModel, tokens } from './support/served.js'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** One rank whose passes take 10 ms with a prompt in them and 2 without, in a time that the test sets. */
function ranked(options: Partial<ServedEngineOptions> = {}) {
  const real = { ms: 0 }
  const log: string[] = []
  const timing = { type: 'fixed', prefill_ms: 10, decode_ms: 2 } as const
  const settings = servedEngineSettings({
    model: noModel,
    blockSize: 4,
    blocksPerRank: 16,
    timing,
    ...options,
  })
  const clock = new VirtualClock(1, () => real.ms)
  const held = new Set<string>()
  const rank = new RankEngine(0, settings, clock, (events) => {
    log.push(`[${events.map((event) => eventText(event)).join(' ')}]`)
    for (const event of events) follow(held, event)
  })
  return {
    rank,
    held,
    log,
    submit: (name: string, request: Partial<GenerationRequest> = {}) =>
      rank.submit({
        promptTokens: tokens(10),
        outputTokens: tokens(3, 500),
        endsBy: 'stop',
        ...request,
        onAdmitted: (cachedTokens) => {
          log.push(`${name} runs ${cachedTokens}`)
          request.onAdmitted?.(cachedTokens)
        },
        onToken: (index) => {
          log.push(`${name}.${index}`)
          request.onToken?.(index)
        },
        onEnd: (end) => {
          log.push(`${name} ${end}`)
          request.onEnd?.(end)
        },
      }),
    at: (ms: number) => {
      real.ms = ms
      vi.runOnlyPendingTimers()
      return log.splice(0).join(' ')
    },
    /** Time passes, and no timer goes off. */
    wait: (ms: number) => {
      real.ms = ms
    },
    /** Turns until nothing is left to do. */
    finish: () => {
      for (real.ms += 1000; vi.getTimerCount() > 0; real.ms += 1000) vi.runOnlyPendingTimers()
      return log.splice(0).join(' ')
    },
  }
}

function eventText(event: CacheEvent): string {
  if (event.kind === 'stored') return `stored ${event.firstBlock}+${event.blockCount}`
  return event.kind
}

/** What a router believes after an event. Every event has to fit. */
function follow(held: Set<string>, event: CacheEvent): void {
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
  if (event.kind === 'cleared') held.clear()
  else if (event.kind === 'removed') expect(held.delete(hex(event.name))).toBe(true)
  else {
    const { names, firstBlock, blockCount } = event
    if (firstBlock > 0) expect(held.has(hex(names.digest(firstBlock - 1)))).toBe(true)
    for (let block = firstBlock; block < firstBlock + blockCount; block++) {
      expect(held.has(hex(names.digest(block)))).toBe(false)
      held.add(hex(names.digest(block)))
    }
  }
}

describe('what a pass did', () => {
  it('is told as events before tokens, in one batch', () => {
    const { submit, at } = ranked()
    submit('a')
    at(0)
    expect([at(10), at(12), at(14)]).toEqual(['a runs 0 [stored 0+2] a.0', 'a.1', '[stored 2+1] a.2 a stop'])
  })

  it('is told after passes without a token, too', () => {
    const { submit, at } = ranked({ maxPassTokens: 6 })
    submit('a', { promptTokens: tokens(16) })
    at(0)
    expect([at(10), at(20), at(30)]).toEqual(['a runs 0 [stored 0+1]', '[stored 1+2]', '[stored 3+1] a.0'])
  })

  it('is one event for each request', () => {
    const { submit, at } = ranked()
    submit('a')
    submit('b', { promptTokens: tokens(9, 7) })
    at(0)
    expect(at(10)).toBe('a runs 0 b runs 0 [stored 0+2 stored 0+2] a.0 b.0')
  })

  it('fits what was told before, and never more than the pool is held', () => {
    const { submit, finish, held, rank } = ranked()
    for (let round = 0; round < 40; round++) {
      const [prompt, output] = [tokens(8 + (round % 5) * 4, round % 7), tokens((round * 5) % 11, round)]
      submit(`${round}`, {
        promptTokens: prompt,
        outputTokens: output,
        cacheSalt: round % 3 === 0 ? 's' : undefined,
      })
      if (round % 3 === 2) finish()
      expect(held.size).toBeLessThanOrEqual(16)
      expect(rank.cachedBlocks).toBe(held.size)
    }
    finish()
    expect(held.size).toBeGreaterThan(8)
    expect(rank.facts()).toMatchObject({ usedBlocks: 0, runningRequests: 0, waitingRequests: 0 })
    expect(rank.isBusy).toBe(false)
    rank.resetPrefixCache()
    expect([held.size, rank.cachedBlocks]).toEqual([0, 0])
  })
})

it('a request that comes before a late timer is not served by passes that are over', () => {
  const { submit, at, wait } = ranked()
  submit('a', { outputTokens: tokens(1) })
  at(0)
  wait(15)
  submit('b', { outputTokens: tokens(1) })
  expect([at(15), at(24), at(25)]).toEqual(['a runs 0 [stored 0+2] a.0 a stop', '', 'b runs 8 b.0 b stop'])
})

describe('a request that is given up', () => {
  it('frees its blocks when the pass is over, and hears of nothing but its end', () => {
    const { submit, at, rank } = ranked()
    const generation = submit('a')
    at(0)
    expect(rank.facts()).toMatchObject({ runningRequests: 1, usedBlocks: 3 })
    expect([generation.abort(), generation.abort()]).toEqual([true, false])
    expect(at(9)).toBe('')
    expect(at(10)).toBe('a runs 0 [stored 0+2] a aborted')
    expect(rank.facts()).toMatchObject({ runningRequests: 0, usedBlocks: 0 })
    generation.abort()
    expect([at(100), vi.getTimerCount()]).toEqual(['', 0])
  })

  it('in the middle of its output', () => {
    const { submit, at } = ranked()
    const generation = submit('a', { onToken: (index) => index === 1 && generation.abort() })
    at(0)
    expect([at(10), at(12), at(14)]).toEqual(['a runs 0 [stored 0+2] a.0', 'a.1 a aborted', ''])
  })

  it('before it was seen, while it waits, and without hurting who has its number next', () => {
    const { submit, at } = ranked({ maxRunning: 1 })
    const first = submit('a')
    expect(first.abort()).toBe(false)
    expect(at(0)).toBe('a aborted')
    submit('b', { outputTokens: tokens(1) })
    const waiting = submit('c')
    at(0)
    expect([first.abort(), waiting.abort()]).toEqual([false, false])
    expect(at(10)).toBe('b runs 0 [stored 0+2] c aborted b.0 b stop')
  })
})

describe('callbacks', () => {
  it('that throw disturb nobody', () => {
    const { submit, at } = ranked()
    const fail = (): never => {
      throw new Error('of the client')
    }
    submit('a', { onAdmitted: fail, onToken: fail, onEnd: fail, outputTokens: tokens(1) })
    submit('b', { outputTokens: tokens(2) })
    at(0)
    expect(at(10)).toBe('a runs 0 b runs 8 [stored 0+2] a.0 a stop b.0')
    // What they threw is for whoever looks after uncaught errors.
    expect(() => at(11)).toThrow('of the client')
    expect(at(12)).toBe('b.1 b stop')
  })

  it('may ask for more at once', () => {
    const { submit, at } = ranked()
    submit('a', { outputTokens: tokens(1), onEnd: () => submit('b', { outputTokens: tokens(1) }) })
    at(0)
    expect([at(10), vi.getTimerCount()]).toEqual(['a runs 0 [stored 0+2] a.0 a stop', 1])
    expect([at(20), vi.getTimerCount()]).toEqual(['b runs 8 b.0 b stop', 0])
  })

  it('may close the rank in the middle of a pass', () => {
    const { rank, submit, at } = ranked()
    submit('a', { onToken: () => rank.close() })
    submit('b')
    at(0)
    expect(at(10)).toBe('a runs 0 b runs 8 [stored 0+2] a.0 a restarted b restarted')
    expect([at(1000), vi.getTimerCount()]).toEqual(['', 0])
  })
})

it('counts as vLLM does: a request once in the cache statistics, however often it starts anew', () => {
  const { rank, submit, finish } = ranked({ blocksPerRank: 5 })
  submit('a', { promptTokens: tokens(8), outputTokens: tokens(6) })
  submit('b', { promptTokens: tokens(8, 3), outputTokens: tokens(6) })
  finish()
  expect(rank.facts()).toMatchObject({
    preemptions: 1,
    prefixCacheQueriedTokens: 16,
    prefixCacheHitTokens: 0,
    promptTokens: 16,
    generatedTokens: 12,
  })
  rank.resetPrefixCache()
  expect(rank.facts()).toMatchObject({ preemptions: 1, promptTokens: 16 })
})
