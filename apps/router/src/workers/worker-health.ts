import type { Hindrance } from '../fleet/hindrance.js'
import { isRedirect } from '../proxy/worker-watch.js'

/** How an attempt at a worker ended. */
export type AttemptEnd =
  /** The whole answer came, whatever its status. */
  | 'answered'
  /** Nobody listens there. */
  | 'refused'
  /** No connection, reset, cut, or a time-out. */
  | 'failed'
  /** The client went, or the router gave up for reasons of its own: it says nothing of the worker. */
  | 'abandoned'

/** How patient the router is with workers; milliseconds and counts. */
export interface HealthSettings {
  /** A worker is avoided so long after a failure. Default 5,000. */
  readonly inhibitedMs?: number | undefined
  /** Failed probes that make a worker unschedulable. Default 3. */
  readonly probeFailures?: number | undefined
  /** Failures within `breakerWindowMs` that open the breaker. Default 5. */
  readonly breakerFailures?: number | undefined
  /** Default 10,000. */
  readonly breakerWindowMs?: number | undefined
  /** An open breaker lets one request through after this time. Default 2,000. */
  readonly breakerRetryMs?: number | undefined
  /** A worker with requests may be silent for so long, and longer where others are slow too. Default 10,000. */
  readonly noProgressMs?: number | undefined
}

/** First-byte times that are kept of a worker. */
const keptFirstBytes = 100

/** One request at one worker. */
export interface HealthAttempt {
  readonly life: number
  readonly startedMs: number
  hasBytes: boolean
  hasFailed: boolean
  isOver: boolean
  isGood: boolean
}

/**
 * What one worker's probes and requests say of it. Pure: whoever owns it tells the time, which never goes back. Bounded: it keeps the last
 * failures and the last 100 first-byte times.
 */
export class WorkerHealth {
  readonly #inhibitedMs: number
  readonly #probeLimit: number
  readonly #breakerFailures: number
  readonly #breakerWindowMs: number
  readonly #breakerRetryMs: number
  readonly #noProgressMs: number
  // Counts processes of the engine: what an earlier one did is not held against a later one.
  #life = 0
  #inhibited: { sinceMs: number; untilMs: number; detail: string } | undefined
  #refused: { sinceMs: number; detail: string } | undefined
  #probe: { count: number; sinceMs: number; detail: string } | undefined
  #failures: number[] = []
  #breaker: { sinceMs: number; retryAtMs: number; trial?: HealthAttempt | undefined } | undefined
  #inFlight = 0
  #progressMs = 0
  #byteMs = -Infinity
  #silent: { sinceMs: number; trialAtMs: number } | undefined
  readonly #firstByteMs = new Float64Array(keptFirstBytes)
  #firstBytes = 0

  constructor(settings: HealthSettings = {}) {
    this.#inhibitedMs = settings.inhibitedMs ?? 5000
    this.#probeLimit = settings.probeFailures ?? 3
    this.#breakerFailures = settings.breakerFailures ?? 5
    this.#breakerWindowMs = settings.breakerWindowMs ?? 10_000
    this.#breakerRetryMs = settings.breakerRetryMs ?? 2000
    this.#noProgressMs = settings.noProgressMs ?? 10_000
  }

  /** Requests that are under way. */
  get inFlight(): number {
    return this.#inFlight
  }

  /** When a byte of an answer came last; -Infinity = never. */
  get lastByteMs(): number {
    return this.#byteMs
  }

  /** Whether it refused a connection, and no probe has succeeded since. */
  get isRefused(): boolean {
    return this.#refused !== undefined
  }

  /** Whether nothing has been held against it of late: the usual case. */
  get isWell(): boolean {
    return (
      this.#inhibited === undefined &&
      this.#refused === undefined &&
      this.#probe === undefined &&
      this.#breaker === undefined &&
      this.#silent === undefined
    )
  }

  /** Whether something is wrong with it, so that it is worth a look soon. */
  isSuspect(nowMs: number): boolean {
    return this.#probe !== undefined || this.hard(nowMs).length > 0 || this.soft(nowMs).length > 0
  }

