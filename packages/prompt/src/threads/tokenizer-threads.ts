import type { BlockHasher } from '@router/kv-index'
import { PromptError, type PromptErrorCode } from '../errors.js'
import { Affinity } from './affinity.js'
import { FolderHealth, type FolderRefusal } from './folder-health.js'
import type { ThreadPrompt, TokenizeJob } from './messages.js'
import type { ResolvedThreadOptions } from './thread-options.js'
import { type ThreadResult, TokenizerThread } from './tokenizer-thread.js'

/** What a caller is told; always one of these, and never a rejection. */
export type ThreadOutcome =
  | { readonly kind: 'done'; readonly prompt: ThreadPrompt; readonly vocabularySize: number }
  | FolderRefusal
  /** The tokenizer could not, for the reason of the code, or the thread was lost, without one. */
  | { readonly kind: 'failed'; readonly code: PromptErrorCode | undefined; readonly message: string }
  /**
   * `late`: the budget ran out; `queue_full`: too many wait; `too_large`: more bytes than may be tokenized; `killed`: it took too long and
   * the thread was ended; `closed`: the threads are no more.
   */
  | { readonly kind: 'late' | 'queue_full' | 'too_large' | 'killed' | 'closed' }

/** Sums since the start; only ever grow. */
export interface ThreadCounters {
  /** Prompts that were asked for, whatever came of them. */
  jobs: number
  done: number
  /** Tokens of these, and those of them that came out of the memory of a thread. */
  tokens: number
  reusedTokens: number
  /** Prompts whose tokenizer allows no cutting, so that nothing was reused. */
  wholePrompts: number
  /** The budget ran out; `droppedLate` of them were not begun and never will be. */
  late: number
  droppedLate: number
  /** Were done after their budget; what was learnt is remembered. */
  finishedLate: number
  queueFull: number
  tooLarge: number
  failed: number
  /** Threads ended for taking too long, and threads that ended by themselves. */
  killed: number
  crashed: number
  /** Folders that were set aside, and prompts that met one. */
  setAside: number
  refusedSetAside: number
  /** Loads that failed, and prompts that met a folder whose load had failed. */
  loadsFailed: number
  unavailable: number
  /** Prompts that went to another thread than the one that has their conversation. */
  spilled: number
}

type EntryOutcome = ThreadOutcome | { readonly kind: 'loaded' }

/** What waits for a thread or is done by one: a prompt, or a folder to load. */
interface Entry {
  readonly folder: string
  readonly job: TokenizeJob | undefined
  readonly keys: readonly number[]
  /** `undefined` once it was called. */
  settle: ((outcome: EntryOutcome) => void) | undefined
  timer: NodeJS.Timeout | undefined
}

// More waiting prompts at one thread than at another that make a conversation move.
const spillJobs = 2
// A thread that must load first comes behind one that idles, and before one that works.
const coldJobs = 0.5
// A slow thread counts as one with so many more prompts.
const slowJobs = 1024
// A prompt of more than 256 Ki characters, which a template may make of this, may take for ever by itself (a megabyte without a space), so
// that any client could have a folder set aside.
const blamedBytes = 49_152
// Loading a folder takes its time: so many times what one prompt may take.
const loadBudgets = 3

/**
 * Worker threads with tokenizers. A conversation goes to the thread that has its text segments, unless others have less to do. Each thread
 * does one prompt at a time; what waits, waits here, bounded by `queueLimit` and `budgetMs`.
 */
export class TokenizerThreads {
  readonly #options: ResolvedThreadOptions
  readonly #affinity: Affinity
  readonly #folders: FolderHealth
  readonly #threads: readonly TokenizerThread<Entry>[]
  readonly #queues: readonly Entry[][]
  readonly #counters: ThreadCounters
  #waiting = 0
  #isClosed = false

