import { describe, expect, test } from 'vitest'
import { Arrivals } from '../src/runner/rust-replay-arrivals.js'
import { replay } from '../src/runner/rust-replay-loop.js'
import { kernels } from '../src/runner/selectors.js'
import type { RustReplayLine } from '../src/shapes/rust-replay.js'

describe('what the carried lines of rust-replay leave out', () => {
  const line = (rows: readonly object[], more: object = {}): RustReplayLine =>
    ({
      topology: 'aggregated',
      workers: 1,
      engine: { block_size: 4, num_gpu_blocks: 64, speedup_ratio: 0 },
      router: { mode: 'round_robin' },
      trace: { format: 'mooncake', blockSize: 4, rows },
      ...more,
    }) as unknown as RustReplayLine
  const row = (more: object): object => ({ input_length: 8, output_length: 1, hash_ids: [1, 2], ...more })

  test('turns of a session come after the turn before, and the speed-up divides times and delays', () => {
    const rows = [
      row({ timestamp: 100, session_id: 's' }),
      row({ timestamp: 120, session_id: 's', hash_ids: [5, 6] }),
      row({ timestamp: 140 }),
      row({ session_id: 's', delay: 8 }),
    ]
    const arrivals = new Arrivals(line(rows, { arrivalSpeedupRatio: 4 }))
    expect([arrivals.nextMs, arrivals.take(), arrivals.nextMs, arrivals.take()]).toEqual([0, 0, 10, 2])
    arrivals.ended(0, 50, false)
    expect([arrivals.nextMs, arrivals.take()]).toEqual([55, 1])
    arrivals.ended(1, 60, false)
    expect([arrivals.nextMs, arrivals.take(), arrivals.nextMs]).toEqual([62, 3, Infinity])
    const failed = new Arrivals(line(rows))
    expect([failed.take(), failed.take()]).toEqual([0, 2])
    failed.ended(0, 50, true)
    expect(failed.nextMs).toBe(Infinity)
  })

  test('the closed loop keeps so many in flight, and a session its place', () => {
    const rows = [
      row({ timestamp: 900, session_id: 's' }),
      row({ session_id: 's', delay: 8 }),
      row({ timestamp: 7 }),
      row({ timestamp: 8 }),
    ]
    const arrivals = new Arrivals(line(rows, { concurrency: 2 }))
    expect([arrivals.nextMs, arrivals.take(), arrivals.take(), arrivals.nextMs]).toEqual([0, 0, 2, Infinity])
    arrivals.ended(0, 50, false)
    expect([arrivals.nextMs, arrivals.take(), arrivals.nextMs]).toEqual([58, 1, Infinity])
    arrivals.ended(1, 60, false)
    expect([arrivals.nextMs, arrivals.take(), arrivals.nextMs]).toEqual([60, 3, Infinity])
  })

  test('a row without a time takes nothing from the gap of the next', () => {
    const rows = [
      row({ timestamp: 100, session_id: 's' }),
      row({ session_id: 's' }),
      row({ timestamp: 140, session_id: 's' }),
    ]
    const arrivals = new Arrivals(line(rows))
    arrivals.take()
    arrivals.ended(0, 50, false)
    expect([arrivals.nextMs, arrivals.take()]).toEqual([50, 1])
    arrivals.ended(1, 60, false)
    expect(arrivals.nextMs).toBe(100)
  })

  const kernel = kernels[0]!
  const kv = (config: object): object => ({ router: { mode: 'kv_router', config, tieSeed: 7n } })
  const overlaps = (rows: readonly object[], more: object = {}): unknown[] =>
    replay(line(rows, { ...kv({}), ...more }), kernel).rows.map(({ bestOverlapBlocks: blocks }) => blocks)

  test('the router learns of the cache at the end of a pass, and late when events are', () => {
    const rows = [0, 10, 20, 100].map((timestamp) => row({ timestamp }))
    expect(overlaps(rows)).toEqual([0, 0, 2, 2])
    expect(overlaps(rows, { kvEventLagMs: 50 })).toEqual([0, 0, 0, 2])
    expect(overlaps(rows, { kvEventLagMs: 500 })).toEqual([0, 0, 0, 0])
    expect(overlaps(rows, { router: { mode: 'round_robin' } })).toEqual([null, null, null, null])
  })

  test('outputs that are given are found by the next turn, others are nobody else\u2019s', () => {
    const turn = { input_length: 16, hash_ids: [1, 2, 3, 3], timestamp: 500 }
    const first = row({ timestamp: 0, output_length: 9 })
    const given = { ...first, output_token_ids: Array.from({ length: 9 }, () => 3) }
    expect(overlaps([given, row(turn), { ...given, timestamp: 900 }])).toEqual([0, 4, 2])
    expect(overlaps([first, row(turn)])).toEqual([0, 2])
    const hits = replay(line([given, row(turn)], kv({})), kernel).rows.map(
      ({ admissions }) => admissions[0]![2],
    )
    // All but one token.
    expect(hits).toEqual([0, 12])
  })

  /** Rows in the order in which they left the queue; the first keeps the only worker busy. */
  const released = (rows: readonly object[], config: object): number[] =>
    replay(
      line(
        [row({ timestamp: 0, hash_ids: [90, 91] }), ...rows],
        kv({ router_queue_threshold: 0, ...config }),
      ),
      kernel,
    )
      .rows.filter(({ queuedAtMs }) => queuedAtMs !== null)
      .toSorted((a, b) => a.releasedAtMs! - b.releasedAtMs!)
      .map(({ row: place }) => place)

  test.each<[string, object, readonly number[]]>([
    ['by default by arrival; a priority is a head start in seconds', {}, [4, 3, 1, 2, 5]],
    ['lcfs: the latest first', { router_queue_policy: 'lcfs' }, [4, 3, 5, 2, 1]],
    ['wspt: the least work first', { router_queue_policy: 'wspt' }, [4, 2, 3, 1, 5]],
  ])('the queue, %s', (_name, config, order) => {
    const rows = [
      row({ timestamp: 1, input_length: 12, hash_ids: [1, 2, 3] }),
      row({ timestamp: 2, input_length: 4, hash_ids: [9] }),
      row({ timestamp: 3, priority: 1, hash_ids: [11, 12] }),
      row({ timestamp: 4, strict_priority: 1, priority: -5, hash_ids: [21, 22] }),
      row({ timestamp: 5, input_length: 12, hash_ids: [31, 32, 33], priority: -1 }),
    ]
    expect(released(rows, config)).toEqual(order)
  })

  test('without a budget of tokens the threshold is a part of ten millions', () => {
    const rows = [0, 1].map((timestamp) => row({ timestamp, hash_ids: [timestamp, 5] }))
    const queued = (threshold: number): boolean[] =>
      replay(
        line(rows, {
          ...kv({ router_queue_threshold: threshold }),
          engine: { block_size: 4, max_num_batched_tokens: null },
        }),
        kernel,
      ).rows.map(({ queuedAtMs }) => queuedAtMs !== null)
    expect([queued(0), queued(7e-7), queued(8e-7)]).toEqual([
      [false, true],
      [false, true],
      [false, false],
    ])
  })

  test('a queued request goes by the overlap of its arrival and the loads of its release', () => {
    const rows = [
      row({ timestamp: 0, output_length: 2 }),
      row({ timestamp: 1, hash_ids: [11, 12], output_length: 80 }),
      // Arrives when nobody is known to hold anything; both workers are busy.
      row({ timestamp: 2, output_length: 2 }),
    ]
    const { rows: runs } = replay(line(rows, { workers: 2, ...kv({ router_queue_threshold: 0 }) }), kernel)
    const [first, second, third] = runs
    expect([first!.worker + second!.worker, third!.selectedOverlapBlocks, third!.bestOverlapBlocks]).toEqual([
      1, 0, 0,
    ])
    expect([third!.queuedAtMs, third!.releasedAtMs]).toEqual([2, first!.tokenMs[0]])
    expect(third!.worker).toBe(first!.worker)
  })

  test('a first token that is the last frees all at once, before the queue is asked', () => {
    // With its prefill gone alone it would still count its blocks, more than the other worker has.
    const rows = [
      row({ timestamp: 0 }),
      row({ timestamp: 1, hash_ids: [11], input_length: 4, output_length: 80 }),
      row({ timestamp: 2, hash_ids: [21, 22] }),
    ]
    const config = { router_queue_threshold: 0, prefill_load_scale: 0, decode_active_request_weight: 0 }
    const run = (more: object): number[] =>
      replay(line(rows, { workers: 2, ...kv({ ...config, ...more }) }), kernel).rows.map(
        ({ worker }) => worker,
      )
    const [first, , third] = run({})
    expect(third).toBe(first)
  })

  test('passes that end together are told in the order in which they began', () => {
    const long = { input_length: 20, output_length: 9 }
    const rows = [
      row({ timestamp: 0, output_length: 2 }),
      row({ timestamp: 0, input_length: 4, hash_ids: [11], output_length: 9 }),
      // 10 to 23 on the second worker: its prompt, and the output of the one before.
      row({ timestamp: 5, ...long, hash_ids: [21, 22, 23, 24, 25] }),
      // 13 to 23 on the first.
      row({ timestamp: 11, ...long, hash_ids: [31, 32, 33, 34, 35] }),
      row({ timestamp: 14, hash_ids: [41, 42] }),
    ]
    const engine = {
      block_size: 4,
      max_num_batched_tokens: 64,
      timing_model: { type: 'fixed', prefill_ms: 10, decode_ms: 3 },
    }
    const { rows: runs } = replay(
      line(rows, { workers: 2, engine, ...kv({ router_queue_threshold: 0.25 }) }),
      kernel,
    )
    expect(runs.map(({ worker, tokenMs }) => [worker, tokenMs[0]])).toEqual([
      [0, 10],
      [1, 10],
      [1, 23],
      [0, 23],
      [1, expect.any(Number)],
    ])
    expect(runs[4]).toMatchObject({ queuedAtMs: 14, releasedAtMs: 23 })
  })

  test('a pass that takes no time is over before the arrivals that it releases, and the lowest worker is asked again', () => {
    const rows = [
      row({ timestamp: 0, session_id: 'a', output_length: 0, hash_ids: [1, 2] }),
      row({ timestamp: 0, session_id: 'a', output_length: 1, delay: 0 }),
    ]
    const parameters = {
      engine: { block_size: 4, timing_model: { type: 'fixed', prefill_ms: 0, decode_ms: 3 } },
    }
    const { rows: runs, isStuck } = replay(
      line(rows, { workers: 2, router: { mode: 'round_robin' }, ...parameters }),
      kernel,
    )
    expect([isStuck, ...runs.map(({ worker, arrivalMs, endMs }) => [worker, arrivalMs, endMs])]).toEqual([
      false,
      [0, 0, 0],
      [1, 0, 0],
    ])
  })

  test('a request that outgrows the pool fails, and the rest goes on', () => {
    const rows = [row({ timestamp: 0, output_length: 400 }), row({ timestamp: 1 })]
    const { rows: ends, isStuck } = replay(line(rows), kernel)
    expect([isStuck, ...ends.map(({ status }) => status)]).toEqual([false, 'failed', 'completed'])
  })

  test('without chunking a prompt that fits into no pass fails', () => {
    const engine = { block_size: 4, max_num_batched_tokens: 4, enable_chunked_prefill: false }
    const { rows: ends } = replay(line([row({ timestamp: 0 })], { engine }), kernel)
    expect(ends[0]!.status).toBe('failed')
  })
})
