import { type EndReason, type PassSink, VllmEngine } from '@router/engine-sim'
import { BlockHasher, BlockHashes, hashesOf } from '@router/kv-index'
import type { RustReplayLine } from '../shapes/rust-replay.js'
import { Arrivals } from './rust-replay-arrivals.js'

/** What became of a row so far. */
export interface RowRun {
  readonly row: number
  readonly arrivalMs: number
  readonly inputTokens: number
  readonly admissions: ['agg', number, number, boolean][]
  readonly tokenMs: number[]
  endMs: number | null
  status: 'completed' | 'rejected' | 'failed' | 'incomplete'
  queuedAtMs: number | null
  releasedAtMs: number | null
  /** Blocks of the prompt that the router knew to be cached. */
  readonly overlapBlocks: number
  /** Sequence hashes of the complete blocks of the prompt. */
  readonly hashes: BlockHashes
}

/** What a run over one worker came to. */
export interface ReplayRun {
  /** In the order of arrival. */
  readonly rows: readonly RowRun[]
  readonly committedPrefillTokens: number
  /** No pass starts and nothing is due, or the passes do not end. */
  readonly isStuck: boolean
}

const mostPasses = 4_000_000

/** Plays the trace of a line on one engine behind one router, on a virtual clock. */
export function replay(line: RustReplayLine): ReplayRun {
  return new ReplayLoop(line).run()
}

class ReplayLoop implements PassSink {
  readonly #line: RustReplayLine
  readonly #engine: VllmEngine
  readonly #arrivals: Arrivals
  readonly #hasher = new BlockHasher()
  readonly #rows: RowRun[] = []
  /** Live requests by their number in the engine. */
  readonly #runs = new Map<number, RowRun>()
  /** Requests that wait in the router. */
  readonly #queue: RowRun[] = []
  readonly #busyTokens: number
  /** Prompt tokens of requests that have no token yet. */
  readonly #prefill = new Map<RowRun, number>()
  /** What the router knows of the cache, and changes that it does not know yet. */
  readonly #known = new Set<bigint>()
  readonly #changes: { readonly atMs: number; readonly hash: bigint; readonly isStored: boolean }[] = []
  readonly #hashOfBlock = new Map<number, bigint>()
  #nowMs = 0
  #startMs = 0

  constructor(line: RustReplayLine) {
    this.#line = line
    this.#engine = new VllmEngine(line.engine)
    this.#arrivals = new Arrivals(line)
    const { router } = line
    const threshold = router.mode === 'kv_router' ? router.config?.router_queue_threshold : null
    this.#busyTokens = (threshold ?? Infinity) * this.#engine.settings.maxPassTokens
  }