  /** @param hasher for keys of bodies; used within calls only */
  constructor(options: ResolvedThreadOptions, hasher: BlockHasher) {
    this.#options = options
    this.#affinity = new Affinity(hasher)
    this.#folders = new FolderHealth(options)
    this.#counters = noCounters()
    this.#queues = Array.from({ length: options.threads }, () => [])
    this.#threads = this.#queues.map(
      (_queue, index) =>
        new TokenizerThread<Entry>(options, {
          finished: (entry, result) => this.#finished(index, entry, result),
          isSlow: () => this.#moveQueue(index),
        }),
    )
  }

  /** Live; borrowed. */
  get counters(): Readonly<ThreadCounters> {
    return this.#counters
  }

  /** Prompts and loads that wait for a thread. */
  get waiting(): number {
    return this.#waiting
  }

  /** Threads that work. */
  get busy(): number {
    return this.#threads.filter((thread) => thread.isBusy).length
  }

  /** Starts of conversations whose thread is known, and folders that something is known of. */
  get sizes(): { readonly conversations: number; readonly folders: number } {
    return { conversations: this.#affinity.size, folders: this.#folders.size }
  }

  /** Token ids of a tokenizer that was loaded; `undefined` = not yet. */
  vocabularySizeOf(folder: string): number | undefined {
    return this.#folders.vocabularySizeOf(folder)
  }

  /** Tokenizes and hashes a prompt; what the event loop pays is a copy of the body. Answers within `budgetMs`. */
  run(job: TokenizeJob): Promise<ThreadOutcome> {
    const counters = this.#counters
    counters.jobs++
    if (this.#isClosed) return Promise.resolve({ kind: 'closed' })
    const refusal = this.#folders.refusal(job.folder)
    if (refusal !== undefined) return Promise.resolve(this.#countRefusal(refusal))
    if (bytesOf(job) > this.#options.maxTextBytes) {
      counters.tooLarge++
      return Promise.resolve({ kind: 'too_large' })
    }
    if (this.#waiting >= this.#options.queueLimit && this.busy === this.#threads.length) {
      counters.queueFull++
      return Promise.resolve({ kind: 'queue_full' })
    }
    return new Promise((resolve) => {
      const keys = this.#affinity.keysOf(job.body[0] ?? new Uint8Array(0))
      // A job is never answered as a load.
      const settle = resolve as (outcome: EntryOutcome) => void
      const entry: Entry = { folder: job.folder, job, keys, settle, timer: undefined }
      this.#await(entry, this.#options.budgetMs)
      this.#place(entry)
    })
  }

  /**
   * Loads a folder in every thread, so that no prompt has to wait for it. Errors: `PROMPT_TOKENIZER_MISSING`,
   * `PROMPT_TOKENIZER_INVALID`; the latter also where loading ends a thread or takes too long.
   */
  async load(folder: string): Promise<void> {
    const outcomes = await Promise.all(
      this.#threads.map(
        (_thread, index) =>
          new Promise<EntryOutcome>((settle) => {
            if (this.#isClosed) return settle({ kind: 'closed' })
            const entry: Entry = { folder, job: undefined, keys: [], settle, timer: undefined }
            this.#await(entry, loadBudgets * this.#options.killAfterMs)
            this.#begin(index, entry)
          }),
      ),
    )
    const failure = outcomes.find(({ kind }) => kind !== 'loaded')
    if (failure === undefined) return
    if (failure.kind === 'unavailable') throw new PromptError(failure.code, failure.message)
    const reason = 'message' in failure ? failure.message : failure.kind
    throw new PromptError('PROMPT_TOKENIZER_INVALID', `${folder} could not be loaded: ${reason}`)
  }

  /** Ends all threads; who waits is told `closed`. */
  async close(): Promise<void> {
    this.#isClosed = true
    const waiting = this.#queues.flatMap((queue) => queue.splice(0))
    this.#waiting = 0
    const running = this.#threads.map((thread) => thread.current)
    const ended = this.#threads.map((thread) => thread.close())
    for (const entry of [...waiting, ...running]) if (entry !== undefined) settle(entry, { kind: 'closed' })
    await Promise.all(ended)
  }

  #await(entry: Entry, forMs: number): void {
    // A thread's answer that has arrived meanwhile is taken first.
    entry.timer = setTimeout(() => setImmediate(() => this.#late(entry)), forMs)
  }

  #late(entry: Entry): void {
    if (entry.settle === undefined) return
    for (const queue of this.#queues) {
      const at = queue.indexOf(entry)
      if (at < 0) continue
      queue.splice(at, 1)
      this.#waiting--
      if (entry.job !== undefined) this.#counters.droppedLate++
    }
    if (entry.job !== undefined) this.#counters.late++
    settle(entry, { kind: 'late' })
  }

  /** Gives it to the thread of its conversation, or to the one with the least to do. */
  #place(entry: Entry): void {
    const loads = this.#threads.map((thread, index) => {
      const begun = thread.isSlow ? slowJobs : thread.isBusy ? 1 : thread.isCold ? coldJobs : 0
      return begun + this.#queues[index]!.length
    })
    let chosen = 0
    for (const [index, load] of loads.entries()) if (load < loads[chosen]!) chosen = index
    const home = this.#affinity.threadOf(entry.keys)
    if (home !== undefined && home !== chosen) {
      if (loads[home]! < loads[chosen]! + spillJobs) chosen = home
      else this.#counters.spilled++
    }
    this.#affinity.note(entry.keys, chosen)
    this.#begin(chosen, entry)
  }

  #begin(index: number, entry: Entry): void {
    const thread = this.#threads[index]!
    if (!thread.isBusy) return thread.start(entry)
    this.#queues[index]!.push(entry)
    this.#waiting++
  }

  /** What waits here goes where there is less to do; loads are of this very thread. */
  #moveQueue(index: number): void {
    const moved = this.#queues[index]!.splice(0)
    this.#waiting -= moved.length
    for (const entry of moved) {
      if (entry.job === undefined) this.#begin(index, entry)
      else this.#place(entry)
    }
  }

  #finished(index: number, entry: Entry, result: ThreadResult): void {
    const isLate = entry.settle === undefined
    const outcome = this.#note(entry, result, isLate)
    settle(entry, outcome)
    if (result.kind === 'lost' || result.kind === 'unavailable') this.#refuseWaiting(entry.folder)
    if (result.kind === 'lost') {
      // It has nothing any more and must load everything anew.
      this.#affinity.forget(index)
      return this.#moveQueue(index)
    }
    const next = this.#queues[index]!.shift()
    if (next === undefined) return
    this.#waiting--
    this.#threads[index]!.start(next)
  }

  #note({ folder, job }: Entry, result: ThreadResult, isLate: boolean): EntryOutcome {
    const counters = this.#counters
    if (result.kind === 'lost') {
      const { isKilled, message } = result
      if (isKilled) counters.killed++
      else counters.crashed++
      const isBlamed = job === undefined || bytesOf(job) <= blamedBytes
      if (this.#folders.lost(folder, message, isBlamed)) counters.setAside++
      return isKilled ? { kind: 'killed' } : { kind: 'failed', code: undefined, message }
    }
    if (result.kind === 'unavailable') {
      const { code, message, stamp } = result
      counters.loadsFailed++
      if (job !== undefined && !isLate) counters.unavailable++
      this.#folders.broke(folder, code, message, stamp)
      return { kind: 'unavailable', code, message }
    }
    if (result.kind === 'loaded') {
      this.#folders.loaded(folder, result.vocabularySize)
      return result
    }
    if (result.kind === 'failed') counters.failed++
    if (result.kind === 'done') {
      this.#folders.worked(folder, result.vocabularySize)
      const { tokens, reusedTokens, isWhole } = result.prompt
      counters.done++
      counters.tokens += tokens.length
      counters.reusedTokens += reusedTokens
      if (isWhole) counters.wholePrompts++
      if (isLate) counters.finishedLate++
    }
    return result
  }

  /** Of a folder that was just set aside or found broken nothing more is tried. */
  #refuseWaiting(folder: string): void {
    const refusal = this.#folders.refusal(folder)
    if (refusal === undefined) return
    for (const queue of this.#queues) {
      for (const entry of queue.filter((waiting) => waiting.folder === folder && waiting.job !== undefined)) {
        queue.splice(queue.indexOf(entry), 1)
        this.#waiting--
        settle(entry, this.#countRefusal(refusal))
      }
    }
  }

  #countRefusal(refusal: FolderRefusal): FolderRefusal {
    if (refusal.kind === 'set_aside') this.#counters.refusedSetAside++
    else this.#counters.unavailable++
    return refusal
  }
}

function bytesOf({ body }: TokenizeJob): number {
  return body.reduce((sum, piece) => sum + piece.length, 0)
}

function settle(entry: Entry, outcome: EntryOutcome): void {
  clearTimeout(entry.timer)
  const tell = entry.settle
  entry.settle = undefined
  tell?.(outcome)
}

function noCounters(): ThreadCounters {
  return {
    jobs: 0,
    done: 0,
    tokens: 0,
    reusedTokens: 0,
    wholePrompts: 0,
    late: 0,
    droppedLate: 0,
    finishedLate: 0,
    queueFull: 0,
    tooLarge: 0,
    failed: 0,
    killed: 0,
    crashed: 0,
    setAside: 0,
    refusedSetAside: 0,
    loadsFailed: 0,
    unavailable: 0,
    spilled: 0,
  }
}
