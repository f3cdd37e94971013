import { describe, expect, test } from 'vitest'
import { PredictionCheck } from '../../src/proxy/prediction-check.js'
import type { RequestFacts } from '../../src/proxy/request-facts.js'

function facts(more: Partial<RequestFacts>): RequestFacts {
  return {
    requestId: 'r',
    path: '/v1/completions',
    ending: 'answered',
    status: 200,
    errorCode: undefined,
    wantsStream: true,
    model: 'm',
    workerId: 1n,
    dpRank: 0,
    exactness: 'exact',
    cause: undefined,
    wantsTokenizer: true,
    promptTokens: 320,
    isEstimated: false,
    predictedTokens: 160,
    blockSize: 16,
    usage: { promptTokens: 320, cachedTokens: 160, completionTokens: 1 },
    contentChunks: 1,
    firstByteMs: 1,
    totalMs: 2,
    attempts: 1,
    freshTries: 0,
    ignoredHints: [],
    ...more,
  }
}

function after(check: PredictionCheck, count: number, more: Partial<RequestFacts> = {}): string[] {
  for (let turn = 0; turn < count; turn++) check.add(facts(more))
  return check.causes().map(({ code }) => code)
}

const reused = (cachedTokens: number, promptTokens = 320) => ({ usage: { promptTokens, cachedTokens } })

describe('F5: predictions that do not come true', () => {
  test.each([
    ['hash_mismatch', { predictedTokens: 160, ...reused(0) }],
    ['index_blind', { predictedTokens: 0, ...reused(160) }],
    ['eviction_drift', { predictedTokens: 160, ...reused(60) }],
    ['eviction_drift', { predictedTokens: 100, ...reused(160) }],
    ['tokenizer_missing', { cause: 'tokenizer_missing', isEstimated: true }],
    ['tokenizer_mismatch', reused(160, 321)],
    ['tokenizer_slow', { cause: 'tokenizer_slow', isEstimated: true }],
  ] as const)('raise %s, and no longer once they do: %j', (code, more) => {
    const check = new PredictionCheck()
    expect(after(check, 19, more)).toEqual([])
    expect(after(check, 181, more)).toEqual([code])
    expect(after(check, 200)).toEqual([])
  })

  test('are judged by share: of 200, 20 without tokenizer and 2 miscounted are none too many', () => {
    const check = new PredictionCheck()
    after(check, 179)
    after(check, 20, { cause: 'tokenizer_missing', isEstimated: true })
    expect(after(check, 1, reused(160, 300))).toEqual([])
    expect(after(check, 1, reused(160, 300))).toEqual(['tokenizer_mismatch'])
    expect(after(check, 21, { cause: 'tokenizer_invalid', isEstimated: true })).toContain('tokenizer_missing')
  })

  test('of short prompts, of engines that report nothing and of requests that failed are not judged', () => {
    const check = new PredictionCheck()
    expect(after(check, 30, { usage: { promptTokens: 31, cachedTokens: 0 }, promptTokens: 31 })).toEqual([])
    expect(after(check, 30, { usage: { promptTokens: 320 } })).toEqual([])
    expect(after(check, 30, { ending: 'broken', ...reused(0) })).toEqual([])
    expect(check.sums()).toEqual([
      { workerId: 1n, model: 'm', promptTokens: 930, predictedTokens: 4800, reusedTokens: 0 },
    ])
  })

  test('are judged worker by worker; only so many are remembered', () => {
    const check = new PredictionCheck()
    for (let worker = 0n; worker < 5000n; worker++) check.add(facts({ workerId: worker }))
    expect(check.sums()).toHaveLength(4096)
    after(check, 30, { workerId: 6000n, ...reused(0) })
    after(check, 30, { workerId: 4998n })
    expect(check.causes()).toEqual([{ code: 'hash_mismatch', model: 'm', workerId: 6000n, requests: 30 }])
  })
})
