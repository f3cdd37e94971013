import { type ChildProcess, spawn } from 'node:child_process'
import { request } from 'node:http'
import { createServer } from 'node:net'
import process from 'node:process'
import { parseWorkerFlag } from '../../src/workers/sources/worker-flags.js'

/** Below the ports that systems give to outgoing connections: one of those would be taken while an engine is down. */
const firstPort = 18_000
const lastPort = 31_000

/** Runs first in each engine: it ends when whoever started it does, however that ends. */
const endsWithParent = "process.stdin.on('end', () => process.exit()).resume()"

/** A simulated engine in a process of its own, which can be killed and started again at the same addresses. Times are those of the harness. */
export class EngineProcess {
  readonly name: string
  readonly url: string
  /** As `--worker` takes it. */
  readonly flag: string
  readonly workerId: bigint
  /** When its process died; absent = it runs, or starts. */
  deadSinceMs: number | undefined
  /** When it told that it listens, in its present life; absent = not yet. */
  listensSinceMs: number | undefined
  /** Processes that were started. */
  lives = 0
  readonly #binary: string
  readonly #arguments: readonly string[]
  #child: ChildProcess | undefined
  #errors = ''
  #isClosed = false

  /** @param ports three of its own: HTTP, events, replay */
  constructor(
    name: string,
    binary: string,
    ports: readonly number[],
    options: { readonly hasEvents: boolean },
  ) {
    const [port, events, replay] = ports
    this.name = name
    this.#binary = binary
    this.url = `http://127.0.0.1:${port}`
    const eventFlags = ['--kv-events', `tcp://*:${events}`, '--kv-events-replay', `tcp://*:${replay}`]
    const eventKeys = `,kv_events_endpoint=tcp://127.0.0.1:${events},replay_endpoint=tcp://127.0.0.1:${replay}`
    this.flag = options.hasEvents ? this.url + eventKeys : this.url
    this.workerId = parseWorkerFlag(this.flag).registration.workerId
    // Prompts take several passes, so that clients can leave before the first token.
    const times = ['--prefill-ms', '8', '--decode-ms', '2', '--max-num-batched-tokens', '512']
    this.#arguments = ['--port', String(port), ...times, ...(options.hasEvents ? eventFlags : []), '--json']
  }

  /** Fulfilled when it listens, or when it is closed. Rejects when it ends before that. */
  async start(): Promise<void> {
    if (this.#isClosed) return
    this.lives++
    this.#errors = ''
    const first = ['--import', `data:text/javascript,${encodeURIComponent(endsWithParent)}`]
    const child = spawn(process.execPath, [...first, this.#binary, ...this.#arguments], {
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.#child = child
    child.stderr.on('data', (chunk) => (this.#errors += String(chunk)))
    await new Promise<void>((resolve, reject) => {
      child.stdout.once('data', () => resolve())
      child.once('exit', () => reject(new Error(`engine ${this.name} did not start: ${this.#errors}`)))
    })
    this.deadSinceMs = undefined
    this.listensSinceMs = performance.now()
  }

  /** `kill -9`. Fulfilled when the process is gone. */
  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    this.#child = undefined
    const gone = new Promise((resolve) => child.once('exit', resolve))
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await gone
    }
    this.deadSinceMs = performance.now()
    this.listensSinceMs = undefined
  }

  /** Kills it for good. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.kill()
  }

  /** Breaks it from now on, in the ways that the engine knows. */
  async addFaults(faults: readonly object[]): Promise<void> {
    await this.#ask('POST', '/admin/faults', faults)
  }

  async removeFaults(): Promise<void> {
    await this.#ask('DELETE', '/admin/faults')
  }

  /** Requests that it works on. */
  async requests(): Promise<number> {
    const { ranks } = JSON.parse(await this.#ask('GET', '/stats')) as {
      ranks: { runningRequests: number; waitingRequests: number }[]
    }
    return ranks.reduce((sum, rank) => sum + rank.runningRequests + rank.waitingRequests, 0)
  }

  // Not with the client of the router: what that one sends are attempts.
  #ask(method: string, path: string, body?: unknown): Promise<string> {
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json' }
      const sent = request(this.url + path, { method, agent: false, headers }, (answer) => {
        let text = ''
        answer.on('data', (chunk) => (text += String(chunk)))
        answer.on('end', () => {
          if (answer.statusCode! < 300) resolve(text)
          else reject(new Error(`${method} ${path} of engine ${this.name}: ${answer.statusCode} ${text}`))
        })
        answer.on('error', reject)
      })
      sent.on('error', reject)
      sent.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }
}

/** Ports that nobody listens on now. */
export async function freePorts(count: number, random: () => number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = firstPort + Math.floor(random() * (lastPort - firstPort))
    if (await isFree(port)) ports.add(port)
  }
  return [...ports]
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
