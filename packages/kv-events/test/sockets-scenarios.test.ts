import { afterEach, describe, expect, it, vi } from 'vitest'
import { numbered, SocketWorker } from './support/socket-worker.js'
import { pause, TestEngine, until } from './support/test-engine.js'

interface Step {
  readonly connect?: true
  readonly live?: number
  readonly payload?: string
  readonly advance_ms?: number
  readonly replay_reply?: readonly number[]
}

interface Scenario {
  readonly name: string
  readonly replay: { readonly first: number; readonly tip: number } | 'silent' | null
  readonly preset?: string
  readonly steps: readonly Step[]
  readonly applied: readonly number[] | string
  readonly requests: readonly number[]
  readonly state: string
  readonly complete: boolean
  readonly incarnation: number
}

interface Recorded {
  readonly payloads: readonly { readonly id: string; readonly payload_hex: string }[]
  readonly sequence_scenarios: readonly Scenario[]
}

const [text = ''] = Object.values(
  import.meta.glob(['../../vectors/data/kv-events.json'], { query: '?raw', import: 'default', eager: true }),
)
const document = JSON.parse(text) as Recorded
const scenarios = document.sequence_scenarios
const payloads = new Map(document.payloads.map(({ id, payload_hex: hex }) => [id, Buffer.from(hex, 'hex')]))

/** What happens to the index, one entry a batch: `drop`, or the sequence. */
function expectedLog({ applied, steps }: Scenario): string[] {
  const sequences = Array.isArray(applied)
    ? applied.map(String)
    : (applied as string).split(', ').flatMap((part) => {
        if (part === 'drop rank state') return ['drop']
        const [first, last] = part.replace('then ', '').split('..').map(Number)
        return Array.from({ length: (last ?? first!) - first! + 1 }, (_, index) => `${first! + index}`)
      })
  // The batch with a payload of its own clears the rank.
  const clears = steps.filter(({ payload }) => payload !== undefined).map(({ live }) => `${live}`)
  return sequences.map((entry) => (clears.includes(entry) ? 'drop' : entry))
}

const engine = { current: new TestEngine() }
const one = { current: new SocketWorker() }
afterEach(async () => {
  vi.useRealTimers()
  await one.current.close()
  await engine.current.stop()
})

/** A socket that has come to the preset by live batches, with a replay socket that had nothing so far. */
async function prepare({ preset, replay, steps }: Scenario): Promise<void> {
  engine.current = new TestEngine()
  one.current = new SocketWorker()
  const endpoints = await engine.current.start()
  const keep = (): void => {
    if (replay === null || replay === 'silent') return
    for (let sequence = replay.first; sequence <= replay.tip; sequence++)
      engine.current.kept.set(BigInt(sequence), numbered(sequence))
  }
  if (steps[0]!.connect === true) keep()
  one.current.open({
    endpoint: endpoints.events,
    replayEndpoint: replay === null ? undefined : endpoints.replay,
  })
  await until('subscribed', () => engine.current.subscriptions === 1)
  if (preset === undefined) return
  const [, state, last] = /^(live|rebuilding) at cursor (\d+)$/.exec(preset)!
  if (replay !== null) await until('connected', () => one.current.state === 'live')
  for (let sequence = state === 'live' ? 0 : Number(last); sequence <= Number(last); sequence++)
    await engine.current.publish(sequence, numbered(sequence))
  await until('preset', () => one.current.worker.reports[0]!.cursor === BigInt(last!))
  expect(one.current.state).toBe(state)
  one.current.log.length = 0
  engine.current.requests.length = 0
  engine.current.isSilent = replay === 'silent'
  keep()
}

describe('E5: every sequence scenario, with a real ROUTER socket that keeps N batches', () => {
  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))('%s', async (_, scenario) => {
    if (scenario.replay === 'silent')
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    await prepare(scenario)
    for (const { live, payload, advance_ms: advanceMs } of scenario.steps) {
      if (live !== undefined)
        await engine.current.publish(live, payload === undefined ? numbered(live) : payloads.get(payload)!)
      if (advanceMs !== undefined) {
        await until('asked', () => engine.current.requests.length > 0)
        vi.advanceTimersByTime(advanceMs + 1)
      }
    }
    const log = expectedLog(scenario)
    await until(`applied: ${log.join(' ')}`, () => {
      return one.current.log.join() === log.join() && one.current.state === scenario.state
    })
    await pause(30)
    expect(one.current.log).toEqual(log)
    expect(engine.current.requests).toEqual(scenario.requests.map(BigInt))
    expect(one.current.worker.incarnation).toBe(scenario.incarnation)
    expect(one.current.state === 'live').toBe(scenario.complete)
  })
})
