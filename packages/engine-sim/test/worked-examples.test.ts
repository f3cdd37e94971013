import { describe, expect, it } from 'vitest'
import { type Told, keys, play } from './support/timeline.js'

const times = (told: readonly Told[]): number[] => told.map(({ endMs }) => Number(endMs.toFixed(6)))
const about = (told: readonly Told[], what: RegExp): string[][] =>
  told.map(({ events }) => events.filter((event) => what.test(event)))

describe('P2: the worked examples', () => {
  it('two prompts in a pass, a chunk, a hit inside a pass', () => {
    const told = play({ block_size: 4, num_gpu_blocks: 12, max_num_seqs: 4, max_num_batched_tokens: 16 }, [
      { atMs: 0, promptTokens: 10, outputTokens: 3, blockKeys: keys(1, 2) },
      { atMs: 0, promptTokens: 18, outputTokens: 2, blockKeys: keys(11, 12, 13, 14) },
      { atMs: 0, promptTokens: 10, outputTokens: 2, blockKeys: keys(1, 2) },
    ])
    expect(times(told)).toEqual([16.744463, 50.224029, 83.515591])
    expect(about(told, /admitted|token|ended/)).toEqual([
      ['admitted A 0', 'admitted B 0', 'token A1'],
      ['admitted C 8', 'token A2', 'token B1', 'token C1'],
      ['token A3', 'ended A completed', 'token B2', 'ended B completed', 'token C2', 'ended C completed'],
    ])
  })

  it('preemption of the last running request, and its return with the outputs it had', () => {
    let prefillTokens = 0
    const told = play(
      { block_size: 4, num_gpu_blocks: 5, max_num_batched_tokens: 16 },
      [
        { atMs: 0, promptTokens: 8, outputTokens: 6, blockKeys: keys(1, 2) },
        { atMs: 0, promptTokens: 8, outputTokens: 6, blockKeys: keys(11, 12) },
      ],
      { atPassEnd: (engine) => (prefillTokens = engine.committedPrefillTokens) },
    )
    // The whole chunk counts, the kept output in it too.
    expect(prefillTokens).toBe(21)
    expect(times(told)).toEqual([
      16.744463, 41.576613, 67.886613, 95.545763, 124.425363, 154.396713, 195.791023, 222.101023, 249.760173,
      278.639773, 308.611123,
    ])
    expect(told[1]!.events).toEqual(['preempted B', 'token A2'])
    // Its fourth block evicts the second one of B, the suffix: number 3.
    expect(told[5]!.events).toContain('removed 3')
    expect(told[6]!.events).toContain('readmitted B 4')
    expect(about(told, /token B/).flat()).toEqual([
      'token B1',
      'token B2',
      'token B3',
      'token B4',
      'token B5',
      'token B6',
    ])
  })

  it('a full hit recomputes its last block into a copy of which nobody is told', () => {
    const told = play({ block_size: 4, num_gpu_blocks: 8 }, [
      { atMs: 0, promptTokens: 8, outputTokens: 1, blockKeys: keys(1, 2) },
      { atMs: 100, promptTokens: 8, outputTokens: 1, blockKeys: keys(1, 2) },
    ])
    expect(times(told)).toEqual([16.622914, 116.56216])
    expect(told[0]!.events).toEqual([
      'admitted A 0',
      'stored 0 A0',
      'stored 1 A1',
      'token A1',
      'ended A completed',
    ])
    expect(told[1]!.events).toEqual(['admitted B 4', 'token B1', 'ended B completed'])
  })
})

