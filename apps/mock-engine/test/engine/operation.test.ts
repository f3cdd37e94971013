import { describe, expect, it } from 'vitest'
import type { ServedEngineOptions } from '../../src/engine/engine-options.js'
import { createServedEngine } from '../../src/engine/served-engine.js'
import type { Generation } from '../../src/engine/serving.js'
import { codeAfter } from '../support/codes.js'
import { noModel, run, served, tokens } from './support/served.js'

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('an engine in real time', () => {
  it('serves many at once', async () => {
    const engine = await served({ blocksPerRank: 2048, ranks: 2 })
    const outputs = tokens(100, 500)
    const heard = await Promise.all(
      Array.from({ length: 64 }, (_, at) =>
        run(engine, { promptTokens: tokens(30, at), outputTokens: outputs }),
      ),
    )
    const expected = ['admitted', ...Array.from(outputs, (_, index) => `${index}`), 'stop']
    for (const { log } of heard) expect(log).toEqual(expected)
    const facts = engine.facts()
    expect(facts.map(({ rank, generatedTokens }) => [rank, generatedTokens])).toEqual([
      [0, 3200],
      [1, 3200],
    ])
  })

  it('of passes that take no time lets others have their turn', async () => {
    const engine = await served({
      timing: { type: 'fixed', prefill_ms: 0, decode_ms: 0 },
      blocksPerRank: 2048,
    })
    let isOver = false
    let turns = 0
    const generation = run(engine, { outputTokens: tokens(5000) }).then(() => (isOver = true))
    for (; !isOver; turns++) await turn()
    await generation
    expect(turns).toBeGreaterThan(10)
  })

  it('gives a request to the rank that has the least to do', async () => {
    const engine = await served({ ranks: 3, maxRunning: 1 })
    engine.setHang(true)
    const generations: Generation[] = []
    const runs = [undefined, 1, undefined, undefined].map((rank) =>
      run(engine, { rank }, (one) => generations.push(one)),
    )
    expect(generations.map(({ rank }) => rank)).toEqual([0, 1, 2, 0])
    expect(engine.facts().map(({ waitingRequests }) => waitingRequests)).toEqual([2, 1, 1])
    engine.setHang(false)
    expect((await Promise.all(runs)).map(({ end }) => end)).toEqual(['stop', 'stop', 'stop', 'stop'])
  })
})

describe('faults', () => {
  it('an engine that hangs does nothing, not even give a request up, until it goes on', async () => {
    const engine = await served()
    engine.setHang(true)
    let log: readonly string[] = []
    const given: Generation[] = []
    const first = run(engine, {}, (generation, heard) => {
      given.push(generation)
      log = heard
    })
    const second = run(engine, { promptTokens: tokens(9, 3) })
    await pause(20)
    given[0]!.abort()
    await pause(20)
    expect(log).toEqual([])
    // Slowness does not wake it.
    engine.setSlowness(2)
    await pause(20)
    expect(log).toEqual([])
    engine.setHang(false)
    expect((await first).log).toEqual(['aborted'])
    expect((await second).end).toBe('stop')
  })

  it('in the middle of its passes, too', async () => {
    const engine = await served({ speedup: 5, blocksPerRank: 1024 })
    let heard = 0
    const generation = run(engine, {
      outputTokens: tokens(2000),
      onToken: (index) => {
        heard++
        if (index === 3) engine.setHang(true)
      },
    })
    while (heard < 4) await pause(5)
    // The passes that were due are over, too.
    const before = heard
    await pause(30)
    expect([heard, engine.facts()[0]!.runningRequests]).toEqual([before, 1])
    engine.setSlowness(1e-6)
    expect(heard).toBe(before)
    engine.setHang(false)
    expect((await generation).log).toHaveLength(2002)
  })

  it('what was due before it hangs has happened, however late the timer is', async () => {
    const timing = { type: 'fixed', prefill_ms: 1, decode_ms: 1 } as const
    const engine = await served({ speedup: 1, timing, blocksPerRank: 2048 })
    let heard = 0
    const generation = run(engine, { outputTokens: tokens(5000), onToken: () => heard++ })
    while (engine.facts()[0]!.runningRequests === 0) await turn()
    const [start, before] = [performance.now(), heard]
    while (performance.now() < start + 10);
    engine.setHang(true)
    expect(heard).toBeGreaterThanOrEqual(before + 9)
    engine.setHang(false)
    engine.setSlowness(1e-6)
    await generation
  })

  it('an engine that is slow is so for what runs, and no longer than it is told', async () => {
    const engine = await served({ speedup: 1 })
    engine.setSlowness(1e9)
    let isOver = false
    const generation = run(engine, {}).then((heard) => {
      isOver = true
      return heard
    })
    await pause(60)
    expect(isOver).toBe(false)
    engine.setSlowness(1e-6)
    expect((await generation).end).toBe('stop')
  })

  it.each([0, -1, Number.NaN, Infinity])('%d times slower is refused', async (factor) => {
    const engine = await served()
    expect(await codeAfter(() => engine.setSlowness(factor))).toBe('MOCK_ENGINE_OPTION_INVALID')
  })
})

