import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'lossless-json'
import { beforeAll, describe, expect, test } from 'vitest'
import { runCommand } from '../src/command.js'
import { parseJson } from '../src/json.js'
import { bundledRouter } from '../src/runner/router-process.js'
import { playLater, runLines } from '../src/runner/run.js'
import { differenceOf } from '../src/runner/service-sessions-answers.js'
import { carried } from './support.js'

type Scenario = Record<string, unknown> & { id: string; steps: Record<string, unknown>[] }

const scenarios = carried('service-sessions.jsonl').trimEnd().split('\n').map(parseJson) as Scenario[]

/** What waits for time, or sends 8 MiB twice: `npm run vectors` plays it, the suite does not. */
const dear = new Set(['sel-body-limit', 'sel-cache-bounds', 'sel-approximate-ttl'])

const reportOf = (...values: unknown[]) =>
  runLines(
    'service-sessions',
    values.map((value, index) => ({ number: index + 1, value: value as Scenario })),
  )

async function played(...values: unknown[]) {
  const [report] = await playLater([reportOf(...values)])
  return report!
}

const named = (id: string): Scenario => structuredClone(scenarios.find((scenario) => scenario.id === id)!)

describe('the recorded scenarios', () => {
  const report = reportOf(...scenarios)

  test('are played but for queues, sticky sessions, the indexer and the load tracker', () => {
    expect(report.notCovered.map(({ about, count }) => [about, count])).toEqual([
      ['scenarios of the queue', 5],
      ['scenarios of sticky sessions', 2],
      ['scenarios of the indexer', 5],
      ['scenarios of the load tracker', 2],
    ])
    expect([report.failed, report.later!.length]).toEqual([0, 52])
  })

  test('A1: pass against the selection API', async () => {
    const cheap = scenarios.filter(({ id }) => !dear.has(id))
    const { failures, passed } = await played(...cheap)
    expect(failures).toEqual([])
    expect(passed).toBe(52 - dear.size)
  })
})

describe('against a started process', () => {
  let routerCommand: readonly string[] = []
  beforeAll(async () => {
    routerCommand = await bundledRouter()
  })

  test('A1: scenarios pass that need settings, events and replays, and what is left out is named', async () => {
    const ids = ['sel-reserve', 'sel-flags', 'ev-ranks', 'seq-gap-replay', 'queue-order']
    const folder = mkdtempSync(join(tmpdir(), 'vectors-'))
    const path = join(folder, 'some.jsonl')
    const lines: string[] = []
    try {
      writeFileSync(path, ids.map((id) => `${stringify(named(id))}\n`).join(''))
      const code = await runCommand([path, '--router'], (line) => lines.push(line), lines.push.bind(lines))
      expect([code, ...lines]).toEqual([
        0,
        'some.jsonl: 4 passed, 0 failed',
        '  not covered: scenarios of the queue (needs the queue of @router/core), 1 line',
        'not covered: 1 line, 0 documents',
        'total: 4 passed, 0 failed',
      ])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('one that cannot start fails the scenario', async () => {
    const scenario = { ...named('sel-empty'), config: { env: { DYN_ROUTER_TTL_SECS: 'never' } } }
    const [report] = await playLater([reportOf(scenario)], { routerCommand })
    expect(report).toMatchObject({ passed: 0, failed: 1 })
    expect(report!.failures[0]!.fault).toMatch(/ended with 1: .*DYN_ROUTER_TTL_SECS cannot be 'never'/s)
  })
})

describe('an altered copy fails', () => {
  const alterations: [string, string, (scenario: Scenario) => void][] = [
    ['sel-reserve', 'another status', ({ steps }) => set(steps, 2, ['expect', 'status'], 201)],
    [
      'sel-reserve',
      'another hash',
      ({ steps }) => set(steps, 2, ['expect', 'body', 'sequence_hashes', 0], 7),
    ],
    [
      'sel-ranks',
      'another overlap',
      ({ steps }) => set(steps, 12, ['expect', 'body', 'overlap', 'dp', '2'], 4),
    ],
    ['sel-ranks', 'another order of a list', ({ steps }) => (steps[13] = reversed(steps[13]!))],
    ['sel-empty', 'another list', ({ steps }) => set(steps, 2, ['expect', 'body'], [{}])],
    [
      'sel-dump',
      'one key more in a map',
      ({ steps }) => set(steps, 6, ['expect', 'body', '$map', 'x:y'], {}),
    ],
    ['sel-flags', 'one request less', ({ steps }) => void steps.splice(7, 2)],
  ]

  test.each(alterations)('%s: %s', async (id, _what, alter) => {
    const scenario = named(id)
    alter(scenario)
    expect(await played(scenario)).toMatchObject({ passed: 0, failed: 1 })
  })
})

describe('answers are compared', () => {
  test.each([
    [{ a: 1 }, { a: 1, more: null }, true],
    [{ a: 1 }, { a: 1, More: null }, false],
    [{ a: 1 }, { a: 1, worker_load: {} }, false],
    [{ dp: { 0: 1 } }, { dp: { 0: 1, 1: 1 } }, false],
    [{ $map: { a: 1 } }, { a: 1, b: 1 }, false],
    [{ $unordered: [1, 2, 2] }, [2, 1, 2], true],
    [{ $unordered: [1, 2, 2] }, [2, 1, 1], false],
    [{ $oneOf: [1, 2] }, 2, true],
    [{ $oneOf: [1, 2] }, 3, false],
    [{ $string: true }, '', false],
    [{ $string: true }, 'x', true],
    [[1, 2], [1], false],
    [2n ** 63n, 2n ** 63n, true],
    [2n ** 63n, 2n ** 63n + 1n, false],
    [1, 1n, false],
    [null, undefined, false],
  ])('%o against %o: %o', (expected, actual, isSame) => {
    expect(differenceOf(expected, actual) === undefined).toBe(isSame)
  })
})

/** An overlap report with its ranks from the last to the first. */
function reversed(step: Record<string, unknown>): Record<string, unknown> {
  const expected = (step['expect'] as { body: { workers: unknown[] } }).body
  return { ...step, expect: { status: 200, body: { ...expected, workers: expected.workers.toReversed() } } }
}

function set(
  steps: readonly object[],
  step: number,
  path: readonly (string | number)[],
  value: unknown,
): void {
  let target: object = steps[step]!
  for (const key of path.slice(0, -1)) target = Reflect.get(target, key) as object
  Reflect.set(target, path.at(-1)!, value)
}