describe('rules of the scheduler', () => {
  it('FIFO: per victim before the current request one later request is skipped in the pass', () => {
    const told = play({ block_size: 4, num_gpu_blocks: 7, preemption_mode: 'fifo' }, [
      { atMs: 0, promptTokens: 7, outputTokens: 4 },
      { atMs: 0, promptTokens: 8, outputTokens: 4 },
      { atMs: 0, promptTokens: 7, outputTokens: 4 },
      { atMs: 0, promptTokens: 3, outputTokens: 4 },
    ])
    // B needs a block and A goes for it; C, now in the place of B, is passed over, D is not.
    expect(about(told, /preempted|token/)[1]).toEqual(['preempted A', 'token B2', 'token D2'])
  })

  it('a pass in which the only request that fits gives way to itself takes no time', () => {
    const told = play({ block_size: 4, num_gpu_blocks: 4, preemption_mode: 'fifo' }, [
      { atMs: 0, promptTokens: 8, outputTokens: 2 },
      { atMs: 0, promptTokens: 7, outputTokens: 1 },
      { atMs: 0, promptTokens: 7, outputTokens: 1 },
    ])
    expect(about(told, /ended/).flat()).toHaveLength(3)
  })

  it('who gave way goes first, and nobody overtakes', () => {
    const told = play({ block_size: 4, num_gpu_blocks: 5, max_num_seqs: 2 }, [
      { atMs: 0, promptTokens: 8, outputTokens: 6 },
      { atMs: 0, promptTokens: 8, outputTokens: 6 },
      { atMs: 0, promptTokens: 3, outputTokens: 1 },
    ])
    const admissions = about(told, /admitted/).flat()
    expect(admissions).toEqual(['admitted A 0', 'admitted B 0', 'readmitted B 4', 'admitted C 0'])
  })

  it('without chunking a prompt waits for a pass that has room for the rest of it', () => {
    const requests = [5, 6].map((promptTokens) => ({ atMs: 0, promptTokens, outputTokens: 1 }))
    const tokens = (chunks: boolean): string[][] =>
      about(play({ max_num_batched_tokens: 10, enable_chunked_prefill: chunks }, requests), /admitted/)
    expect(tokens(true)).toEqual([['admitted A 0', 'admitted B 0'], []])
    expect(tokens(false)).toEqual([['admitted A 0'], ['admitted B 0']])
  })

  it('without chunking a prompt that fits into no pass fails once nobody runs, unless the cache holds enough of it', () => {
    const parameters = { block_size: 4, max_num_batched_tokens: 10, enable_chunked_prefill: false }
    const told = play(parameters, [
      { atMs: 0, promptTokens: 8, outputTokens: 3, blockKeys: keys(1, 2) },
      { atMs: 0, promptTokens: 18, outputTokens: 1, blockKeys: keys(1, 2, 3, 4) },
      { atMs: 0, promptTokens: 11, outputTokens: 1, blockKeys: keys(11, 12) },
      { atMs: 0, promptTokens: 5, outputTokens: 1 },
    ])
    expect(about(told, /admitted|ended/)).toEqual([
      ['admitted A 0'],
      [],
      ['ended A completed'],
      ['admitted B 8', 'ended B completed'],
      ['admitted D 0', 'ended D completed', 'ended C prompt_exceeds_pass'],
    ])
  })

  it('rejections go on with the next request and are told last', () => {
    const told = play({ block_size: 4, num_gpu_blocks: 8, max_model_len: 30 }, [
      { atMs: 0, promptTokens: 33, outputTokens: 1 },
      { atMs: 0, promptTokens: 30, outputTokens: 1 },
      { atMs: 0, promptTokens: 29, outputTokens: 5 },
    ])
    expect(told).toHaveLength(1)
    expect(told[0]!.events.slice(-4)).toEqual([
      'token C1',
      'ended C completed',
      'ended A prompt_exceeds_pool',
      'ended B prompt_exceeds_model_len',
    ])
  })

  it('a rejection alone is a pass without time', () => {
    const told = play({ block_size: 4, num_gpu_blocks: 8 }, [{ atMs: 5, promptTokens: 33, outputTokens: 1 }])
    expect(told).toEqual([{ endMs: 5, events: ['ended A prompt_exceeds_pool'] }])
  })

  it('without outputs a request ends before all tokens, and a full hit costs nothing', () => {
    const told = play({ block_size: 4, num_gpu_blocks: 9 }, [
      { atMs: 0, promptTokens: 8, outputTokens: 1, blockKeys: keys(1, 2) },
      { atMs: 0, promptTokens: 8, outputTokens: 0, blockKeys: keys(3, 4) },
      { atMs: 100, promptTokens: 8, outputTokens: 0, blockKeys: keys(1, 2) },
    ])
    expect(told[0]!.events.slice(-3)).toEqual(['ended B completed', 'token A1', 'ended A completed'])
    expect(told[1]).toEqual({ endMs: 100, events: ['admitted C 8', 'ended C completed'] })
  })

  it('outputs that outgrow the pool end their request, and the others go on', () => {
    const told = play({ block_size: 4, num_gpu_blocks: 4 }, [
      { atMs: 0, promptTokens: 8, outputTokens: 100 },
      { atMs: 0, promptTokens: 3, outputTokens: 2 },
    ])
    expect(about(told, /ended/).flat()).toEqual(['ended B completed', 'ended A outputs_exceed_pool'])
    expect(about(told, /token A/).flat()).toHaveLength(9)
  })

  it('outputs whose blocks are named are found by the next turn', () => {
    const told = play({ block_size: 4 }, [
      { atMs: 0, promptTokens: 6, outputTokens: 7, blockKeys: keys(1, 2, 3) },
      { atMs: 1000, promptTokens: 16, outputTokens: 1, blockKeys: keys(1, 2, 3, 4) },
    ])
    // Of 13 tokens the last has no place: three blocks are full.
    expect(about(told, /admitted B/).flat()).toEqual(['admitted B 12'])
  })
})
