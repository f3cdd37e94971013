import type { EngineSettings } from './parameters.js'
import { PassBatches } from './pass-batches.js'
import type { EndReason, PassLog } from './pass-log.js'
import type { RequestBlocks } from './request-blocks.js'
import type { RequestEnds } from './request-ends.js'
import { NumberQueue, type RequestTable, stages } from './request-table.js'

/** Who runs, who waits, and what each pass does. Nothing is allocated but to grow. */
export class VllmScheduler {
  readonly batches = new PassBatches()
  preemptions = 0
  committedPrefillTokens = 0
  runningCount = 0
  readonly #settings: EngineSettings
  readonly #requests: RequestTable
  readonly #blocks: RequestBlocks
  readonly #log: PassLog
  readonly #ends: RequestEnds
  readonly #waiting = new NumberQueue()
  /** In the order of admission. */
  #running = new Int32Array(64)
  /** Running requests that ask for no output. */
  #outputlessCount = 0
  /** Whether running requests were cancelled in this pass. */
  #hasLeaving = false
  #budget = 0
  #didAnything = false
  /** Whether this pass is more than one token each for requests that decode, so that what it costs has to be summed up at its end. */
  #isMixed = false

  constructor(
    settings: EngineSettings,
    requests: RequestTable,
    blocks: RequestBlocks,
    log: PassLog,
    ends: RequestEnds,
  ) {
    this.#settings = settings
    this.#requests = requests
    this.#blocks = blocks
    this.#log = log
    this.#ends = ends
  }

  get waitingCount(): number {
    return this.#waiting.size
  }

  enqueue(request: number): void {
    this.#waiting.pushBack(request)
  }

  /** The client gave a live request up: it takes part in no further pass. False and nothing done when it is over or leaves already. */
  cancel(request: number, isPassRunning: boolean): boolean {
    const { stage } = this.#requests
    if (stage[request] === stages.running && isPassRunning) {
      stage[request] = stages.leaving
      this.#hasLeaving = true
      return true
    }
    if (stage[request] === stages.waiting) this.#waiting.remove(request)
    else if (stage[request] === stages.running) this.#stop(request, this.#running.indexOf(request))
    else return false
    this.#ends.cancel(request)
    return true
  }