  /** Reasons against any new request. */
  hard(nowMs: number): Hindrance[] {
    const list: Hindrance[] = []
    const { sinceMs = 0, detail = '' } = this.#probe ?? {}
    if (this.#probe !== undefined && this.#probe.count >= this.#probeLimit)
      list.push({ code: 'probe_failed', detail, sinceMs })
    if (this.#refused !== undefined) list.push({ code: 'inhibited', ...this.#refused })
    const breaker = this.#breaker
    if (breaker !== undefined && (nowMs < breaker.retryAtMs || breaker.trial !== undefined))
      list.push({
        code: 'breaker_open',
        detail: `${this.#breakerFailures} failures within ${this.#breakerWindowMs} ms`,
        sinceMs: breaker.sinceMs,
      })
    return list
  }

  /** Reasons to prefer others, where there are any. */
  soft(nowMs: number): Hindrance[] {
    const list: Hindrance[] = []
    const inhibited = this.#inhibited
    if (inhibited !== undefined && nowMs < inhibited.untilMs && this.#refused === undefined)
      list.push({ code: 'inhibited', detail: inhibited.detail, sinceMs: inhibited.sinceMs })
    const silent = this.#silent
    if (silent !== undefined && (this.#inFlight > 0 || nowMs < silent.trialAtMs))
      list.push({
        code: 'no_progress',
        detail: 'requests are under way and no byte comes',
        sinceMs: silent.sinceMs,
      })
    return list
  }

  /** When reasons go by themselves next; Infinity = never. */
  nextChangeMs(nowMs: number): number {
    const times = [this.#inhibited?.untilMs, this.#breaker?.retryAtMs, this.#silent?.trialAtMs]
    return Math.min(Infinity, ...times.filter((time): time is number => time !== undefined && time > nowMs))
  }

  /** A request goes out. `undefined` = it must not: there are reasons against any. */
  begin(nowMs: number): HealthAttempt | undefined {
    if (!this.isWell && this.hard(nowMs).length > 0) return undefined
    const attempt: HealthAttempt = {
      life: this.#life,
      startedMs: nowMs,
      hasBytes: false,
      hasFailed: false,
      isOver: false,
      isGood: false,
    }
    if (this.#breaker !== undefined) this.#breaker.trial = attempt
    if (this.#inFlight++ === 0) this.#progressMs = nowMs
    return attempt
  }

  /** The status of the answer. True when it is a failure: a redirect, or 500 and above. */
  head(attempt: HealthAttempt, status: number, nowMs: number): boolean {
    const isFailure = status >= 500 || isRedirect(status)
    attempt.isGood = status < 400 && !isFailure
    if (isFailure) this.#fail(attempt, `status ${status}`, nowMs)
    return isFailure
  }

  /** A byte of the body. True when reasons may have gone by it. */
  byte(attempt: HealthAttempt, nowMs: number): boolean {
    this.#progressMs = nowMs
    this.#byteMs = nowMs
    const wasSilent = this.#silent !== undefined
    this.#silent = undefined
    if (attempt.hasBytes) return wasSilent
    attempt.hasBytes = true
    if (attempt.isGood && attempt.life === this.#life)
      this.#firstByteMs[this.#firstBytes++ % keptFirstBytes] = nowMs - attempt.startedMs
    return this.#succeed(attempt) || wasSilent
  }

  /** It is over, once; anything after the first call is ignored. */
  end(attempt: HealthAttempt, how: AttemptEnd, detail: string, nowMs: number): void {
    if (attempt.isOver) return
    attempt.isOver = true
    this.#inFlight--
    if (how === 'answered') this.#succeed(attempt)
    else if (how !== 'abandoned') this.#fail(attempt, detail, nowMs)
    if (how === 'refused' && attempt.life === this.#life) this.#refuse(detail, nowMs)
    if (this.#breaker?.trial === attempt) this.#breaker.trial = undefined
    if (this.#silent !== undefined && this.#inFlight === 0)
      this.#silent.trialAtMs = nowMs + this.#noProgressMs
  }

  /** A probe was answered as it should be. */
  probeSucceeded(nowMs: number): void {
    this.#probe = undefined
    if (this.#refused !== undefined) {
      this.#refused = undefined
      this.#inhibited = undefined
    }
    if (this.#breaker !== undefined) this.#breaker.retryAtMs = Math.min(this.#breaker.retryAtMs, nowMs)
  }

  probeFailed(isRefused: boolean, detail: string, nowMs: number): void {
    const { count = 0, sinceMs = nowMs } = this.#probe ?? {}
    this.#probe = { count: count + 1, sinceMs, detail }
    if (isRefused) this.#refuse(detail, nowMs)
  }

  /** The engine is another process: nothing is held against it. */
  restarted(): void {
    this.#life++
    this.#inhibited = undefined
    this.#refused = undefined
    this.#probe = undefined
    this.#failures = []
    this.#breaker = undefined
    this.#silent = undefined
    this.#firstBytes = 0
  }

  /** For how long requests have been waiting without a byte; 0 without any. */
  silenceMs(nowMs: number): number {
    return this.#inFlight === 0 ? 0 : nowMs - this.#progressMs
  }

  /** Times to the first byte of the last good answers, in no order; a view, valid until the next one. */
  get firstByteMs(): Float64Array {
    return this.#firstByteMs.subarray(0, Math.min(this.#firstBytes, keptFirstBytes))
  }

  /** Whether it was marked so, and no byte came since. */
  get isSilent(): boolean {
    return this.#silent !== undefined
  }

  /** It has been silent for too long. */
  markSilent(nowMs: number): void {
    this.#silent ??= { sinceMs: nowMs, trialAtMs: nowMs }
  }

  #refuse(detail: string, nowMs: number): void {
    this.#refused ??= { sinceMs: nowMs, detail }
  }

  /** True when it closed the breaker. */
  #succeed(attempt: HealthAttempt): boolean {
    if (attempt.hasFailed || attempt.life !== this.#life) return false
    const wasOpen = this.#breaker !== undefined
    this.#breaker = undefined
    if (wasOpen) this.#failures = []
    return wasOpen
  }

  #fail(attempt: HealthAttempt, detail: string, nowMs: number): void {
    if (attempt.hasFailed || attempt.life !== this.#life) return
    attempt.hasFailed = true
    const sinceMs =
      this.#inhibited !== undefined && nowMs < this.#inhibited.untilMs ? this.#inhibited.sinceMs : nowMs
    this.#inhibited = { sinceMs, untilMs: nowMs + this.#inhibitedMs, detail }
    this.#failures = [...this.#failures, nowMs].slice(-this.#breakerFailures)
    if (this.#breaker !== undefined) {
      if (this.#breaker.trial === attempt) this.#breaker.retryAtMs = nowMs + this.#breakerRetryMs
      return
    }
    const isFull = this.#failures.length === this.#breakerFailures
    if (isFull && nowMs - this.#failures[0]! <= this.#breakerWindowMs)
      this.#breaker = { sinceMs: nowMs, retryAtMs: nowMs + this.#breakerRetryMs }
  }
}
