import { Worker } from 'node:worker_threads'
import type { ThreadAnswer, ThreadRequest, ThreadSettings, TokenizeJob } from './messages.js'
import type { ResolvedThreadOptions } from './thread-options.js'

/** What a thread is to do: tokenize a prompt, or load a folder. */
export interface ThreadWork {
  readonly folder: string
  readonly job: TokenizeJob | undefined
}

/** What came of it; `lost` = the thread is gone, by its own fault or because it took too long. */
export type ThreadResult =
  | ThreadAnswer
  | { readonly kind: 'lost'; readonly isKilled: boolean; readonly message: string }

/** Who owns the thread. */
export interface ThreadOwner<Work> {
  readonly finished: (work: Work, result: ThreadResult) => void
  /** The work has lasted long enough that others should not wait behind it. */
  readonly isSlow: () => void
}

/**
 * One worker thread, that does one thing at a time. It is started when there is work, and again after it was lost. It never keeps the
 * process alive.
 */
export class TokenizerThread<Work extends ThreadWork> {
  readonly #options: ResolvedThreadOptions
  readonly #owner: ThreadOwner<Work>
  #worker: Worker | undefined
  #current: Work | undefined
  #id = 0
  #isSlow = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: ResolvedThreadOptions, owner: ThreadOwner<Work>) {
    this.#options = options
    this.#owner = owner
  }

  get isBusy(): boolean {
    return this.#current !== undefined
  }

  /** It was not started, or was lost: nothing is loaded. */
  get isCold(): boolean {
    return this.#worker === undefined
  }

  /** What it does. */
  get current(): Work | undefined {
    return this.#current
  }

  /** What it does has lasted for a quarter of the budget. */
  get isSlow(): boolean {
    return this.#isSlow
  }

  /** Must not be busy. */
  start(work: Work): void {
    this.#current = work
    this.#id++
    this.#isSlow = false
    this.#watch()
    try {
      this.#worker ??= this.#launch()
      send(this.#worker, this.#id, work)
    } catch (error) {
      // Never before `start` has returned: the owner may start it again.
      const id = this.#id
      setImmediate(() => this.#lose(id, false, textOf(error)))
    }
  }

  /** Ends the thread; what it does is not reported any more. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#current = undefined
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }

  #launch(): Worker {
    const { cacheBytes, maxTextBytes, maxTokenizers, threadMemoryMb, workerUrl } = this.#options
    const settings: ThreadSettings = { cacheBytes, maxTextCharacters: maxTextBytes, maxTokenizers }
    const worker = new Worker(workerUrl, {
      name: 'tokenizer',
      execArgv: [],
      workerData: settings,
      resourceLimits: { maxOldGenerationSizeMb: threadMemoryMb },
    })
    let failure = 'the thread ended by itself'
    worker.on('error', (error) => (failure = textOf(error)))
    worker.on('exit', () => {
      if (this.#worker !== worker) return
      this.#worker = undefined
      this.#lose(this.#id, false, failure)
    })
    worker.on('message', (answer: ThreadAnswer) => {
      if (this.#worker === worker && answer.id === this.#id) this.#finish(answer)
    })
    // A listener for messages would undo it.
    worker.unref()
    return worker
  }

  #watch(): void {
    const { budgetMs, killAfterMs } = this.#options
    const patienceMs = Math.min(Math.ceil(budgetMs / 4), killAfterMs)
    this.#wait(patienceMs, () => {
      this.#isSlow = true
      this.#wait(killAfterMs - patienceMs, (id) =>
        this.#lose(id, true, `one prompt took longer than ${killAfterMs} ms`),
      )
      this.#owner.isSlow()
    })
  }

  /** Calls unless the work is done; an answer that has arrived meanwhile is taken first. */
  #wait(forMs: number, call: (id: number) => void): void {
    const id = this.#id
    const isOver = (): boolean => this.#current === undefined || this.#id !== id
    this.#timer = setTimeout(() => setImmediate(() => isOver() || call(id)), forMs).unref()
  }

  #lose(id: number, isKilled: boolean, message: string): void {
    if (this.#current === undefined || this.#id !== id) return
    const worker = this.#worker
    this.#worker = undefined
    void worker?.terminate()
    this.#finish({ kind: 'lost', isKilled, message })
  }

  #finish(result: ThreadResult): void {
    clearTimeout(this.#timer)
    const work = this.#current
    this.#current = undefined
    this.#isSlow = false
    if (work !== undefined) this.#owner.finished(work, result)
  }
}

function send(worker: Worker, id: number, { folder, job }: ThreadWork): void {
  if (job === undefined) {
    const request: ThreadRequest = { id, folder, prompt: undefined }
    worker.postMessage(request)
    return
  }
  const { endpoint, layout } = job
  const body = joined(job.body)
  const request: ThreadRequest = { id, folder, prompt: { endpoint, body, layout } }
  worker.postMessage(request, [body.buffer])
}

/** A copy that can be given away. */
function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const body = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    body.set(piece, at)
    at += piece.length
  }
  return body
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
