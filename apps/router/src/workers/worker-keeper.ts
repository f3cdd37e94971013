import type { EngineFacts } from '../fleet/engine-facts.js'
import { keyOf, placeOf } from '../fleet/fleet-partition.js'
import type { FleetWarning } from '../fleet/fleet-worker.js'
import type { FleetWorkers } from '../fleet/fleet-workers.js'
import type { Hindrance } from '../fleet/hindrance.js'
import type { WorkerView } from '../fleet/worker-registration.js'
import type { AskEngine, EngineReply } from './engine-client.js'
import { isRegularAnswer, learn } from './learning/learn.js'
import { WorkerProbe } from './probes/worker-probe.js'
import type { Timers } from './timers.js'
import { WorkerAttempt } from './worker-attempt.js'
import { type HealthSettings, WorkerHealth } from './worker-health.js'

/** How often workers are looked at; milliseconds. */
export interface KeeperSettings extends HealthSettings {
  /** Between probes of a healthy worker. Default 5,000. */
  readonly probeMs?: number | undefined
  /** Between probes of one that is down, avoided or not learned yet. Default 1,000. */
  readonly suspectProbeMs?: number | undefined
  /** Default 2,000. */
  readonly probeTimeoutMs?: number | undefined
  /** Age from which what was learned of a healthy engine is read again. Default 15,000. */
  readonly learnAgainMs?: number | undefined
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

interface Kept {
  readonly workerId: bigint
  readonly endpoint: string
  readonly isTrusted: boolean
  readonly health: WorkerHealth
  readonly abort: AbortController
  probe?: WorkerProbe
  learnedAtMs: number
  /** Why its engine could not be asked; absent = it could. */
  ignorance?: { readonly detail: string; readonly sinceMs: number } | undefined
  /** Connections are refused. */
  isOut: boolean
  /** Something was wrong since it was last asked. */
  wasSuspect: boolean
  /** A probe succeeded. */
  wasFound: boolean
  /** What its own health says, and what of that the fleet has: to see a change. */
  said: string
  shown: string
}

const silenceCheckMs = 1000
/** How much longer than the others' slow first bytes a silence must be. */
const silenceFactor = 10

/**
 * Keeps the workers of a fleet under observation: probes them, learns from their engines, follows the requests that they get, and tells the
 * fleet what speaks against new ones. It has no list of its own to go stale: it follows the fleet's. Workers of the selection listener are
 * never contacted.
 */
export class WorkerKeeper {
  readonly #options: WorkerKeeperOptions
  readonly #settings: Record<'probeMs' | 'suspectProbeMs' | 'probeTimeoutMs' | 'learnAgainMs', number>
  readonly #kept = new Map<bigint, Kept>()
  readonly #noProgressMs: number
  readonly #stopListening: () => void
  /** Somebody is to be avoided, and is not because nobody is better. */
  #hasHidden = false
  #cancelChange: (() => void) | undefined
  #cancelSilence: (() => void) | undefined

  /** Begins with the workers that the fleet has. */
  constructor(options: WorkerKeeperOptions) {
    const { workers, settings = {} } = options
    this.#options = options
    this.#settings = {
      probeMs: settings.probeMs ?? 5000,
      suspectProbeMs: settings.suspectProbeMs ?? 1000,
      probeTimeoutMs: settings.probeTimeoutMs ?? 2000,
      learnAgainMs: settings.learnAgainMs ?? 15_000,
    }
    this.#noProgressMs = settings.noProgressMs ?? 10_000
    this.#stopListening = workers.listen({
      onUpsert: (view) => this.#follow(view),
      onRemove: (workerId) => {
        this.#drop(workerId)
        // Whoever was avoided may be the last one now.
        this.#apply()
      },
      onRestart: (workerId) => {
        this.#kept.get(workerId)?.health.restarted()
        this.#apply()
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
    this.#cancelChange?.()
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
      if (known.said !== '' || this.#hasHidden) this.#apply()
      return
    }
    this.#drop(workerId)
    if (hindrances.length > 0) this.#options.workers.setHindrances(workerId, [])
    if (!isContacted) return
    const kept: Kept = {
      workerId,
      endpoint,
      isTrusted,
      health: new WorkerHealth(this.#options.settings),
      abort: new AbortController(),
      learnedAtMs: -Infinity,
      isOut: false,
      wasSuspect: false,
      wasFound: false,
      said: '',
      shown: '',
    }
    this.#kept.set(workerId, kept)
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
    kept.abort.abort()
    this.#kept.delete(workerId)
  }

  #paceOf({ health, learnedAtMs }: Kept): number {
    const isNew = learnedAtMs === -Infinity
    const { probeMs, suspectProbeMs } = this.#settings
    return isNew || health.isSuspect(this.#options.timers.nowMs()) ? suspectProbeMs : probeMs
  }

  async #probe(kept: Kept): Promise<void> {
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
      if (!kept.wasFound) {
        kept.wasFound = true
        // Now that it is there, others may be worse than somebody.
        if (this.#hasHidden) this.#apply()
      }
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

  async #learnIfDue(kept: Kept): Promise<void> {
    const { workers, timers } = this.#options
    const { workerId, learnedAtMs } = kept
    const isOld = timers.nowMs() - learnedAtMs >= this.#settings.learnAgainMs
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

  /** Hands over what an engine told; why the fleet cannot use it. */
  #refusalOf(workerId: bigint, facts: EngineFacts): string | undefined {
    try {
      this.#options.workers.learn(workerId, facts)
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  }

  #ask({ workerId, endpoint, isTrusted, abort }: Kept, path: string): Promise<EngineReply> {
    const { ask, apiKeyOf } = this.#options
    return ask(`${endpoint.replace(/\/+$/, '')}${path}`, {
      timeoutMs: this.#settings.probeTimeoutMs,
      apiKey: apiKeyOf?.(workerId),
      isTrusted,
      signal: abort.signal,
    })
  }

  #setOut(kept: Kept): void {
    if (kept.isOut) return
    kept.isOut = true
    this.#options.workers.setOutage(kept.workerId, true)
  }

