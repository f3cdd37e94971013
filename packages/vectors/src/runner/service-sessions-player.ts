import { Agent, request as httpRequest } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { stringify } from 'lossless-json'
import { parseJson } from '../json.js'
import type {
  ServiceAnswer,
  ServiceRequest,
  ServiceSessionLine,
  ServiceStep,
} from '../shapes/service-sessions.js'
import type { Checks } from './checks.js'
import { type Difference, differenceOf } from './service-sessions-answers.js'
import { SessionEngine, sequenceFrame } from './service-sessions-engine.js'

/** How long something may take to come true: more than services need, as machines do other work. */
const patienceMs = 15_000
const lookMs = 10
/** How long an answer that must not come is waited for. */
const silenceMs = 100

interface Answered {
  readonly status: number
  readonly body: unknown
}

/** A service that runs for one scenario. */
export interface PlayedService {
  readonly url: string
  close(): Promise<unknown>
}

/** Plays one scenario against a service that was started for it; stops at the first step that is not as recorded. */
export async function playScenario(
  line: ServiceSessionLine,
  start: (line: ServiceSessionLine) => Promise<PlayedService>,
  checks: Checks,
): Promise<void> {
  const engines = new Map<string, SessionEngine>()
  let service: PlayedService | undefined
  const agent = new Agent({ keepAlive: true })
  try {
    for (const [name, { replay }] of Object.entries(line.engines ?? {}))
      engines.set(name, await new SessionEngine(replay).start())
    service = await start(line)
    const player = new Player(service.url, engines, agent)
    for (const [index, step] of line.steps.entries()) {
      const wrong = await player.play(step)
      if (wrong === undefined) continue
      checks.fail(`steps.${index}.${wrong.path}`, wrong.expected, wrong.actual)
      return
    }
  } finally {
    agent.destroy()
    await service?.close()
    await Promise.all([...engines.values()].map((engine) => engine.stop()))
  }
}

const jsonType = { 'content-type': 'application/json' }

interface BackgroundRequest {
  readonly answer: Promise<Answered>
  readonly expect: ServiceAnswer
  isAnswered: boolean
}

class Player {
  readonly #url: URL
  readonly #engines: ReadonlyMap<string, SessionEngine>
  readonly #agent: Agent
  readonly #background = new Map<string, BackgroundRequest>()

  constructor(url: string, engines: ReadonlyMap<string, SessionEngine>, agent: Agent) {
    this.#url = new URL(url)
    this.#engines = engines
    this.#agent = agent
  }

