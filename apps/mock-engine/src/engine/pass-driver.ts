import type { PassSink, VllmEngine } from '@router/engine-sim'
import type { VirtualClock } from './virtual-clock.js'

/** Passes that end in one turn of the event loop at most; others have their turn before the next ones. */
const passesPerTurn = 256
const longestTimerMs = 2 ** 31 - 1

/** What a pass did, and that it is over. */
export interface PassListener extends PassSink {
  passEnded: () => void
}

/**
 * Runs the passes of one engine in real time: one behind the other on the virtual clock, however late timers are, so that the engine does
 * as much as it should at any speed. Without work, or when the clock stands still, there is no timer.
 */
export class PassDriver {
  /** Turns of the event loop that were taken. */
  turns = 0
  readonly #engine: VllmEngine
  readonly #clock: VirtualClock
  readonly #listener: PassListener
  /** End of the pass that runs; absent = none does. */
  #endMs: number | undefined
  #isInTurn = false
  #isClosed = false
  #timer: NodeJS.Timeout | undefined
  #immediate: NodeJS.Immediate | undefined

  constructor(engine: VllmEngine, clock: VirtualClock, listener: PassListener) {
    this.#engine = engine
    this.#clock = clock
    this.#listener = listener
  }

  /** Work may have come. A pass starts in the next turn of the event loop, with all that has come by then. */
  wake(): void {
    if (this.#isClosed || this.#isInTurn || this.#endMs !== undefined) return
    this.#soon()
  }

  /** Ends what is due, so that work that comes now comes after it. */
  catchUp(): void {
    if (this.#endMs !== undefined && this.#clock.realMsUntil(this.#endMs) <= 0) this.#turn()
  }

  /** The clock has another rate. */
  retime(): void {
    if (this.#isClosed || this.#isInTurn) return
    this.#disarm()
    if (this.#endMs === undefined) this.#soon()
    else this.#arm(this.#endMs)
  }

  /** No pass ends or starts any more. */
  close(): void {
    this.#isClosed = true
    this.#disarm()
  }

  #turn(): void {
    this.#disarm()
    if (this.#clock.isStopped) return
    this.turns++
    this.#isInTurn = true
    try {
      this.#runPasses(this.#clock.nowMs)
    } finally {
      this.#isInTurn = false
      if (this.#endMs !== undefined) this.#arm(this.#endMs)
    }
  }

  /** Ends and starts passes until one ends after `nowMs`, there is no work, or others have waited long enough. */
  #runPasses(nowMs: number): void {
    // An idle engine starts now, a busy one where its last pass ended.
    let startMs = nowMs
    for (let passes = 0; !this.#isClosed; passes++) {
      this.#endMs ??= this.#engine.startPass(startMs)?.endMs
      if (this.#endMs === undefined || this.#endMs > nowMs || passes === passesPerTurn) return
      startMs = this.#endMs
      this.#endMs = undefined
      this.#engine.finishPass(this.#listener)
      this.#listener.passEnded()
    }
  }

  #arm(endMs: number): void {
    const delayMs = this.#clock.realMsUntil(endMs)
    if (delayMs <= 0) this.#soon()
    else if (delayMs < Infinity)
      this.#timer = setTimeout(() => this.#turn(), Math.min(Math.ceil(delayMs), longestTimerMs))
  }

  #soon(): void {
    this.#immediate ??= setImmediate(() => this.#turn())
  }

  #disarm(): void {
    clearTimeout(this.#timer)
    clearImmediate(this.#immediate)
    this.#timer = undefined
    this.#immediate = undefined
  }
}