describe('a restart', () => {
  it('ends what runs, forgets the cache, and counts from nothing', async () => {
    const engine = await served()
    await run(engine, {})
    engine.setHang(true)
    const running = run(engine, {})
    const before = engine.startedAtSeconds
    await pause(2)
    const restarted = engine.restart()
    const meanwhile = run(engine, {})
    await restarted
    engine.setHang(false)
    expect([(await running).log, (await meanwhile).log]).toEqual([['restarted'], ['restarted']])
    expect(engine.startedAtSeconds).toBeGreaterThan(before)
    expect(engine.facts()[0]).toMatchObject({ promptTokens: 0, prefixCacheQueriedTokens: 0 })
    expect((await run(engine, {})).cachedTokens).toBe(0)
  })

  it('may come with other facts, which the next one keeps', async () => {
    const engine = await served({ blocksPerRank: 64 })
    expect([engine.blockSize, engine.blocksPerRank, engine.maxModelTokens]).toEqual([4, 64, 256])
    await engine.restart({ blockSize: 5 })
    await engine.restart({ blocksPerRank: 10 })
    expect([engine.blockSize, engine.blocksPerRank, engine.maxModelTokens]).toEqual([5, 10, 50])
    await run(engine, {})
    expect((await run(engine, {})).cachedTokens).toBe(5)
    expect(engine.facts()[0]!.totalBlocks).toBe(10)
  })

  it('with facts that cannot be does not happen', async () => {
    const engine = await served()
    await run(engine, {})
    expect(await codeAfter(() => engine.restart({ blockSize: 1 }))).toBe('MOCK_ENGINE_OPTION_INVALID')
    expect((await run(engine, {})).cachedTokens).toBe(8)
  })

  it('again and again, and an end in between, come one after the other', async () => {
    const engine = await served({ events: { endpoint: 'tcp://127.0.0.1:0' } })
    await Promise.all([engine.restart(), engine.restart(), engine.close(), engine.restart(), engine.close()])
    await engine.restart()
    expect((await run(engine, {})).message).toBe('the engine is closed')
    expect(engine.resetPrefixCache()).toBe(false)
  })
})

it('the cache is emptied on demand, but not under a request', async () => {
  const engine = await served({ ranks: 2 })
  await run(engine, { rank: 1 })
  engine.setHang(true)
  const running = run(engine, { rank: 0 })
  expect(engine.resetPrefixCache()).toBe(false)
  engine.setHang(false)
  await running
  expect((await run(engine, { rank: 1 })).cachedTokens).toBe(8)
  expect(engine.resetPrefixCache()).toBe(true)
  for (const rank of [0, 1]) expect((await run(engine, { rank })).cachedTokens).toBe(0)
  expect(engine.facts()[1]!.promptTokens).toBe(30)
})

describe('options that cannot be', () => {
  it.each<Partial<ServedEngineOptions>>([
    { flavour: 'trtllm' as never },
    { ranks: 0 },
    { ranks: 1025 },
    { blockSize: 1 },
    { blockSize: 2.5 },
    { blocksPerRank: 0 },
    { maxRunning: 0 },
    { maxPassTokens: 0 },
    { maxModelTokens: 0 },
    { speedup: 0 },
    { speedup: Number.NaN },
    { timing: { type: 'fixed', prefill_ms: -1, decode_ms: 0 } },
  ])('%o', async (options) => {
    expect(await codeAfter(() => createServedEngine({ model: noModel, ...options }))).toBe(
      'MOCK_ENGINE_OPTION_INVALID',
    )
  })
})
