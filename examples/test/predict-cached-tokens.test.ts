import { expect, test } from 'vitest'
import { main } from '../predict-cached-tokens.js'

test('predict-cached-tokens.ts says exactly what the engine finds in its cache, in both flavours', async () => {
  const lines: string[] = []
  const turns = await main((line) => lines.push(line))
  expect(turns.map(({ flavour }) => flavour)).toEqual(['vllm', 'vllm', 'vllm', 'sglang', 'sglang', 'sglang'])
  expect(lines).toHaveLength(6)
  for (const [at, { promptTokens, predictedTokens, cachedTokens }] of turns.entries()) {
    expect(predictedTokens).toBe(cachedTokens)
    // A first turn finds nothing, a later one the blocks of the turn before, its answer included but for the last token.
    const before = at % 3 === 0 ? undefined : turns[at - 1]!
    const computed = before === undefined ? 0 : before.promptTokens + before.outputTokens - 1
    expect(cachedTokens).toBe(16 * Math.floor(computed / 16))
    expect(cachedTokens).toBeLessThan(promptTokens)
  }
})
