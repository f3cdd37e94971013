import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { loadServePolicy } from '../../src/serve-policy.js'
import { type RunningRouter, startRouter } from '../../src/service/router-service.js'
import { readServeSettings } from '../../src/settings/serve-settings.js'
import { readWorkerSources } from '../../src/workers/sources/read-worker-sources.js'
import { AttemptLog, type LoggedAttempt } from './attempt-log.js'
import { type Outcome, ask } from './chaos-client.js'
import { type CheckCount, type CheckName, Checks } from './chaos-report.js'
import { EngineProcess, freePorts } from './engine-process.js'
import { type Verdict, judge } from './judge.js'
import { type PlannedRequest, PlannedRequests, seededRandom } from './planned-requests.js'
import { type TroubleKind, type TroublePace, Troubles } from './troubles.js'

export interface ChaosOptions {
  /** The simulated engine, a program for Node. */
  readonly binary: string
  readonly engines: number
  readonly requests: number
  /** Of them, those before the first look at the heap; absent = it is not looked at. */
  readonly firstRequests?: number | undefined
  readonly seed: number
  /** Requests at a time. */
  readonly concurrency: number
  readonly pace: TroublePace
  /** Requests go on until so many troubles were there. Default 0. */
  readonly leastTroubles?: number | undefined
  /** Flags of the router, without dashes. */
  readonly flags?: Readonly<Record<string, string>> | undefined
  /** Laws with seconds in them are judged as well: only where the machine does little else. */
  readonly isTimed: boolean
  /** Called now and then. */
  readonly onProgress?: ((done: ChaosCounts) => void) | undefined
}

/** What was done so far. */
export interface ChaosCounts {
  readonly requests: number
  readonly attempts: number
  readonly verdicts: Readonly<Record<Verdict, number>>
  /** Clients that went, by what they had seen. */
  readonly left: { readonly nothing: number; readonly events: number }
  /** Requests that more than one engine was tried for. */
  readonly triedAgain: number
  readonly troubles: Readonly<Record<TroubleKind, number>>
  readonly refusedAttempts: number
}

/** What lives in the process of router and clients after collections, megabytes. */
export interface Memory {
  readonly heap: number
  /** Behind typed arrays: the index above all. */
  readonly buffers: number
}

export interface ChaosReport extends ChaosCounts {
  /** From the moment an engine listens again to its first request, milliseconds, at worst. */
  readonly slowestReturnMs: number
  /** After the first part and at the end; absent = not looked at. */
  readonly memory: { readonly first: Memory; readonly end: Memory } | undefined
  readonly checks: Readonly<Record<CheckName, CheckCount>>
  /** What happened where a law was broken; the first ones. */
  readonly stories: readonly string[]
  readonly violations: number
}

const deadLimitMs = 5000
const returnLimitMs = 2000
const heapLimit = 1.1
/** So many requests more than were wanted, and an engine that is mended answered none: something is stuck. */
const longestTail = 5000
/** Requests between two looks at the books. */
const auditedEvery = 100
/** A run ends at so many: there is enough to look at. */
const manyViolations = 50
const patienceMs = 60_000
/** So long engines may take to see that clients went. */
const lettingGoMs = 20_000

