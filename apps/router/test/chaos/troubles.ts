import { setTimeout as pause } from 'node:timers/promises'
import type { EngineProcess } from './engine-process.js'

export type TroubleKind = 'kill' | 'hang' | 'faults'

/** Something that was done to an engine. */
export interface Trouble {
  readonly kind: TroubleKind
  readonly engine: EngineProcess
  readonly fromMs: number
  /** When its cause was gone; absent = it is there. */
  toMs: number | undefined
}

/** How often engines get into trouble, and for how long; pairs are the least and the most, and little is likelier than much. */
export interface TroublePace {
  /** Requests that end between two troubles. */
  readonly everyRequests: readonly [number, number]
  readonly downMs: readonly [number, number]
  readonly hangMs: readonly [number, number]
  readonly faultsMs: readonly [number, number]
}

/** Troubles that are remembered: more than can meet one request. */
const remembered = 64

const kindsInTurn: readonly TroubleKind[] = ['kill', 'hang', 'faults', 'kill']

/** Each meets a share of an engine's requests. */
const requestFaults = [
  { kind: 'error', status: 503, fraction: 0.2 },
  { kind: 'error', status: 429, fraction: 0.1 },
  { kind: 'reset_before_headers', fraction: 0.1 },
  { kind: 'cut', after_chunks: 2, fraction: 0.1 },
]

/**
 * Breaks engines at random and mends them: kills and starts again, hangs while the health says that all is well, answers badly. At most half
 * of the engines are broken at once, and one counts as broken until it answered a request again.
 */
export class Troubles {
  readonly counts: Record<TroubleKind, number> = { kill: 0, hang: 0, faults: 0 }
  readonly #engines: readonly EngineProcess[]
  readonly #random: () => number
  readonly #pace: TroublePace
  readonly #mayBegin: () => boolean
  readonly #onRestart: (engine: EngineProcess) => void
  readonly #onError: (error: unknown) => void
  readonly #broken = new Map<EngineProcess, Trouble>()
  #history: Trouble[] = []
  #begun = 0
  #due: number
  #isStopped = true

  constructor(options: {
    readonly engines: readonly EngineProcess[]
    readonly random: () => number
    readonly pace: TroublePace
    /** Asked before each one. */
    readonly mayBegin: () => boolean
    /** A killed one is started: from now on it may listen. */
    readonly onRestart: (engine: EngineProcess) => void
    /** Something went wrong with the harness itself. */
    readonly onError: (error: unknown) => void
  }) {
    this.#engines = options.engines
    this.#random = options.random
    this.#pace = options.pace
    this.#mayBegin = options.mayBegin
    this.#onRestart = options.onRestart
    this.#onError = options.onError
    this.#due = this.#between(options.pace.everyRequests)
  }

  /** Troubles so far. */
  get begun(): number {
    return this.#begun
  }

  /** Nothing begins any more, and every engine is well. */
  get areOver(): boolean {
    return this.#isStopped && this.#broken.size === 0
  }

  /** Engines that are not well yet. */
  get broken(): readonly EngineProcess[] {
    return [...this.#broken.keys()]
  }

  start(): void {
    this.#isStopped = false
  }

  /** Begins nothing any more; what began is mended. */
  stop(): void {
    this.#isStopped = true
  }

  /** A request ended: perhaps something breaks now. @param answeredBy engine that answered it well @param askedMs when its client asked */
  requestEnded(answeredBy: EngineProcess | undefined, askedMs: number): void {
    const trouble = answeredBy && this.#broken.get(answeredBy)
    if (trouble?.toMs !== undefined && askedMs > trouble.toMs) this.#broken.delete(trouble.engine)
    if (--this.#due > 0 || this.#isStopped) return
    const sound = this.#engines.filter((engine) => !this.#broken.has(engine))
    if (sound.length <= this.#engines.length / 2 || !this.#mayBegin()) return
    this.#due = this.#between(this.#pace.everyRequests)
    const engine = sound[Math.floor(sound.length * this.#random())]!
    const next: Trouble = {
      kind: kindsInTurn[this.#begun++ % kindsInTurn.length]!,
      engine,
      fromMs: performance.now(),
      toMs: undefined,
    }
    this.counts[next.kind]++
    this.#broken.set(engine, next)
    this.#history = [...this.#history, next].slice(-remembered)
    this.#pass(next).catch(this.#onError)
  }

  /** What was wrong with engines at some time between two moments. */
  between(fromMs: number, toMs: number): Trouble[] {
    return this.#history.filter((trouble) => trouble.fromMs <= toMs && (trouble.toMs ?? Infinity) >= fromMs)
  }

  async #pass(trouble: Trouble): Promise<void> {
    const { kind, engine } = trouble
    if (kind === 'kill') {
      await engine.kill()
      await pause(this.#between(this.#pace.downMs))
      this.#onRestart(engine)
      await engine.start()
    } else {
      const isHang = kind === 'hang'
      await engine.addFaults(isHang ? [{ kind: 'health_lies', says: 200 }] : requestFaults)
      await pause(this.#between(isHang ? this.#pace.hangMs : this.#pace.faultsMs))
      await engine.removeFaults()
    }
    trouble.toMs = performance.now()
  }

  #between([least, most]: readonly [number, number]): number {
    return Math.round(least + (most - least) * this.#random() ** 3)
  }
}