  /** What is not as the step says. */
  async play(step: ServiceStep): Promise<Difference | undefined> {
    if ('background' in step) {
      const entry = { answer: this.#ask(step.http), expect: step.expect, isAnswered: false }
      const note = (): boolean => (entry.isAnswered = true)
      entry.answer.then(note, note)
      this.#background.set(step.background, entry)
      return undefined
    }
    if ('http' in step) return this.#compare(step.expect, await this.#ask(step.http))
    if ('still_waiting' in step) {
      await pause(silenceMs)
      const { isAnswered } = this.#named(step.still_waiting)
      return isAnswered ? { path: 'still_waiting', expected: 'no answer', actual: 'an answer' } : undefined
    }
    if ('join' in step) return this.#compare(this.#named(step.join).expect, await this.#due(step.join))
    if ('zmq' in step) {
      const { zmq } = step
      const frames =
        'frames_hex' in zmq
          ? zmq.frames_hex.map((frame) => Buffer.from(frame, 'hex'))
          : [Buffer.from(zmq.topic), sequenceFrame(BigInt(zmq.seq)), Buffer.from(zmq.payload_hex, 'hex')]
      await this.#engine(zmq.engine).send(frames)
      return undefined
    }
    if ('retain' in step) {
      const { engine, batches } = step.retain
      this.#engine(engine).retained = batches.map(([sequence, payload]) => [
        BigInt(sequence),
        Buffer.from(payload, 'hex'),
      ])
      return undefined
    }
    if ('replay_requests' in step) return this.#wereAsked(step.replay_requests)
    return this.#wait(step.wait)
  }

  async #wait(wait: Extract<ServiceStep, { wait: unknown }>['wait']): Promise<Difference | undefined> {
    if ('ms' in wait) {
      await pause(wait.ms)
      return undefined
    }
    if ('subscribed' in wait) {
      const engine = this.#engine(wait.subscribed)
      return patiently(async () =>
        engine.subscriptions >= wait.count
          ? undefined
          : { path: 'wait.subscribed', expected: wait.count, actual: engine.subscriptions },
      )
    }
    return patiently(async () => this.#compare(wait.expect, await this.#ask(wait.http)))
  }

  #wereAsked({ engine: name, contains }: { engine: string; contains: readonly (number | bigint)[] }) {
    const { requests } = this.#engine(name)
    return patiently(async () => {
      let next = 0
      for (const wanted of requests) if (next < contains.length && wanted === BigInt(contains[next]!)) next++
      if (next === contains.length) return undefined
      return { path: 'replay_requests', expected: contains.join(), actual: requests.join() }
    })
  }

  #compare(expected: ServiceAnswer, { status, body }: Answered): Difference | undefined {
    if (status !== expected.status)
      return { path: 'status', expected: expected.status, actual: `${status} ${stringify(body)}` }
    return differenceOf(this.#placed(expected.body), body)
  }

  async #due(name: string): Promise<Answered> {
    const late = new AbortController()
    const entry = this.#named(name)
    const limit = pause(patienceMs, undefined, { signal: late.signal }).then(
      () => ({ status: 0, body: 'no answer' }),
      () => ({ status: 0, body: 'no answer' }),
    )
    const answer = await Promise.race([entry.answer, limit])
    late.abort()
    return answer
  }

  #ask({ method, path, headers, body, raw, fill }: ServiceRequest): Promise<Answered> {
    const text =
      fill === undefined
        ? (raw ?? (body === undefined ? '' : stringify(this.#placed(body))!))
        : fill.prefix + fill.piece.repeat(fill.times) + fill.suffix
    const content = Buffer.from(text)
    const isBare = body === undefined && raw === undefined && fill === undefined
    const { hostname: host, port } = this.#url
    return new Promise((resolve, reject) => {
      const sent = httpRequest({
        host,
        port,
        path,
        method,
        agent: this.#agent,
        headers: { ...(isBare ? {} : jsonType), ...headers, 'content-length': content.length },
      })
      sent.on('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () =>
          resolve({ status: response.statusCode!, body: parsed(Buffer.concat(chunks).toString()) }),
        )
        response.on('error', reject)
      })
      sent.on('error', reject)
      sent.end(content)
    })
  }

  /** A value with the addresses of engines in place of their names. */
  #placed(value: unknown): unknown {
    if (typeof value === 'string')
      return value.replaceAll(/\$\{([^}.]+)(\.replay)?\}/g, (_, name: string, replay?: string) => {
        const engine = this.#engine(name)
        return replay === undefined ? engine.events : engine.replay
      })
    if (Array.isArray(value)) return value.map((entry) => this.#placed(entry))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, this.#placed(inner)]))
  }

  #engine(name: string): SessionEngine {
    const engine = this.#engines.get(name)
    if (engine === undefined) throw new Error(`the scenario has no engine '${name}'`)
    return engine
  }

  #named(name: string): BackgroundRequest {
    const entry = this.#background.get(name)
    if (entry === undefined) throw new Error(`no request was sent as '${name}'`)
    return entry
  }
}

/** Looks until nothing differs; then, or when patience is over, what differs still. */
async function patiently(look: () => Promise<Difference | undefined>): Promise<Difference | undefined> {
  const endMs = performance.now() + patienceMs
  for (;;) {
    const difference = await look()
    if (difference === undefined || performance.now() >= endMs) return difference
    await pause(lookMs)
  }
}

function parsed(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return text
  }
}
