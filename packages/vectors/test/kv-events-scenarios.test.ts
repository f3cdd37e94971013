import { describe, expect, test } from 'vitest'
import { readDocument } from '../src/data.js'
import { Checks } from '../src/runner/checks.js'
import { evaluateScenario } from '../src/runner/kv-events-scenarios.js'
import { type KvEventsScenario, kvEventsScenario } from '../src/shapes/kv-events-scenarios.js'

const document = readDocument('kv-events') as {
  readonly payloads: readonly { readonly id: string; readonly payload_hex: string }[]
  readonly sequence_scenarios: readonly KvEventsScenario[]
}
const scenarios = document.sequence_scenarios
const named = scenarios.map((scenario) => [scenario.name, scenario] as const)

function mismatches(scenario: unknown): string[] {
  const checks = new Checks()
  evaluateScenario(kvEventsScenario.parse(scenario), checks, document.payloads)
  return checks.mismatches.map(({ what }) => what)
}

describe.each(named)('%s', (_, scenario) => {
  test('matches', () => {
    expect(scenarios).toHaveLength(12)
    expect(mismatches(scenario)).toEqual([])
  })

  test('another expected value does not', () => {
    const { applied, requests } = scenario
    const others: Partial<KvEventsScenario>[] = [
      { requests: [...requests, 6] },
      { requests: requests.length > 0 ? requests.map((from) => Number(from) + 1) : [0] },
      { state: scenario.state === 'live' ? 'rebuilding' : 'live' },
      { complete: !scenario.complete },
      { incarnation: scenario.incarnation + 1 },
      ...(typeof applied === 'string'
        ? [
            { applied: `${applied}, 7` },
            { applied: applied.replace(/\d+$/, (last) => String(Number(last) + 1)) },
            {
              applied: applied.startsWith('drop')
                ? applied.replace('drop rank state, then ', '')
                : `drop rank state, then ${applied}`,
            },
          ]
        : [{ applied: [...applied].reverse().concat(9) }, { applied: applied.slice(1) }]),
    ]
    for (const other of others)
      expect(mismatches({ ...scenario, ...other }), JSON.stringify(other)).not.toEqual([])
  })

  test('an unknown field is refused', () => {
    expect(kvEventsScenario.safeParse({ ...scenario, extra: 1 }).success).toBe(false)
    const steps = [{ ...scenario.steps[0], extra: 1 }, ...scenario.steps.slice(1)]
    expect(kvEventsScenario.safeParse({ ...scenario, steps }).success).toBe(false)
  })
})

describe('other lines of the shape', () => {
  const gap = scenarios.find(({ name }) => name === 'gap filled')!

  test.each([
    [
      'a late copy',
      { live: 7 },
      { steps: [{ live: 4 }, { live: 6 }, { live: 7 }], applied: [4, 5, 6, 7], requests: [5] },
    ],
    [
      'replies that end too early',
      { replay: { first: 0, tip: 5 } },
      {
        steps: [{ live: 7 }],
        applied: 'drop rank state, then 4..5, 7',
        requests: [4],
        state: 'rebuilding',
        complete: false,
      },
    ],
    [
      'a second gap in the buffer',
      { replay: { first: 0, tip: 20 } },
      {
        steps: [{ live: 6 }, { live: 9 }, { replay_reply: [4, 5, 6] }, { replay_reply: [7, 8, 9] }],
        applied: '4..9',
        requests: [4, 7],
      },
    ],
    [
      'the horizon',
      { replay: null },
      { steps: [{ live: 6 }, { advance_ms: 600_000 }], applied: 'drop rank state, 6', requests: [] },
    ],
    [
      'sequences beyond 2^53',
      { preset: 'live at cursor 9223372036854775808' },
      { steps: [{ live: 9223372036854775809n }], applied: ['9223372036854775809'], requests: [] },
    ],
    [
      'a payload that is no batch, and cannot be had again',
      { replay: null },
      {
        steps: [{ live: 4, payload: 'no batch' }, { live: 5 }],
        applied: 'drop rank state, 5',
        requests: [],
        state: 'rebuilding',
        complete: false,
      },
    ],
  ])('%s', (_, given, expected) => {
    const { live: _live, ...more } = given as Record<string, unknown>
    const checks = new Checks()
    const scenario = kvEventsScenario.parse({ ...gap, ...more, ...expected })
    evaluateScenario(scenario, checks, [...document.payloads, { id: 'no batch', payload_hex: 'c1' }])
    expect(checks.mismatches).toEqual([])
  })

  test.each([
    { replay: { first: 3, tip: 2 } },
    { replay: { first: 0, tip: 65_536 } },
    { replay: 'loud' },
    { preset: 'live' },
    { steps: [] },
    { steps: [{ live: -1 }] },
    { steps: [{ live: 1.5 }] },
    { steps: [{ live: '18446744073709551616' }] },
    { steps: [{ connect: false }] },
    { steps: [{ advance_ms: -1 }] },
    { applied: 'drop' },
    { applied: '1, ' },
    { state: 'fine' },
    { incarnation: -1 },
  ])('%j is refused', (more) => {
    expect(kvEventsScenario.safeParse({ ...gap, ...more }).success).toBe(false)
  })

  test.each([{ applied: '0..65536' }, { applied: '5..4' }, { steps: [{ live: 4, payload: 'nope' }] }])(
    '%j is a fault of the line',
    (more) => {
      expect(() => mismatches({ ...gap, ...more })).toThrow(expect.objectContaining({ name: 'ShapeError' }))
    },
  )
})