  /** Forms a pass; false when there is nothing to do, nor to tell. */
  schedule(): boolean {
    this.#budget = this.#settings.maxPassTokens
    this.#didAnything = false
    this.#isMixed = false
    this.batches.clear()
    const preemptionsBefore = this.preemptions
    this.#continueRunning()
    if (this.preemptions === preemptionsBefore) while (this.#admitFirst());
    if (this.#isMixed) this.batches.sum(this.#requests, this.#running, this.runningCount)
    return this.#didAnything || this.#ends.isPending
  }

  /** Ends the pass: requests that were cancelled, tokens, requests that are done, then those refused. */
  produce(): void {
    const { computedTokens, knownTokens, promptTokens, stopTokens, stage } = this.#requests
    const log = this.#log
    const hasLeaving = this.#hasLeaving
    this.#hasLeaving = false
    const running = this.#running
    if (this.#isMixed) this.#settleScheduled()
    this.#ends.endCancelled()
    if (this.#outputlessCount > 0) this.#endOutputless()
    const count = this.runningCount
    let kept = 0
    // Where all only decoded, each has its token and stays, up to the first that ends.
    if (!this.#isMixed && !hasLeaving && this.#budget > 0) {
      for (; kept < count; kept++) {
        const request = running[kept]!
        const known = knownTokens[request]! + 1
        if (known === stopTokens[request]!) break
        knownTokens[request] = known
        log.token(request, known - promptTokens[request]!)
      }
    }
    for (let index = kept; index < count; index++) {
      const request = running[index]!
      const known = knownTokens[request]!
      const stop = stopTokens[request]!
      if (hasLeaving && stage[request] === stages.leaving) {
        this.#leave(request)
        continue
      }
      if (computedTokens[request] === known && known < stop) {
        knownTokens[request] = known + 1
        log.token(request, known + 1 - promptTokens[request]!)
        if (known + 1 === stop) {
          this.#blocks.release(request)
          this.#ends.end(request, 'completed')
          continue
        }
      }
      if (kept !== index) running[kept] = request
      kept++
    }
    this.runningCount = kept
    this.#ends.endRefused()
  }

  /** Step 1: running requests in order, as far as the budget goes. */
  #continueRunning(): void {
    const { computedTokens, quietTokens } = this.#requests
    const running = this.#running
    let quietBatch = 0
    let quietContext = 0
    for (let index = 0; index < this.runningCount && this.#budget > 0; index++) {
      const request = running[index]!
      // Of a request that only decodes, the tokens known are those computed and one.
      const known = computedTokens[request]! + 1
      if (known < quietTokens[request]!) {
        computedTokens[request] = known
        this.#budget--
        quietBatch++
        quietContext += known
      } else if (!this.#continueOne(request, index)) break
    }
    if (quietBatch > 0) this.#didAnything = true
    this.batches.decodeBatch += quietBatch
    this.batches.decodeContext += quietContext
  }

  /** A request that needs a block, fills one, or does more than decode; false when it runs no longer, which ends step 1. */
  #continueOne(request: number, index: number): boolean {
    const { computedTokens, knownTokens, quietTokens, roomTokens, scheduledTokens } = this.#requests
    const before = computedTokens[request]!
    const known = knownTokens[request]!
    const after = before + Math.min(known - before, this.#budget)
    if (after > roomTokens[request]! && !this.#makeRoom(request, index, after)) return false
    computedTokens[request] = after
    this.#budget -= after - before
    this.#didAnything = true
    this.#blocks.fill(request, after)
    if (quietTokens[request]! > 0) {
      this.#keepQuiet(request)
      this.batches.decodeBatch++
      this.batches.decodeContext += known
    } else {
      scheduledTokens[request] = after - before
      this.#isMixed = true
    }
    return true
  }

  /** From now on the request only decodes, or still does. */
  #keepQuiet(request: number): void {
    const { quietTokens, roomTokens, fullAtTokens } = this.#requests
    quietTokens[request] = Math.min(roomTokens[request]! + 1, fullAtTokens[request]!)
  }

  /** Room for the first `tokens` tokens of a request, if others must go for it; false when it had to go itself. */
  #makeRoom(request: number, index: number, tokens: number): boolean {
    if (this.#blocks.blocksOf(tokens) > this.#settings.poolBlocks) {
      // It has outgrown the pool, and holds all of it, so that nobody else runs.
      this.#stop(request, index)
      this.#ends.refuse(request, 'outputs_exceed_pool')
      return false
    }
    while (!this.#blocks.extend(request, tokens)) {
      const victimIndex = this.#settings.preemptsFirst ? 0 : this.runningCount - 1
      const victim = this.#running[victimIndex]!
      this.#preempt(victim, victimIndex)
      if (victim === request) return false
    }
    return true
  }

  #preempt(request: number, index: number): void {
    const { computedTokens, knownTokens, quietTokens, scheduledTokens } = this.#requests
    const scheduled =
      quietTokens[request]! > 0
        ? computedTokens[request]! + 1 - knownTokens[request]!
        : scheduledTokens[request]!
    this.#stop(request, index)
    computedTokens[request] = 0
    this.#budget += scheduled
    scheduledTokens[request] = 0
    quietTokens[request] = 0
    this.#waiting.pushFront(request)
    this.#requests.stage[request] = stages.waiting
    this.preemptions++
    this.#didAnything = true
    this.#isMixed = true
    this.#log.preempted(request)
  }

  #leave(request: number): void {
    if (this.#requests.maxOutputTokens[request] === 0) this.#outputlessCount--
    this.#blocks.release(request)
    this.#ends.end(request, 'cancelled')
  }

  #stop(request: number, index: number): void {
    this.#blocks.release(request)
    // What follows moves up; the walk of step 1 does not step back for it.
    this.#running.copyWithin(index, index + 1, this.runningCount--)
    if (this.#requests.maxOutputTokens[request] === 0) this.#outputlessCount--
  }

  /** Step 2, for the head of the queue; false when it has to wait. */
  #admitFirst(): boolean {
    const { maxRunning, maxModelTokens, poolBlocks, blockSize, chunksPrefill } = this.#settings
    if (this.#waiting.size === 0 || this.runningCount >= maxRunning) return false
    const requests = this.#requests
    const request = this.#waiting.first
    const known = requests.knownTokens[request]!
    const prompt = requests.promptTokens[request]!
    const blocks = this.#blocks.blocksOf(known)
    // Never of a request that ran before: that one ends when its outputs take more than the pool.
    if (blocks > poolBlocks || prompt >= maxModelTokens) {
      this.#refuseFirst(blocks > poolBlocks ? 'prompt_exceeds_pool' : 'prompt_exceeds_model_len')
      return true
    }
    const hasOutputLeft = requests.maxOutputTokens[request]! > 0
    const hitBlocks = this.#blocks.hits(request, Math.floor((hasOutputLeft ? known - 1 : known) / blockSize))
    const { pool } = this.#blocks
    if (blocks - this.#blocks.activeHits(request, hitBlocks) > poolBlocks - pool.active) return false
    const hit = hitBlocks * blockSize
    const rest = known - hit
    const tokens = rest < this.#budget ? rest : this.#budget
    if (tokens === 0 && rest > 0) return false
    if (!chunksPrefill && prompt - hit > this.#budget) {
      // With nobody running the next pass is no larger, and the cache no fuller.
      if (this.runningCount > 0) return false
      this.#refuseFirst('prompt_exceeds_pass')
      return true
    }
    this.#waiting.shift()
    this.#blocks.takeHits(request, hitBlocks)
    this.#blocks.extend(request, hit + tokens)
    requests.computedTokens[request] = hit + tokens
    requests.scheduledTokens[request] = tokens
    this.#budget -= tokens
    this.#didAnything = true
    this.#isMixed = true
    this.#log.admitted(request, hit, requests.wasAdmitted[request] === 1)
    requests.wasAdmitted[request] = 1
    this.#blocks.fill(request, hit + tokens)
    this.#run(request)
    return true
  }

  #refuseFirst(reason: EndReason): void {
    this.#ends.refuse(this.#waiting.first, reason)
    this.#waiting.shift()
  }

  #run(request: number): void {
    if (this.runningCount === this.#running.length) {
      const running = new Int32Array(this.runningCount * 2)
      running.set(this.#running)
      this.#running = running
    }
    this.#running[this.runningCount++] = request
    this.#requests.stage[request] = stages.running
    if (this.#requests.maxOutputTokens[request] === 0) this.#outputlessCount++
  }

  /** What was scheduled is computed: counts prefill, and whoever has all its tokens only decodes from now on. */
  #settleScheduled(): void {
    const { computedTokens, knownTokens, promptTokens, quietTokens, scheduledTokens } = this.#requests
    for (let index = 0; index < this.runningCount; index++) {
      const request = this.#running[index]!
      if (quietTokens[request]! > 0) continue
      const scheduled = scheduledTokens[request]!
      if (computedTokens[request]! - scheduled < promptTokens[request]!)
        this.committedPrefillTokens += scheduled
      scheduledTokens[request] = 0
      if (computedTokens[request] === knownTokens[request]) this.#keepQuiet(request)
    }
  }

  /** Requests without output whose prompt is computed. */
  #endOutputless(): void {
    const { computedTokens, knownTokens, maxOutputTokens, stage } = this.#requests
    const running = this.#running
    let kept = 0
    for (let index = 0; index < this.runningCount; index++) {
      const request = running[index]!
      const isDone = maxOutputTokens[request] === 0 && computedTokens[request] === knownTokens[request]
      if (isDone && stage[request] === stages.running) {
        this.#outputlessCount--
        this.#blocks.release(request)
        this.#ends.end(request, 'completed')
      } else running[kept++] = request
    }
    this.runningCount = kept
  }
}
