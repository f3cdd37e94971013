import { describe, expect, test } from 'vitest'
import { readVectors } from '../src/data.js'
import { runLines } from '../src/runner/run.js'
import { Arrivals } from '../src/runner/rust-replay-arrivals.js'
import { replay } from '../src/runner/rust-replay-loop.js'
import { kernels } from '../src/runner/selectors.js'
import type { RustReplayLine } from '../src/shapes/rust-replay.js'
import { altered, leavesOf, withLeaf } from './altered-line.js'
import { faultOf, runFile } from './support.js'

type Path = readonly (string | number)[]
type Line = Readonly<Record<string, unknown>>

const all = readVectors('rust-replay') as Line[]
const isEvaluated = (line: Line): boolean =>
  line['topology'] === 'aggregated' && (line['engine'] as { backend?: string }).backend === 'vllm'
const lines = all.filter(isEvaluated)
const report = (line: unknown) => runLines('rust-replay', [{ number: 1, value: line as Line }])
const failures = (line: unknown): number => report(line).failed
const lineOf = (id: string): Line => lines.find((line) => line['id'] === id)!

const otherWord: Readonly<Record<string, string>> = {
  completed: 'rejected',
  rejected: 'failed',
  immediate: 'queued',
  queued: 'immediate',
}

/** The smallest other value that must be noticed: report figures are rounded, and some are estimated to 0.1 %. */
function otherValue(path: Path, leaf: unknown): unknown {
  if (typeof leaf === 'string') return otherWord[leaf]
  const isFigure = path[1] === 'summary' && typeof leaf === 'number' && path.at(-1) !== 'duration_ms'
  if (!isFigure) return altered(leaf)
  return altered(leaf, path.includes('sketched') ? 1e-3 : path.at(-1) === 'std' ? 1e-6 : 1e-9)
}

describe('P16: rust-replay.jsonl, vLLM-like workers', { timeout: 60_000 }, () => {
  test('every time, hit, token and figure', () => {
    for (const line of lines) expect(report(line), String(line['id'])).toMatchObject({ passed: 1, failed: 0 })
    expect(lines).toHaveLength(29)
  })

  test('one altered value fails the line', () => {
    let count = 0
    for (const id of ['V03', 'V06', 'V07', 'V22', 'V25']) {
      for (const path of leavesOf(lineOf(id)).filter((place) =>
        place.includes(id === 'V25' ? 'routing' : 'expect'),
      )) {
        let isPoolName = false
        const changed = withLeaf(lineOf(id), path, (leaf) => {
          isPoolName = leaf === 'agg'
          return isPoolName ? leaf : otherValue(path, leaf)
        })
        if (isPoolName) continue
        expect(failures(changed), `${id} ${path.join('.')}`).toBe(1)
        count++
      }
    }
    expect(count).toBeGreaterThan(340)
  })

  test('a request that the line leaves out, and a row that was said not to be sent', () => {
    const cut = withLeaf(lineOf('V02'), ['expect', 'requests'], (requests) =>
      (requests as unknown[]).slice(1),
    )
    expect(failures(cut)).toBe(1)
    expect(
      failures(
        withLeaf(lineOf('V02'), ['expect'], (given) => ({ ...(given as object), notDispatched: [2] })),
      ),
    ).toBe(1)
  })

  test.each<[string, string, Path, (leaf: never) => unknown]>([
    ['pool', 'V03', ['engine', 'num_gpu_blocks'], () => 6],
    ['block size', 'V02', ['engine', 'block_size'], () => 2],
    ['running requests', 'V14', ['engine', 'max_num_seqs'], () => 3],
    ['budget', 'V02', ['engine', 'max_num_batched_tokens'], () => 20],
    ['order of preemption', 'V04', ['engine', 'preemption_mode'], () => 'lifo'],
    ['speed', 'V09', ['engine', 'speedup_ratio'], () => 3],
    ['caching', 'V11', ['engine', 'enable_prefix_caching'], () => true],
    ['chunking', 'V12', ['engine', 'enable_chunked_prefill'], () => true],
    ['timing', 'V15', ['engine', 'timing_model', 'decode_ms'], () => 4],
    ['length', 'V08', ['engine', 'max_model_len'], () => 17],
    ['blocks of the trace', 'V16', ['trace', 'blockSize'], () => 20],
    ['hash ids', 'V05', ['trace', 'rows', 1, 'hash_ids', 0], () => 9],
    ['outputs', 'V07', ['trace', 'rows', 0, 'output_length'], () => 1],
    ['bounds', 'V22', ['sla', 'ttftMs'], () => 1],
    ['workers', 'V17', ['workers'], () => 3],
    ['router', 'V23', ['router'], () => ({ mode: 'round_robin' })],
    ['seed of ties', 'V23', ['router', 'tieSeed'], () => '5'],
    ['weights', 'V24', ['router', 'config', 'overlap_score_credit'], () => 0],
    ['temperature', 'V27', ['router', 'config', 'router_temperature'], () => 0.1],
    ['queue', 'V25', ['router', 'config', 'router_queue_threshold'], () => 4],
    ['lag', 'V26', ['kvEventLagMs'], () => 5000],
    ['concurrency', 'V18', ['concurrency'], () => 3],
    ['delay of a turn', 'V19', ['trace', 'rows', 2, 'delay'], () => 41],
  ])('a given value is used: %s', (_name, id, path, change) => {
    expect(failures(withLeaf(lineOf(id), path, change as (leaf: unknown) => unknown))).toBe(1)
  })
})