/** Runs a router over engine processes that break and clients that go, and says what became of its laws. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const run = await ChaosRun.start(options)
  try {
    return await run.all()
  } finally {
    await run.close()
  }
}

class ChaosRun {
  readonly #options: ChaosOptions
  readonly #engines: readonly EngineProcess[]
  readonly #router: RunningRouter
  readonly #agent = new Agent({ keepAlive: true })
  readonly #checks = new Checks()
  readonly #plans: PlannedRequests
  readonly #attempts: AttemptLog
  readonly #troubles: Troubles
  /** Engines that were started again, and got no request since then. */
  readonly #returned = new Set<EngineProcess>()
  /** The first requests that they got, with the blocks that they were believed to hold. */
  readonly #firsts = new Map<LoggedAttempt, number>()
  /** Engines that refused a request, and were not started again since then. */
  readonly #refused = new Set<EngineProcess>()
  readonly #verdicts: Record<Verdict, number> = { answered: 0, left: 0, broken: 0, refused: 0, bad_stream: 0 }
  readonly #left = { nothing: 0, events: 0 }
  readonly #startedMs = performance.now()
  #requests = 0
  #attemptCount = 0
  #refusedAttempts = 0
  #triedAgain = 0
  #slowestReturnMs = 0
  #failure: unknown

  static async start(options: ChaosOptions): Promise<ChaosRun> {
    const ports = await freePorts(3 * options.engines, Math.random)
    // Half of them tell what they hold, half do not.
    const engines = Array.from({ length: options.engines }, (_, at) => {
      const own = ports.slice(3 * at, 3 * at + 3)
      return new EngineProcess(String.fromCharCode(97 + at), options.binary, own, { hasEvents: at % 2 === 0 })
    })
    try {
      await Promise.all(engines.map((engine) => engine.start()))
      const policy = await loadServePolicy({})
      const router = await startRouter({
        settings: readServeSettings({ flags: options.flags ?? {}, policyFile: policy.policyFile }),
        policy,
        sources: readWorkerSources({ worker: engines.map(({ flag }) => flag) }),
        ports: { main: 0 },
      })
      return new ChaosRun(options, engines, router)
    } catch (error) {
      await Promise.all(engines.map((engine) => engine.close()))
      throw error
    }
  }

  constructor(options: ChaosOptions, engines: readonly EngineProcess[], router: RunningRouter) {
    this.#options = options
    this.#engines = engines
    this.#router = router
    this.#plans = new PlannedRequests(seededRandom(options.seed))
    this.#attempts = new AttemptLog(engines, {
      onAttempt: (attempt) => this.#attempted(attempt),
      onEnd: (attempt, isRefused) => this.#attemptEnded(attempt, isRefused),
    })
    this.#troubles = new Troubles({
      engines,
      // Of its own: the requests of a seed are the same whatever breaks when.
      random: seededRandom(~options.seed),
      pace: options.pace,
      // A request has three tries. From the second one on nothing breaks that was well: at most two engines are broken, and the third
      // try finds a sound one.
      mayBegin: () => this.#attempts.mostEngines < 2,
      onRestart: (engine) => {
        this.#refused.delete(engine)
        this.#returned.add(engine)
      },
      onError: (error) => (this.#failure ??= error),
    })
  }

  async all(): Promise<ChaosReport> {
    const { requests, firstRequests, leastTroubles = 0 } = this.#options
    await this.#until(
      'every engine serves',
      () => this.#router.fleet.workers.schedulable === this.#engines.length,
    )
    let first: Memory | undefined
    if (firstRequests !== undefined) {
      await this.#traffic(firstRequests, 0)
      first = memoryNow()
    }
    await this.#traffic(requests - (firstRequests ?? 0), leastTroubles)
    await this.#lookAtTheEnd()
    const memory = first === undefined ? undefined : { first, end: memoryNow() }
    if (memory !== undefined) {
      const holds = memory.end.heap <= heapLimit * memory.first.heap
      this.#checks.look('heap', holds, () => JSON.stringify(memory))
    }
    return {
      ...this.#counts(),
      slowestReturnMs: this.#slowestReturnMs,
      memory,
      checks: this.#checks.counts,
      stories: this.#checks.stories,
      violations: this.#checks.violations,
    }
  }

  async close(): Promise<void> {
    this.#attempts.close()
    this.#agent.destroy()
    await this.#router.close()
    await Promise.all(this.#engines.map((engine) => engine.close()))
  }

  /** So many requests, and as many more as it takes until so many troubles were there and every engine is well again. */
  async #traffic(count: number, leastTroubles: number): Promise<void> {
    let left = count
    this.#troubles.start()
    const lane = async (): Promise<void> => {
      while (this.#goesOn && (left > 0 || !this.#troubles.areOver)) {
        if (--left <= 0 && this.#troubles.begun >= leastTroubles) this.#troubles.stop()
        if (left < -longestTail)
          this.#failure ??= new Error(`${this.#brokenNames()}: no answer to any of ${longestTail} requests`)
        await this.#one()
      }
    }
    await Promise.all(Array.from({ length: this.#options.concurrency }, lane))
    if (this.#failure !== undefined) {
      const stories = this.#checks.stories.map((story) => `\n${story}`).join('')
      throw new Error(`${(this.#failure as Error).message}${stories}`, { cause: this.#failure })
    }
    const { proxy } = this.#router
    await this.#until('every request is over', () => proxy!.inFlight === 0)
  }

  get #goesOn(): boolean {
    return this.#failure === undefined && this.#checks.violations < manyViolations
  }

  async #one(): Promise<void> {
    const plan = this.#plans.next()
    const askedMs = performance.now()
    this.#attempts.follow(plan.id)
    const outcome = await ask(this.#router.url, plan, this.#agent)
    const attempts = this.#attempts.forget(plan.id)
    const verdict = judge(plan, outcome)
    const worker = this.#engines.find(({ workerId }) => outcome.worker === `${workerId}.0`)
    this.#requests++
    this.#verdicts[verdict]++
    if (verdict === 'left') this.#left[outcome.events > 0 ? 'events' : 'nothing']++
    if (new Set(attempts.map(({ engine }) => engine)).size > 1) this.#triedAgain++
    const story = (): string => this.#storyOf(plan, outcome, attempts, askedMs)
    if (verdict !== 'left' && verdict !== 'broken' && verdict !== 'bad_stream')
      this.#checks.look('refused', verdict === 'answered', story)
    if (verdict === 'broken' || verdict === 'bad_stream') {
      const troubles = this.#troubles.between(askedMs, performance.now())
      this.#checks.look(
        'broken',
        verdict === 'broken' && troubles.some(({ engine }) => engine === worker),
        story,
      )
    }
    this.#troubles.requestEnded(verdict === 'answered' ? worker : undefined, askedMs)
    if (this.#requests % auditedEvery === 0) {
      this.#audit()
      this.#options.onProgress?.(this.#counts())
    }
  }

  #attempted(attempt: LoggedAttempt): void {
    const { engine, startedMs, deadSinceMs } = attempt
    this.#attemptCount++
    const story = (): string => `${this.#at(startedMs)} ${attempt.requestId} to ${this.#nameOf(engine)}`
    this.#checks.look('known', !this.#refused.has(engine), story)
    if (this.#options.isTimed)
      this.#checks.look('dead', deadSinceMs === undefined || startedMs - deadSinceMs <= deadLimitMs, story)
    // What its router believes of it at its first request: the process has answered none.
    if (this.#returned.delete(engine)) this.#firsts.set(attempt, this.#believedBlocks(engine))
  }

  #attemptEnded(attempt: LoggedAttempt, isRefused: boolean): void {
    const { engine, startedMs } = attempt
    const blocks = this.#firsts.get(attempt)
    this.#firsts.delete(attempt)
    if (isRefused) {
      this.#refusedAttempts++
      // It did not listen yet, or not any more.
      if (blocks !== undefined) this.#returned.add(engine)
      else if (engine.deadSinceMs !== undefined && !this.#returned.has(engine)) this.#refused.add(engine)
      return
    }
    if (blocks === undefined) return
    const story = (): string => `${this.#at(startedMs)} ${attempt.requestId} to ${this.#nameOf(engine)}`
    this.#checks.look('empty', blocks === 0, () => `${story()}: ${blocks} blocks`)
    const delayMs = Math.max(0, startedMs - (engine.listensSinceMs ?? startedMs))
    this.#slowestReturnMs = Math.max(this.#slowestReturnMs, delayMs)
    if (this.#options.isTimed)
      this.#checks.look('returned', delayMs <= returnLimitMs, () => `${story()}: after ${delayMs} ms`)
  }

  #believedBlocks({ workerId }: EngineProcess): number {
    const { router } = this.#router.fleet.partitions[0]!
    const slot = router.slotOf(workerId, 0)
    return router.index.sizeOf(slot) + router.prefix.lifetime.sizeOf(slot)
  }

  async #lookAtTheEnd(): Promise<void> {
    this.#audit()
    const { fleet, proxy } = this.#router
    const live = fleet.partitions.reduce((sum, { router }) => sum + router.ledger.live, 0)
    this.#checks.look('books', live === 0, () => `${live} requests are booked`)
    const { bodyBytes } = proxy!.sizes
    this.#checks.look('books', bodyBytes === 0, () => `${bodyBytes} bytes of bodies are held`)
    for (const engine of this.#engines) {
      const endMs = performance.now() + lettingGoMs
      let requests = await engine.requests()
      while (requests > 0 && performance.now() < endMs) {
        await pause(50)
        requests = await engine.requests()
      }
      this.#checks.look('engines', requests === 0, () => `${this.#nameOf(engine)}: ${requests} requests`)
    }
  }

  /** Whether every count of the books is that of the requests that are booked. */
  #audit(): void {
    const faults = this.#router.fleet.partitions.flatMap(({ router }) => router.ledger.audit())
    this.#checks.look('books', faults.length === 0, () => JSON.stringify(faults))
  }

  #counts(): ChaosCounts {
    return {
      requests: this.#requests,
      attempts: this.#attemptCount,
      verdicts: { ...this.#verdicts },
      left: { ...this.#left },
      triedAgain: this.#triedAgain,
      troubles: { ...this.#troubles.counts },
      refusedAttempts: this.#refusedAttempts,
    }
  }

  #storyOf(
    plan: PlannedRequest,
    outcome: Outcome,
    attempts: readonly LoggedAttempt[],
    askedMs: number,
  ): string {
    const { json: _json, ...seen } = outcome
    const endMs = performance.now()
    return [
      `${this.#at(askedMs)} ${plan.id} POST ${plan.path}${plan.isStream ? ', streamed' : ''}`,
      ...attempts.map(
        ({ engine, startedMs, end = 'nothing yet' }) =>
          `${this.#at(startedMs)} tried at ${this.#nameOf(engine)}: ${end}`,
      ),
      `${this.#at(endMs)} ${JSON.stringify(seen)}`,
      ...this.#troubles
        .between(askedMs, endMs)
        .map(
          ({ kind, engine, fromMs, toMs }) =>
            `${this.#at(fromMs)} ${this.#nameOf(engine)}: ${kind}${toMs === undefined ? '' : ` until ${this.#at(toMs)}`}`,
        ),
      ...this.#router.fleet.workers.list().map(({ registration, lifecycle, reasons }) => {
        const engine = this.#engines.find(({ workerId }) => workerId === registration.workerId)!
        return `${this.#nameOf(engine)} now: ${lifecycle} ${reasons.join('; ')}`
      }),
    ].join('\n  ')
  }

  #nameOf({ name, lives }: EngineProcess): string {
    return `engine ${name}${lives}`
  }

  #brokenNames(): string {
    return this.#troubles.broken.map((engine) => this.#nameOf(engine)).join(', ')
  }

  /** Seconds since the start. */
  #at(ms: number): string {
    return `${((ms - this.#startedMs) / 1000).toFixed(3)} s`
  }

  async #until(what: string, holds: () => boolean): Promise<void> {
    for (const endMs = performance.now() + patienceMs; !holds();) {
      if (performance.now() > endMs) throw new Error(`never: ${what}`)
      await pause(10)
    }
  }
}

function memoryNow(): Memory {
  for (let times = 0; times < 3; times++) globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  const megabytes = (bytes: number): number => Math.round(bytes / 2 ** 16) / 16
  return { heap: megabytes(heapUsed), buffers: megabytes(arrayBuffers) }
}
