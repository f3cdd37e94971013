import { type EndReason, type PassSink, VllmEngine } from '@router/engine-sim'
import { BlockHasher, BlockHashes, hashesOf } from '@router/kv-index'
import type { RustReplayLine } from '../shapes/rust-replay.js'
import { Arrivals } from './rust-replay-arrivals.js'
import { type ReplayRouter, type RoutedRequest, replayRouter } from './rust-replay-router.js'
import type { Kernel } from './selectors.js'

/** What became of a row so far. */
export interface RowRun extends RoutedRequest {
  readonly admissions: ['agg', number, number, boolean][]
  readonly tokenMs: number[]
  endMs: number | null
  status: 'completed' | 'rejected' | 'failed' | 'incomplete'
}

/** What a run came to. */
export interface ReplayRun {
  /** In the order of arrival. */
  readonly rows: readonly RowRun[]
  readonly committedPrefillTokens: number
  /** No pass starts and nothing is due, or the passes do not end. */
  readonly isStuck: boolean
}

const mostPasses = 4_000_000

/** Plays the trace of a line on its engines behind one router, on a virtual clock. */
export function replay(line: RustReplayLine, kernel: Kernel): ReplayRun {
  return new ReplayLoop(line, kernel).run()
}

class ReplayLoop {
  readonly #line: RustReplayLine
  readonly #workers: readonly ReplayWorker[]
  readonly #arrivals: Arrivals
  readonly #router: ReplayRouter
  readonly #hasher = new BlockHasher()
  readonly #rows: RowRun[] = []
  #nowMs = 0
  #passes = 0

