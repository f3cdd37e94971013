import { describe, expect, it } from 'vitest'
import type { GenerationRequest } from '../../src/engine/serving.js'
import { run, served, tokens } from './support/served.js'

describe('a generation', () => {
  it('gives its tokens in order, then its end', async () => {
    const engine = await served()
    expect(await run(engine, {})).toEqual({
      log: ['admitted', '0', '1', '2', 'stop'],
      cachedTokens: 0,
      end: 'stop',
      message: undefined,
    })
    expect((await run(engine, { endsBy: 'length' })).end).toBe('length')
  })

  it('without outputs only fills the cache', async () => {
    const engine = await served()
    expect((await run(engine, { outputTokens: tokens(0) })).log).toEqual(['admitted', 'stop'])
    expect((await run(engine, {})).cachedTokens).toBe(8)
    expect(engine.facts()[0]).toMatchObject({ promptTokens: 20, generatedTokens: 3 })
  })

  it('of a second turn finds the prompt and the outputs of the first in the cache, to the token', async () => {
    const engine = await served()
    const [prompt, answer] = [tokens(10), tokens(7, 500)]
    await run(engine, { promptTokens: prompt, outputTokens: answer })
    const next = Uint32Array.from([...prompt, ...answer, ...tokens(9, 900)])
    // 10 + 7 tokens, the last one never computed: four blocks of four.
    expect((await run(engine, { promptTokens: next })).cachedTokens).toBe(16)
    expect((await run(engine, { promptTokens: next })).cachedTokens).toBe(24)
    expect(engine.facts()[0]).toMatchObject({
      prefixCacheQueriedTokens: 10 + 26 + 26,
      prefixCacheHitTokens: 16 + 24,
      promptTokens: 62,
      generatedTokens: 13,
    })
  })

  it.each([
    ['another adapter', { loraName: 'b' }],
    ['no adapter', { loraName: undefined }],
    ['another salt', { cacheSalt: 't' }],
    ['no salt', { cacheSalt: '' }],
    ['another image', { media: [{ identifier: 'y', start: 2, end: 4 }] }],
    ['the same image elsewhere', { media: [{ identifier: 'x', start: 1, end: 3 }] }],
    ['no image', { media: [] }],
  ])('shares no block with one of %s', async (_name, other) => {
    const engine = await served()
    const first = { loraName: 'a', cacheSalt: 's', media: [{ identifier: 'x', start: 2, end: 4 }] }
    await run(engine, first)
    expect((await run(engine, { ...first, ...other })).cachedTokens).toBe(0)
    expect((await run(engine, first)).cachedTokens).toBe(8)
  })

  it('shares the blocks before an image that it has alone', async () => {
    const engine = await served()
    await run(engine, { promptTokens: tokens(14) })
    const media = [{ identifier: 'x', start: 9, end: 10 }]
    expect((await run(engine, { promptTokens: tokens(14), media })).cachedTokens).toBe(8)
  })
})

it('an engine without a prefix cache finds nothing, and counts no queries', async () => {
  const engine = await served({ cachesPrefixes: false })
  await run(engine, {})
  expect((await run(engine, {})).cachedTokens).toBe(0)
  expect(engine.facts()[0]).toMatchObject({ prefixCacheQueriedTokens: 0, promptTokens: 20 })
})

describe('a request that cannot be', () => {
  it.each<[string, Partial<GenerationRequest>, RegExp, number?]>([
    ['no prompt', { promptTokens: tokens(0) }, /no tokens/],
    ['no such rank', { rank: 2 }, /rank 2 .* 0 to 1/],
    ['a negative rank', { rank: -1 }, /rank -1/],
    ['as long as the model allows', { promptTokens: tokens(40) }, /maximum model length/],
    ['more than the pool', { promptTokens: tokens(41) }, /whole KV cache/],
    ['outputs that outgrow the pool', { promptTokens: tokens(38), outputTokens: tokens(5) }, /together/, 64],
  ])('%s', async (_name, request, message, maxModelTokens = 40) => {
    const engine = await served({ ranks: 2, blocksPerRank: 10, maxModelTokens })
    const heard = await run(engine, request)
    expect([heard.end, heard.log.at(-1)]).toEqual(['rejected', 'rejected'])
    expect(heard.message).toMatch(message)
  })

  it('is longer than a pass, without chunked prefill', async () => {
    const engine = await served({ chunksPrefill: false, maxPassTokens: 12 })
    expect((await run(engine, { promptTokens: tokens(12) })).end).toBe('stop')
    expect(await run(engine, { promptTokens: tokens(13, 5) })).toMatchObject({
      end: 'rejected',
      message: expect.stringContaining('without chunked prefill'),
    })
  })

  it('is cut where the context of the model is full', async () => {
    const engine = await served({ maxModelTokens: 12 })
    expect((await run(engine, {})).log).toEqual(['admitted', '0', '1', 'length'])
  })

  it('hears it when the engine is closed', async () => {
    const engine = await served()
    await engine.close()
    expect(await run(engine, {})).toMatchObject({ end: 'restarted', message: 'the engine is closed' })
  })
})
