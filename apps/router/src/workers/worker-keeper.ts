import type { EngineFacts } from '../fleet/engine-facts.js'
import { keyOf, placeOf } from '../fleet/fleet-partition.js'
import type { FleetWarning } from '../fleet/fleet-worker.js'
import type { FleetWorkers } from '../fleet/fleet-workers.js'
import type { Hindrance } from '../fleet/hindrance.js'
import type { WorkerView } from '../fleet/worker-registration.js'
import type { AskEngine, EngineReply } from './engine-client.js'
import type { KeptWorker } from './kept-worker.js'
import { isRegularAnswer, learn } from './learning/learn.js'
import { readKvUsage } from './learning/read-usage.js'
import { OpenPlaces } from './open-places.js'
import { type PaceSettings, ProbePaces } from './probes/probe-paces.js'
import { WorkerProbe } from './probes/worker-probe.js'
import { silentAmong } from './silent-among.js'
import type { Timers } from './timers.js'
import { WorkerAttempt } from './worker-attempt.js'
import { type HealthSettings, WorkerHealth } from './worker-health.js'

/** How workers are looked at; milliseconds. */
export interface KeeperSettings extends HealthSettings, PaceSettings {
  /** Default 2,000. */
  readonly probeTimeoutMs?: number | undefined
}

export interface WorkerKeeperOptions {
  readonly workers: FleetWorkers
  readonly timers: Timers
  readonly ask: AskEngine
  readonly settings?: KeeperSettings | undefined
  /** Bearer key of a worker's engine, for probes and for learning. */
  readonly apiKeyOf?: ((workerId: bigint) => string | undefined) | undefined
  readonly onWarning?: ((warning: FleetWarning) => void) | undefined
}

const silenceCheckMs = 1000

/**
 * Keeps the workers of a fleet under observation: probes them, learns from their engines, follows the requests that they get, and tells the
 * fleet what speaks against new ones. It has no list of its own to go stale: it follows the fleet's. Workers of the selection listener are
 * never contacted.
 */
export class WorkerKeeper {
  readonly #options: WorkerKeeperOptions
  readonly #paces: ProbePaces<KeptWorker>
  readonly #probeTimeoutMs: number
  readonly #kept = new Map<bigint, KeptWorker>()
  readonly #noProgressMs: number
  readonly #stopListening: () => void
  readonly #open = new OpenPlaces<KeptWorker>()
  // To be avoided where others are better: these depend on others.
  readonly #avoided = new Set<KeptWorker>()
  #cancelSilence: (() => void) | undefined

