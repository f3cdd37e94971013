import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { VllmEngine } from '../src/index.js'
import { letter, parameters, requestsOf, settings, workload } from './support/arbitrary.js'
import { type Told, play } from './support/timeline.js'

describe('any workload', () => {
  it('conserves blocks, and tells of each block stored and removed in turn', () => {
    fc.assert(
      fc.property(parameters, workload, (engine, drafts) => {
        const cached = new Set<string>()
        const atPassEnd = (state: VllmEngine, events: readonly string[]): void => {
          for (const event of events) {
            const [what, block = ''] = event.split(' ')
            if (what !== 'stored' && what !== 'removed') continue
            expect(cached.has(block)).toBe(what === 'removed')
            if (what === 'stored') cached.add(block)
            else cached.delete(block)
          }
          const inUse = state.activeBlocks + state.inactiveBlocks
          expect(inUse).toBeLessThanOrEqual(engine.num_gpu_blocks!)
          expect(cached.size).toBeLessThanOrEqual(engine.enable_prefix_caching! ? inUse : 0)
          if (state.runningRequests > 0) return
          expect(state.activeBlocks).toBe(0)
          // What nobody waits for has a number only as long as it is cached.
          if (state.waitingRequests === 0) expect(state.namedBlocks).toBe(cached.size)
        }
        play(engine, requestsOf(drafts, engine.block_size!), { atPassEnd })
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
          const isOnePass =
            engine.enable_chunked_prefill! || promptTokens <= (engine.max_num_batched_tokens ?? Infinity)
          const wanted = Math.min(outputTokens, limit - promptTokens)
          // The last token takes no place.
          if (promptTokens > capacity) expect(ends[0]).toMatch(/prompt_exceeds_pool/)
          else if (promptTokens >= limit) expect(ends[0]).toMatch(/prompt_exceeds_model_len/)
          // What the cache holds of it may make it fit.
          else if (!isOnePass && tokens.length === 0 && !/completed/.test(ends[0]!))
            expect(ends[0]).toMatch(/prompt_exceeds_pass/)
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
