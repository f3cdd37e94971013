import fc from 'fast-check'
import type { EngineParameters } from '../../src/index.js'
import { type TimedRequest, keysOf } from './timeline.js'

/** Of every property. */
export const settings = { seed: 20_261_129, numRuns: 300 }

/** Small pools and budgets. */
export const parameters: fc.Arbitrary<EngineParameters> = fc.record({
  block_size: fc.constantFrom(2, 4, 16),
  num_gpu_blocks: fc.integer({ min: 2, max: 24 }),
  max_num_seqs: fc.constantFrom(1, 2, 8, null),
  max_num_batched_tokens: fc.constantFrom(1, 7, 16, 64, null),
  preemption_mode: fc.constantFrom('lifo', 'fifo'),
  enable_prefix_caching: fc.boolean(),
  enable_chunked_prefill: fc.boolean(),
  max_model_len: fc.constantFrom(null, null, 30),
})

/** Requests that share beginnings. */
export const workload = fc.array(
  fc.record({
    prompt: fc.array(fc.nat(1), { minLength: 1, maxLength: 40 }),
    outputTokens: fc.integer({ min: 0, max: 20 }),
    gapMs: fc.constantFrom(0, 0, 3, 40),
  }),
  { minLength: 1, maxLength: 12 },
)

/** The requests of a workload. */
export function requestsOf(
  drafts: readonly { prompt: number[]; outputTokens: number; gapMs: number }[],
  blockSize: number,
): TimedRequest[] {
  let atMs = 0
  return drafts.map(({ prompt, outputTokens, gapMs }) => ({
    atMs: (atMs += gapMs),
    promptTokens: prompt.length,
    outputTokens,
    blockKeys: keysOf(prompt, blockSize),
  }))
}

/** Name of the request that arrived so many after the first. */
export const letter = (index: number): string => String.fromCharCode(65 + index)