  constructor(line: RustReplayLine, kernel: Kernel) {
    this.#line = line
    this.#arrivals = new Arrivals(line)
    const told: WorkerHost = {
      nowMs: () => this.#nowMs,
      stored: (worker, hash) => this.#router.stored(worker, hash),
      removed: (worker, hash) => this.#router.removed(worker, hash),
      token: (run) => this.#token(run),
      ended: (run) => this.#ended(run),
    }
    this.#workers = Array.from({ length: line.workers }, (_, id) => new ReplayWorker(id, line, told))
    const { blockSize, maxPassTokens } = this.#workers[0]!.engine.settings
    this.#router = replayRouter(line, kernel, {
      workers: line.workers,
      blockSize,
      maxPassTokens,
      nowMs: () => this.#nowMs,
      send: (request) => this.#workers[request.worker]!.submit(request as RowRun),
    })
  }

  run(): ReplayRun {
    try {
      for (;;) {
        this.#nowMs = Math.min(this.#arrivals.nextMs, ...this.#workers.map(({ endMs }) => endMs))
        if (this.#nowMs === Infinity || this.#passes > mostPasses) break
        do {
          this.#finishPasses()
          while (this.#arrivals.nextMs <= this.#nowMs) this.#arrive(this.#arrivals.take())
          this.#startPasses()
        } while (this.#arrivals.nextMs <= this.#nowMs && this.#passes <= mostPasses)
      }
    } finally {
      this.#router.dispose()
    }
    return {
      rows: this.#rows,
      committedPrefillTokens: this.#workers.reduce(
        (sum, { engine }) => sum + engine.committedPrefillTokens,
        0,
      ),
      isStuck: this.#rows.some(({ status }) => status === 'incomplete'),
    }
  }

  /** Passes that end now, in the order in which they began. */
  #finishPasses(): void {
    this.#workers
      .filter(({ endMs }) => endMs === this.#nowMs)
      .toSorted((a, b) => a.passNumber - b.passNumber)
      .forEach((worker) => worker.finishPass())
  }

  /** On every idle worker with work. A pass that takes no time is over before the arrivals that it releases, and all are asked anew. */
  #startPasses(): void {
    for (let id = 0; id < this.#workers.length && this.#passes <= mostPasses; id++) {
      const worker = this.#workers[id]!
      if (worker.endMs !== Infinity || !worker.startPass(this.#passes)) continue
      this.#passes++
      if (worker.endMs > this.#nowMs) continue
      worker.finishPass()
      id = -1
    }
  }

  #arrive(row: number): void {
    const { blockSize: traceBlock, rows } = this.#line.trace
    const { input_length: inputTokens, hash_ids: ids, output_token_ids: outputs = [] } = rows[row]!
    const { blockSize } = this.#workers[0]!.engine.settings
    const hashes = new BlockHashes()
    const tokens = Uint32Array.from({ length: inputTokens + outputs.length }, (_, index) =>
      index < inputTokens ? ids[Math.floor(index / traceBlock)]! : outputs[index - inputTokens]!,
    )
    this.#hasher.hash(tokens, { blockSize }, hashes)
    const run: RowRun = {
      row,
      arrivalMs: this.#nowMs,
      inputTokens,
      hashes,
      promptBlocks: Math.floor(inputTokens / blockSize),
      worker: -1,
      queuedAtMs: null,
      releasedAtMs: null,
      selectedOverlapBlocks: null,
      bestOverlapBlocks: null,
      admissions: [],
      tokenMs: [],
      endMs: null,
      status: 'incomplete',
    }
    this.#rows.push(run)
    this.#router.arrive(run)
  }

  #token(run: RowRun): void {
    run.tokenMs.push(this.#nowMs)
    const { output_length: outputs } = this.#line.trace.rows[run.row]!
    const { maxModelTokens } = this.#workers[0]!.engine.settings
    // A first token that is also the last is only an end.
    if (run.tokenMs.length === 1 && Math.min(outputs, maxModelTokens - run.inputTokens) > 1)
      this.#router.prefilled(run)
  }

  #ended(run: RowRun): void {
    this.#arrivals.ended(run.row, this.#nowMs, run.status === 'failed')
    this.#router.ended(run)
  }
}

/** Whom a worker tells what its engine did. */
interface WorkerHost {
  readonly nowMs: () => number
  readonly stored: (worker: number, hash: bigint) => void
  readonly removed: (worker: number, hash: bigint) => void
  readonly token: (run: RowRun) => void
  readonly ended: (run: RowRun) => void
}

class ReplayWorker implements PassSink {
  readonly engine: VllmEngine
  /** When the pass ends that runs; `Infinity` = none does. */
  endMs = Infinity
  passNumber = 0
  readonly #id: number
  readonly #rows: RustReplayLine['trace']['rows']
  readonly #host: WorkerHost
  /** Live requests by their number in the engine. */
  readonly #runs = new Map<number, RowRun>()
  readonly #hashOfBlock = new Map<number, bigint>()
  #startMs = 0

  constructor(id: number, { engine, trace }: RustReplayLine, host: WorkerHost) {
    this.#id = id
    this.engine = new VllmEngine(engine)
    this.#rows = trace.rows
    this.#host = host
  }

  submit(run: RowRun): void {
    const request = this.engine.submit({
      promptTokens: run.inputTokens,
      outputTokens: this.#rows[run.row]!.output_length,
      blockKeys: run.hashes.sequence,
      blockKeyCount: run.hashes.count,
    })
    this.#runs.set(request, run)
  }

  /** False when there is nothing to do. */
  startPass(passNumber: number): boolean {
    this.#startMs = this.#host.nowMs()
    const pass = this.engine.startPass(this.#startMs)
    if (pass === undefined) return false
    this.endMs = pass.endMs
    this.passNumber = passNumber
    return true
  }

  finishPass(): void {
    this.endMs = Infinity
    this.engine.finishPass(this)
  }

  admitted(request: number, hitTokens: number, isReadmission: boolean): void {
    this.#runs.get(request)!.admissions.push(['agg', this.#startMs, hitTokens, isReadmission])
  }

  preempted(): void {}

  stored(block: number, request: number, index: number): void {
    const { hashes } = this.#runs.get(request)!
    // Outputs that nobody gave are fresh, so that no prompt has a block with one.
    const [hash = undefined] = index < hashes.count ? hashesOf(hashes.sequence.subarray(2 * index), 1) : []
    if (hash === undefined) return
    this.#hashOfBlock.set(block, hash)
    this.#host.stored(this.#id, hash)
  }

  removed(block: number): void {
    const hash = this.#hashOfBlock.get(block)
    if (hash === undefined) return
    this.#hashOfBlock.delete(block)
    this.#host.removed(this.#id, hash)
  }

  token(request: number): void {
    this.#host.token(this.#runs.get(request)!)
  }

  ended(request: number, reason: EndReason): void {
    const run = this.#runs.get(request)!
    this.#runs.delete(request)
    run.endMs = this.#host.nowMs()
    run.status = statusOf(reason)
    this.#host.ended(run)
  }
}

function statusOf(reason: EndReason): RowRun['status'] {
  if (reason === 'completed') return 'completed'
  return reason === 'prompt_exceeds_pool' || reason === 'prompt_exceeds_model_len' ? 'rejected' : 'failed'
}