  /** A request told something of a worker. */
  #requestChanged(kept: Kept): void {
    // It may have left the fleet meanwhile.
    if (this.#kept.get(kept.workerId) !== kept) return
    if (kept.health.isRefused) this.#setOut(kept)
    this.#applyIfNew(kept)
  }

  /** Looks at the fleet as a whole where something else speaks against this worker than before. */
  #applyIfNew(kept: Kept): void {
    const nowMs = this.#options.timers.nowMs()
    if (kept.health.isSuspect(nowMs)) kept.wasSuspect = true
    if (this.#saidOf(kept, nowMs) === kept.said) return
    this.#apply()
    kept.probe?.hasten()
  }

  #saidOf({ health, ignorance }: Kept, nowMs: number): string {
    return textOf([...health.hard(nowMs), ...health.soft(nowMs)]) + (ignorance?.detail ?? '')
  }

  /** Tells the fleet what speaks against each worker now, and comes back when that changes by itself. `O(workers)`. */
  #apply(): void {
    const { workers, timers } = this.#options
    const nowMs = timers.nowMs()
    const rows = [...this.#kept.values()].map((kept) => this.#rowOf(kept, nowMs))
    const open = new Set(rows.filter(({ isOpen }) => isOpen).map(({ partition }) => partition))
    let changeMs = Infinity
    this.#hasHidden = rows.some(({ partition, soft }) => soft.length > 0 && !open.has(partition))
    for (const { kept, partition, hard, soft } of rows) {
      changeMs = Math.min(changeMs, kept.health.nextChangeMs(nowMs))
      // To be avoided means that others are better: with nobody else, it is as good as any.
      const hindrances = open.has(partition) ? [...hard, ...soft] : hard
      kept.said = this.#saidOf(kept, nowMs)
      const shown = textOf(hindrances)
      if (shown === kept.shown) continue
      this.#warn(kept, hindrances)
      kept.shown = shown
      workers.setHindrances(kept.workerId, hindrances)
    }
    this.#cancelChange?.()
    this.#cancelChange = changeMs < Infinity ? timers.after(changeMs - nowMs, () => this.#apply()) : undefined
  }

  #rowOf(kept: Kept, nowMs: number) {
    const { registration, lifecycle } = this.#options.workers.get(kept.workerId)!
    const { ignorance, health } = kept
    const isComplete = lifecycle !== 'incomplete'
    const hard = health.hard(nowMs)
    const soft = health.soft(nowMs)
    if (!isComplete && ignorance !== undefined) hard.push({ code: 'not_learned', ...ignorance })
    return {
      kept,
      hard,
      soft,
      partition: keyOf(placeOf(registration)),
      isOpen: isComplete && lifecycle !== 'draining' && hard.length === 0 && soft.length === 0,
    }
  }

  #warn({ workerId, shown }: Kept, hindrances: readonly Hindrance[]): void {
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
      let isNew = false
      for (const { workerId, health } of this.#kept.values()) {
        const silenceMs = health.silenceMs(nowMs)
        if (silenceMs < this.#noProgressMs || silenceMs < silenceFactor * this.#othersFirstByteMs(workerId))
          continue
        health.markSilent(nowMs)
        isNew = true
      }
      if (isNew) this.#apply()
    })
  }

  /** The 95th percentile of the others' times to the first byte in the same partition; 0 = nobody knows. `O(workers)`. */
  #othersFirstByteMs(workerId: bigint): number {
    const { workers } = this.#options
    const partitionOf = (id: bigint): string => keyOf(placeOf(workers.get(id)!.registration))
    const own = partitionOf(workerId)
    const others = [...this.#kept.values()].filter(
      (kept) => kept.workerId !== workerId && partitionOf(kept.workerId) === own,
    )
    const times = others.flatMap(({ health }) => [...health.firstByteMs]).toSorted((a, b) => a - b)
    return times[Math.ceil(0.95 * times.length) - 1] ?? 0
  }
}

/** Two lists with one text say the same. */
function textOf(hindrances: readonly Hindrance[]): string {
  return hindrances.map(({ code, detail, sinceMs }) => `${code} ${sinceMs} ${detail}`).join('\n')
}
