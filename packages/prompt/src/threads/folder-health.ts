import type { PromptErrorCode } from '../errors.js'
import { folderStamp } from './folder-stamp.js'
import type { ResolvedThreadOptions } from './thread-options.js'

const maxFolders = 1024
const longestBackOff = 64

/** Why a folder is not asked. */
export type FolderRefusal =
  | { readonly kind: 'unavailable'; readonly code: PromptErrorCode; readonly message: string }
  | { readonly kind: 'set_aside' }

interface FolderState {
  vocabularySize: number | undefined
  lostInARow: number
  asideUntilMs: number
  error: { readonly code: PromptErrorCode; readonly message: string; readonly stamp: string } | undefined
  waitMs: number
  nextLookMs: number
  isLooking: boolean
}

/**
 * What is known of each tokenizer folder: whether it could be loaded, and whether it costs threads. At most 1,024 folders; the one that
 * was heard of longest ago is forgotten, which only means that it is tried again.
 */
export class FolderHealth {
  readonly #states = new Map<string, FolderState>()
  readonly #options: ResolvedThreadOptions

  constructor(options: ResolvedThreadOptions) {
    this.#options = options
  }

  /** Folders that something is known of. */
  get size(): number {
    return this.#states.size
  }

  /** Token ids of the tokenizer; `undefined` = it was never loaded. */
  vocabularySizeOf(folder: string): number | undefined {
    return this.#states.get(folder)?.vocabularySize
  }

  /** Why the folder is not to be asked now. Looks at the files of a broken one again when their time has come. */
  refusal(folder: string): FolderRefusal | undefined {
    const state = this.#states.get(folder)
    if (state === undefined) return undefined
    if (this.#options.nowMs() < state.asideUntilMs) return { kind: 'set_aside' }
    if (state.error === undefined) return undefined
    const { code, message } = state.error
    void this.#lookAgain(folder, state)
    return { kind: 'unavailable', code, message }
  }

  /** A thread was asked to load the tokenizer, and could: whatever was wrong is over. */
  loaded(folder: string, vocabularySize: number): void {
    this.worked(folder, vocabularySize)
    const state = this.#reach(folder)
    state.error = undefined
    state.asideUntilMs = -Infinity
  }

  /** A thread used the tokenizer. */
  worked(folder: string, vocabularySize: number): void {
    const state = this.#reach(folder)
    state.vocabularySize = vocabularySize
    state.lostInARow = 0
  }

  /** A thread could not load it. Told when the message is another than before. */
  broke(folder: string, code: PromptErrorCode, message: string, stamp: string): void {
    const state = this.#reach(folder)
    const isNew = state.error?.stamp !== stamp || state.error.message !== message
    state.error = { code, message, stamp }
    state.waitMs = this.#options.retryAfterMs
    state.nextLookMs = this.#options.nowMs() + state.waitMs
    if (isNew) this.#options.onWarning({ code: 'tokenizer_unavailable', folder, message })
  }

  /**
   * A thread was lost with it.
   * @param isBlamed it is the folder's fault, and not that of a prompt beyond measure
   * @returns whether the folder is set aside by this
   */
  lost(folder: string, message: string, isBlamed: boolean): boolean {
    const { setAsideAfter, setAsideMs, nowMs, onWarning } = this.#options
    const state = this.#reach(folder)
    if (isBlamed) state.lostInARow++
    if (!isBlamed || state.lostInARow < setAsideAfter) {
      onWarning({ code: 'tokenizer_killed', folder, message })
      return false
    }
    state.lostInARow = 0
    state.asideUntilMs = nowMs() + setAsideMs
    onWarning({
      code: 'tokenizer_set_aside',
      folder,
      message: `${setAsideAfter} threads were lost in a row, the last one so: ${message}; not used for ${setAsideMs} ms`,
    })
    return true
  }

  async #lookAgain(folder: string, state: FolderState): Promise<void> {
    if (state.isLooking || this.#options.nowMs() < state.nextLookMs) return
    state.isLooking = true
    const stamp = await folderStamp(folder)
    state.isLooking = false
    if (state.error === undefined) return
    if (stamp !== state.error.stamp) {
      state.error = undefined
      return
    }
    state.waitMs = Math.min(2 * state.waitMs, longestBackOff * this.#options.retryAfterMs)
    state.nextLookMs = this.#options.nowMs() + state.waitMs
  }

  #reach(folder: string): FolderState {
    const known = this.#states.get(folder)
    if (known !== undefined) {
      this.#states.delete(folder)
      this.#states.set(folder, known)
      return known
    }
    if (this.#states.size >= maxFolders) this.#states.delete(this.#states.keys().next().value!)
    const state: FolderState = {
      vocabularySize: undefined,
      lostInARow: 0,
      asideUntilMs: -Infinity,
      error: undefined,
      waitMs: 0,
      nextLookMs: 0,
      isLooking: false,
    }
    this.#states.set(folder, state)
    return state
  }
}