  run(): ReplayRun {
    let endMs = Infinity
    let passes = 0
    for (;;) {
      this.#nowMs = Math.min(endMs, this.#arrivals.nextMs)
      if (this.#nowMs === Infinity || passes > mostPasses) break
      do {
        if (endMs === this.#nowMs) {
          this.#engine.finishPass(this)
          endMs = Infinity
        }
        while (this.#arrivals.nextMs <= this.#nowMs) this.#arrive(this.#arrivals.take())
        if (endMs === Infinity) {
          const pass = this.#engine.startPass(this.#nowMs)
          if (pass !== undefined) {
            endMs = pass.endMs
            this.#startMs = this.#nowMs
            passes++
          }
        }
        // A pass that takes no time is over before the arrivals that it releases.
        while (endMs === this.#nowMs && passes <= mostPasses) {
          this.#engine.finishPass(this)
          const pass = this.#engine.startPass(this.#nowMs)
          endMs = pass?.endMs ?? Infinity
          this.#startMs = this.#nowMs
          passes++
        }
      } while (this.#arrivals.nextMs <= this.#nowMs && passes <= mostPasses)
    }
    return {
      rows: this.#rows,
      committedPrefillTokens: this.#engine.committedPrefillTokens,
      isStuck: this.#rows.some(({ status }) => status === 'incomplete'),
    }
  }

  admitted(request: number, hitTokens: number, isReadmission: boolean): void {
    this.#runs.get(request)!.admissions.push(['agg', this.#startMs, hitTokens, isReadmission])
  }

  preempted(): void {}

  stored(block: number, request: number, index: number): void {
    const { hashes } = this.#runs.get(request)!
    // Outputs are fresh, so that no prompt has a block with one.
    const [hash = undefined] = index < hashes.count ? hashesOf(hashes.sequence.subarray(2 * index), 1) : []
    if (hash === undefined) return
    this.#hashOfBlock.set(block, hash)
    this.#change(hash, true)
  }

  removed(block: number): void {
    const hash = this.#hashOfBlock.get(block)
    if (hash === undefined) return
    this.#hashOfBlock.delete(block)
    this.#change(hash, false)
  }

  token(request: number): void {
    const run = this.#runs.get(request)!
    run.tokenMs.push(this.#nowMs)
    if (this.#prefill.delete(run)) this.#release()
  }

  ended(request: number, reason: EndReason): void {
    const run = this.#runs.get(request)!
    this.#runs.delete(request)
    this.#prefill.delete(run)
    run.endMs = this.#nowMs
    run.status = statusOf(reason)
    this.#arrivals.ended(run.row, this.#nowMs, run.status === 'failed')
    this.#release()
  }

  #change(hash: bigint, isStored: boolean): void {
    this.#changes.push({ atMs: this.#nowMs + (this.#line.kvEventLagMs ?? 0), hash, isStored })
  }

  #arrive(row: number): void {
    const { input_length: inputTokens, hash_ids: ids } = this.#line.trace.rows[row]!
    const { blockSize } = this.#line.trace
    const hashes = new BlockHashes()
    const tokens = Uint32Array.from(
      { length: inputTokens },
      (_, index) => ids[Math.floor(index / blockSize)]!,
    )
    this.#hasher.hash(tokens, { blockSize: this.#engine.settings.blockSize }, hashes)
    const run: RowRun = {
      row,
      arrivalMs: this.#nowMs,
      inputTokens,
      admissions: [],
      tokenMs: [],
      endMs: null,
      status: 'incomplete',
      queuedAtMs: null,
      releasedAtMs: null,
      overlapBlocks: this.#overlap(hashes),
      hashes,
    }
    this.#rows.push(run)
    if (this.#queue.length > 0 || this.#isBusy()) {
      run.queuedAtMs = this.#nowMs
      this.#queue.push(run)
    } else this.#dispatch(run)
  }

  #overlap(hashes: BlockHashes): number {
    while (this.#changes.length > 0 && this.#changes[0]!.atMs <= this.#nowMs) {
      const { hash, isStored } = this.#changes.shift()!
      if (isStored) this.#known.add(hash)
      else this.#known.delete(hash)
    }
    const all = hashesOf(hashes.sequence, hashes.count)
    const missing = all.findIndex((hash) => !this.#known.has(hash))
    return missing === -1 ? all.length : missing
  }

  #isBusy(): boolean {
    let active = 0
    for (const tokens of this.#prefill.values()) active += tokens
    return active > this.#busyTokens
  }

  #release(): void {
    while (this.#queue.length > 0 && !this.#isBusy()) {
      const run = this.#queue.shift()!
      run.releasedAtMs = this.#nowMs
      this.#dispatch(run)
    }
  }

  #dispatch(run: RowRun): void {
    const { hashes, inputTokens, overlapBlocks } = run
    const request = this.#engine.submit({
      promptTokens: inputTokens,
      outputTokens: this.#line.trace.rows[run.row]!.output_length,
      blockKeys: hashes.sequence,
      blockKeyCount: hashes.count,
    })
    this.#runs.set(request, run)
    this.#prefill.set(run, Math.max(0, inputTokens - overlapBlocks * this.#engine.settings.blockSize))
  }
}

function statusOf(reason: EndReason): RowRun['status'] {
  if (reason === 'completed') return 'completed'
  return reason === 'prompt_exceeds_pool' || reason === 'prompt_exceeds_model_len' ? 'rejected' : 'failed'
}
