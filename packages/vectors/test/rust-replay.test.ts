import { describe, expect, test } from 'vitest'
import { readVectors } from '../src/data.js'
import { runLines } from '../src/runner/run.js'
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

describe('one worker of a line of two', () => {
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