  /** Begins with the workers that the fleet has. */
  constructor(options: WorkerKeeperOptions) {
    const { workers, settings = {} } = options
    this.#options = options
    this.#paces = new ProbePaces(settings)
    this.#probeTimeoutMs = settings.probeTimeoutMs ?? 2000
    this.#noProgressMs = settings.noProgressMs ?? 10_000
    this.#stopListening = workers.listen({
      onUpsert: (view) => this.#follow(view),
      onRemove: (workerId) => this.#drop(workerId),
      onDrain: (workerId) => this.#judgeIfKept(workerId),
      onRestart: (workerId) => {
        this.#kept.get(workerId)?.health.restarted()
        this.#judgeIfKept(workerId)
      },
    })
    for (const view of workers.list()) this.#follow(view)
    this.#watchSilence()
  }

  /** Workers that are kept: those of the fleet but for the ones that are never contacted. */
  get size(): number {
    return this.#kept.size
  }

  /**
   * A request goes to a worker now. `undefined` = it must go elsewhere: the worker is unknown, not to be contacted, or something speaks
   * against it since it was selected.
   */
  begin(workerId: bigint): WorkerAttempt | undefined {
    const kept = this.#kept.get(workerId)
    const { nowMs } = this.#options.timers
    const attempt = kept?.health.begin(nowMs())
    if (kept === undefined || attempt === undefined) return undefined
    const onChange = (): void => this.#requestChanged(kept)
    // The one request that a half-open breaker lets through closes it for others.
    this.#applyIfNew(kept)
    return new WorkerAttempt(kept.health, attempt, nowMs, onChange)
  }

  /** Ends every probe. */
  close(): void {
    this.#stopListening()
    this.#cancelSilence?.()
    for (const workerId of this.#kept.keys()) this.#drop(workerId)
  }

  #follow({ registration, origin, hindrances }: WorkerView): void {
    const { workerId, endpoint = '' } = registration
    const isTrusted = origin === 'trusted'
    const known = this.#kept.get(workerId)
    const isContacted = origin !== 'selection' && endpoint !== ''
    if (isContacted && known?.endpoint === endpoint && known.isTrusted === isTrusted) {
      // Its record may be complete now, or in another partition.
      this.#judge(known)
      return
    }
    this.#drop(workerId)
    if (hindrances.length > 0) this.#options.workers.setHindrances(workerId, [])
    if (!isContacted) return
    const kept: KeptWorker = {
      workerId,
      endpoint,
      isTrusted,
      health: new WorkerHealth(this.#options.settings),
      abort: new AbortController(),
      learnedAtMs: -Infinity,
      isOut: false,
      wasSuspect: false,
      said: '',
      shown: '',
    }
    this.#kept.set(workerId, kept)
    this.#judge(kept)
    kept.probe = new WorkerProbe({
      timers: this.#options.timers,
      probe: () => this.#probe(kept),
      paceMs: () => this.#paceOf(kept),
    })
  }

  #drop(workerId: bigint): void {
    const kept = this.#kept.get(workerId)
    if (kept === undefined) return
    kept.probe?.close()
    kept.cancelChange?.()
    kept.abort.abort()
    this.#kept.delete(workerId)
    this.#paces.delete(kept)
    this.#avoided.delete(kept)
    // Whoever is avoided may be the last one now.
    this.#judgeAvoided(this.#open.place(kept, undefined))
  }

  #paceOf(kept: KeptWorker): number {
    const isNew = kept.learnedAtMs === -Infinity
    return this.#paces.probeMs(kept, isNew || kept.health.isSuspect(this.#options.timers.nowMs()))
  }

  #judgeIfKept(workerId: bigint): void {
    const kept = this.#kept.get(workerId)
    if (kept !== undefined) this.#judge(kept)
  }

  async #probe(kept: KeptWorker): Promise<void> {
    const { timers } = this.#options
    const { health } = kept
    const askedMs = timers.nowMs()
    const reply = await this.#ask(kept, '/health')
    if (kept.abort.signal.aborted) return
    if (isRegularAnswer(reply)) {
      // Before it is open again: whether it is the process that it was.
      await this.#learnIfDue(kept)
      if (kept.abort.signal.aborted) return
      health.probeSucceeded(timers.nowMs())
      kept.wasSuspect = false
      // What it told may have made its record complete.
      this.#judge(kept)
      await this.#readUsage(kept)
      if (kept.abort.signal.aborted) return
    } else if (reply.failure !== 'shortage' && (reply.failure !== 'timeout' || health.lastByteMs < askedMs)) {
      // A busy engine is slow to answer here; while it answers requests, that says nothing.
      const { failure, status } = reply
      const detail = `GET ${kept.endpoint}/health: ${failure === undefined ? `status ${status}` : reply.detail}`
      const isRefused = failure === 'refused'
      if (isRefused) this.#setOut(kept)
      health.probeFailed(isRefused, detail, timers.nowMs())
    }
    this.#applyIfNew(kept)
  }

  async #learnIfDue(kept: KeptWorker): Promise<void> {
    const { workers, timers } = this.#options
    const { workerId, learnedAtMs } = kept
    const isOld = timers.nowMs() - learnedAtMs >= this.#paces.learnAgainMs
    if (!isOld && !kept.wasSuspect && !kept.isOut) return
    const lesson = await learn((path) => this.#ask(kept, path), new URL(kept.endpoint).hostname)
    if (kept.abort.signal.aborted) return
    if (kept.isOut) {
      kept.isOut = false
      workers.setOutage(workerId, false)
    }
    const detail = 'why' in lesson ? lesson.why : this.#refusalOf(workerId, lesson.facts)
    if (detail !== undefined) {
      kept.ignorance = { detail, sinceMs: kept.ignorance?.sinceMs ?? timers.nowMs() }
      return
    }
    kept.ignorance = undefined
    kept.learnedAtMs = timers.nowMs()
    if ('startedAtSeconds' in lesson && lesson.startedAtSeconds !== undefined)
      workers.processStarted(workerId, lesson.startedAtSeconds)
  }

  async #readUsage(kept: KeptWorker): Promise<void> {
    const { workerId } = kept
    const partition = this.#options.workers.record(workerId)?.partition
    if (partition?.wantsKvUsage !== true) return
    const reply = await this.#ask(kept, '/metrics')
    if (isRegularAnswer(reply)) partition.noteKvUsage(workerId, readKvUsage(reply.body))
  }

  /** Hands over what an engine told; why the fleet cannot use it. */
  #refusalOf(workerId: bigint, facts: EngineFacts): string | undefined {
    try {
      this.#options.workers.learn(workerId, facts)
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  }

  #ask({ workerId, endpoint, isTrusted, abort }: KeptWorker, path: string): Promise<EngineReply> {
    const { ask, apiKeyOf } = this.#options
    return ask(`${endpoint.replace(/\/+$/, '')}${path}`, {
      timeoutMs: this.#probeTimeoutMs,
      apiKey: apiKeyOf?.(workerId),
      isTrusted,
      signal: abort.signal,
    })
  }

  #setOut(kept: KeptWorker): void {
    if (kept.isOut) return
    kept.isOut = true
    this.#options.workers.setOutage(kept.workerId, true)
  }

  /** A request told something of a worker. */
  #requestChanged(kept: KeptWorker): void {
    // It may have left the fleet meanwhile.
    if (this.#kept.get(kept.workerId) !== kept) return
    if (kept.health.isRefused) this.#setOut(kept)
    this.#applyIfNew(kept)
  }

  /** Judges a worker anew where something else speaks against it than before. */
  #applyIfNew(kept: KeptWorker): void {
    if (kept.said === '' && kept.ignorance === undefined && kept.health.isWell) return
    const nowMs = this.#options.timers.nowMs()
    if (kept.health.isSuspect(nowMs)) kept.wasSuspect = true
    if (this.#saidOf(kept, nowMs) === kept.said) return
    this.#judge(kept)
    kept.probe?.hasten()
  }

  #saidOf({ health, ignorance }: KeptWorker, nowMs: number): string {
    return textOf([...health.hard(nowMs), ...health.soft(nowMs)]) + (ignorance?.detail ?? '')
  }

  /**
   * Tells the fleet what speaks against workers now, and comes back when that changes by itself. `O(1)` each, but where one is the first or
   * the last of its partition against which nothing speaks: `O(workers that are to be avoided)`.
   */
  #judge(...some: readonly KeptWorker[]): void {
    const { timers } = this.#options
    const nowMs = timers.nowMs()
    const changed = some.flatMap((kept) => this.#place(kept, nowMs))
    for (const kept of some) {
      this.#show(kept, nowMs)
      kept.cancelChange?.()
      const changeMs = kept.health.nextChangeMs(nowMs)
      kept.cancelChange =
        changeMs < Infinity ? timers.after(changeMs - nowMs, () => this.#judge(kept)) : undefined
    }
    this.#judgeAvoided(changed)
  }

  /** Notes whether anything speaks against a worker; returns the partitions for whose others that matters. */
  #place(kept: KeptWorker, nowMs: number): readonly string[] {
    const { partition, isComplete, hard, soft } = this.#standingOf(kept, nowMs)
    kept.said = this.#saidOf(kept, nowMs)
    if (soft.length > 0) this.#avoided.add(kept)
    else this.#avoided.delete(kept)
    const isOpen = isComplete && hard.length === 0 && soft.length === 0
    return this.#open.place(kept, isOpen ? partition : undefined)
  }

  /** Those that are to be avoided in these partitions are so where somebody better is left. */
  #judgeAvoided(partitions: readonly string[]): void {
    if (partitions.length === 0) return
    const nowMs = this.#options.timers.nowMs()
    for (const kept of this.#avoided) this.#show(kept, nowMs)
  }

  #show(kept: KeptWorker, nowMs: number): void {
    const { partition, hard, soft } = this.#standingOf(kept, nowMs)
    // To be avoided means that others are better: with nobody else, it is as good as any.
    const hindrances = this.#open.has(partition) ? [...hard, ...soft] : hard
    const shown = textOf(hindrances)
    if (shown === kept.shown) return
    this.#warn(kept, hindrances)
    kept.shown = shown
    this.#options.workers.setHindrances(kept.workerId, hindrances)
  }

  #standingOf({ workerId, ignorance, health }: KeptWorker, nowMs: number) {
    const { registration, lifecycle } = this.#options.workers.get(workerId)!
    const isKnown = lifecycle !== 'incomplete'
    const hard = health.hard(nowMs)
    if (!isKnown && ignorance !== undefined) hard.push({ code: 'not_learned', ...ignorance })
    return {
      partition: keyOf(placeOf(registration)),
      isComplete: isKnown && lifecycle !== 'draining',
      hard,
      soft: health.soft(nowMs),
    }
  }

  #warn({ workerId, shown }: KeptWorker, hindrances: readonly Hindrance[]): void {
    for (const { code, detail } of hindrances) {
      if (code === 'inhibited' || shown.includes(`${code} `)) continue
      this.#options.onWarning?.({
        code,
        message: `worker ${workerId} takes no requests: ${detail}`,
        workerId,
      })
    }
  }

  /** Looks for workers whose requests wait while others answer. */
  #watchSilence(): void {
    const { timers } = this.#options
    this.#cancelSilence = timers.after(silenceCheckMs, () => {
      this.#watchSilence()
      const nowMs = timers.nowMs()
      const silent = silentAmong(
        this.#kept.values(),
        ({ workerId }) => this.#partitionOf(workerId),
        this.#noProgressMs,
        nowMs,
      )
      for (const { health } of silent) health.markSilent(nowMs)
      this.#judge(...silent)
    })
  }

  #partitionOf(workerId: bigint): string {
    return keyOf(placeOf(this.#options.workers.record(workerId)!.registration))
  }
}

/** Two lists with one text say the same. */
function textOf(hindrances: readonly Hindrance[]): string {
  return hindrances.map(({ code, detail, sinceMs }) => `${code} ${sinceMs} ${detail}`).join('\n')
}