describe('what the carried lines of one worker leave out', () => {
  const line = (rows: readonly object[], more: object = {}): RustReplayLine =>
    ({
      ...lineOf('V10'),
      trace: { format: 'mooncake', blockSize: 4, rows },
      ...more,
    }) as unknown as RustReplayLine
  const row = (more: object): object => ({ input_length: 8, output_length: 1, hash_ids: [1, 2], ...more })

  test('the router queue, as one worker of a carried line has it', () => {
    const two = all.find(({ id }) => id === 'V25')!
    const { requests, summary } = two['expect'] as { requests: Line[]; summary: object }
    // Rows with even numbers went to the second worker; it is busy and free as if it were alone.
    const own = requests.filter((_, index) => index % 2 === 0)
    const trace = two['trace'] as { rows: unknown[] }
    const one = {
      ...two,
      workers: 1,
      trace: { ...trace, rows: trace.rows.filter((_, index) => index % 2 === 0) },
      expect: {
        summary,
        requests: own.map((request, index) =>
          withLeaf({ ...request, row: index }, ['routing', 0, 1], () => 0),
        ),
      },
    }
    const differing = (changed: object): string[] =>
      report(changed).failures[0]!.mismatches.map(({ what }) => /kernel, (\w+)/.exec(what)![1]!)
    expect(new Set(differing(one))).toEqual(new Set(['summary']))
    expect(differing({ ...one, router: { mode: 'kv_router', config: {} } })[0]).toBe('requests')
  })

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

describe('hostile lines of rust-replay', () => {
  const base = lineOf('V02')
  const shared = { input_length: 16, output_length: 2, hash_ids: [1, 2, 3, 4] }
  const withRow = (row: object): unknown => withLeaf(base, ['trace', 'rows', 0], () => row)

  test('an unknown field at any level', () => {
    const objects = new Set<string>([''])
    for (const path of leavesOf(lineOf('V22'))) {
      for (let depth = 1; depth < path.length; depth++)
        if (typeof path[depth] === 'string') objects.add(JSON.stringify(path.slice(0, depth)))
    }
    expect(objects.size).toBeGreaterThan(20)
    for (const place of objects) {
      const path = place === '' ? [] : (JSON.parse(place) as Path)
      expect(
        failures(withLeaf(lineOf('V22'), path, (object) => ({ ...(object as object), extra: 1 }))),
        place,
      ).toBe(1)
    }
  })

  test.each<[string, unknown, RegExp]>([
    ['no rows', withLeaf(base, ['trace', 'rows'], () => []), /^trace\.rows/],
    ['no prompt', withRow({ ...shared, timestamp: 0, input_length: 0 }), /input_length/],
    ['too few hash ids', withRow({ ...shared, timestamp: 0, hash_ids: [1] }), /hash_ids for the whole/],
    ['no time', withRow(shared), /expected a timestamp/],
    ['a delay of what comes first', withRow({ ...shared, timestamp: 0, delay: 1 }), /expected a timestamp/],
    ['a negative delay', withRow({ ...shared, timestamp: 0, delay: -1 }), /delay/],
    ['endless outputs', withRow({ ...shared, timestamp: 0, output_length: 1e9 }), /output_length/],
    ['another engine', withLeaf(base, ['engine', 'backend'], () => 'other'), /^engine\.backend/],
    ['a pool of nothing', withLeaf(base, ['engine', 'num_gpu_blocks'], () => 0), /^engine\.num_gpu_blocks/],
    ['blocks of one token', withLeaf(base, ['engine', 'block_size'], () => 1), /^engine\.block_size/],
    ['no workers', { ...base, workers: 0 }, /^workers/],
    ['more workers than anybody has', { ...base, workers: 1e9 }, /^workers/],
    [
      'fewer outputs than said',
      withRow({ ...shared, timestamp: 0, output_token_ids: [1] }),
      /output_token_ids per output/,
    ],
    [
      'another queue',
      { ...base, router: { mode: 'kv_router', config: { router_queue_policy: 'drr' } } },
      /^router\.config\.router_queue_policy/,
    ],
    ['another topology', { ...base, topology: 'ring' }, /^topology/],
    ['no concurrency', { ...base, concurrency: 0 }, /^concurrency/],
    ['no speed', { ...base, arrivalSpeedupRatio: 0 }, /^arrivalSpeedupRatio/],
    ['a lag into the past', { ...base, kvEventLagMs: -1 }, /^kvEventLagMs/],
  ])('%s', (_name, line, fault) => {
    const found = runFile('rust-replay.jsonl', JSON.stringify(line))
    expect(found).toMatchObject({ passed: 0, failed: 1 })
    expect(faultOf(found)).toMatch(fault)
  })
})
