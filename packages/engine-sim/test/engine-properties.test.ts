import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { EngineParameters } from '../src/index.js'
import { type TimedRequest, type Told, keysOf, play } from './support/timeline.js'

const settings = { seed: 20_261_129, numRuns: 300 }

const parameters: fc.Arbitrary<EngineParameters> = fc.record({
  block_size: fc.constantFrom(2, 4, 16),
  num_gpu_blocks: fc.integer({ min: 2, max: 24 }),
  max_num_seqs: fc.constantFrom(1, 2, 8, null),
  max_num_batched_tokens: fc.constantFrom(1, 7, 16, 64, null),
  preemption_mode: fc.constantFrom('lifo', 'fifo'),
  enable_prefix_caching: fc.boolean(),
  max_model_len: fc.constantFrom(null, null, 30),
})

const workload = fc.array(
  fc.record({
    prompt: fc.array(fc.nat(1), { minLength: 1, maxLength: 40 }),
    outputTokens: fc.integer({ min: 0, max: 20 }),
    gapMs: fc.constantFrom(0, 0, 3, 40),
  }),
  { minLength: 1, maxLength: 12 },
)

function requestsOf(
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

const letter = (index: number): string => String.fromCharCode(65 + index)

describe('any workload', () => {
  it('conserves blocks, and tells of each block stored and removed in turn', () => {
    fc.assert(
      fc.property(parameters, workload, (engine, drafts) => {
        const cached = new Set<string>()
        const told = play(engine, requestsOf(drafts, engine.block_size!), (state) => {
          expect(state.activeBlocks + state.inactiveBlocks).toBeLessThanOrEqual(engine.num_gpu_blocks!)
          if (state.runningRequests > 0) return
          expect(state.activeBlocks).toBe(0)
          // What nobody waits for has a number only as long as it is cached.
          if (state.waitingRequests === 0) expect(state.namedBlocks).toBeLessThanOrEqual(state.inactiveBlocks)
        })
        for (const event of told.flatMap(({ events }) => events)) {
          const [what, block = ''] = event.split(' ')
          if (what === 'stored') expect(cached.size).toBeLessThan(cached.add(block).size + 1)
          if (what === 'removed') expect(cached.delete(block)).toBe(true)
        }
        expect(cached.size).toBeLessThanOrEqual(engine.num_gpu_blocks!)
      }),
      settings,
    )
  })

  it('starves nobody: each request ends once, with all its tokens unless it cannot have them', () => {
    let preemptions = 0
    fc.assert(
      fc.property(parameters, workload, (engine, drafts) => {
        const requests = requestsOf(drafts, engine.block_size!)
        const events = play(engine, requests).flatMap((pass) => pass.events)
        preemptions += events.filter((event) => event.startsWith('preempted')).length
        const capacity = engine.num_gpu_blocks! * engine.block_size!
        const limit = engine.max_model_len ?? Infinity
        for (const [index, { promptTokens, outputTokens }] of requests.entries()) {
          const ends = events.filter((event) => event.startsWith(`ended ${letter(index)} `))
          expect(ends).toHaveLength(1)
          const tokens = events.filter((event) => event.startsWith(`token ${letter(index)}`))
          expect(tokens).toEqual(tokens.map((_, ordinal) => `token ${letter(index)}${ordinal + 1}`))
          const wanted = Math.min(outputTokens, limit - promptTokens)
          // The last token takes no place.
          if (promptTokens > capacity) expect(ends[0]).toMatch(/prompt_exceeds_pool/)
          else if (promptTokens >= limit) expect(ends[0]).toMatch(/prompt_exceeds_model_len/)
          else if (promptTokens + wanted - 1 > capacity) expect(ends[0]).toMatch(/outputs_exceed_pool/)
          else expect([ends[0], tokens.length]).toEqual([`ended ${letter(index)} completed`, wanted])
        }
      }),
      settings,
    )
    expect(preemptions).toBeGreaterThan(100)
  })

  it('has one timeline', () => {
    fc.assert(
      fc.property(parameters, workload, (engine, drafts) => {
        const run = (): Told[] => play(engine, requestsOf(drafts, engine.block_size!))
        const first = run()
        expect(run()).toEqual(first)
        for (const [index, { endMs }] of first.entries())
          expect(endMs).toBeGreaterThanOrEqual(first[index - 1]?.endMs ?? 0)
      }),
      { ...settings, numRuns: 100 },
    )
  })
})
