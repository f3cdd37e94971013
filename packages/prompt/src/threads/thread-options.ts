import { availableParallelism } from 'node:os'
import { PromptError } from '../errors.js'

/** Something that an operator should know; each is told once until it changes. */
export interface PromptWarning {
  readonly code: 'tokenizer_unavailable' | 'tokenizer_killed' | 'tokenizer_set_aside'
  readonly folder: string
  readonly message: string
}

/** The threads that tokenize, and what they may take. */
export interface ThreadOptions {
  /** Worker threads, 1 to 64. Each keeps its own tokenizers. Default: cores - 1, at least 1 and at most 4. */
  readonly threads?: number | undefined
  /** Prompts that wait for a thread, all together, 0 to 65,536; further ones are not tokenized. Default 256. */
  readonly queueLimit?: number | undefined
  /** Milliseconds that a caller waits for tokens, 1 to 600,000. Default 100. */
  readonly budgetMs?: number | undefined
  /** Milliseconds after which a thread that works on one prompt is ended, loading included; 1 to 600,000. Default 10,000. */
  readonly killAfterMs?: number | undefined
  /** Threads lost in a row with one folder until it is set aside, 1 to 100. Default 3. */
  readonly setAsideAfter?: number | undefined
  /** Milliseconds that it then stays so, 1 to 86,400,000. Default 60,000. */
  readonly setAsideMs?: number | undefined
  /** Milliseconds until the files of a folder that could not be loaded are looked at again, doubling up to 64 times it; 1 to 86,400,000. Default 1,000. */
  readonly retryAfterMs?: number | undefined
  /**
   * Bytes of a body, media left out, beyond which it is not tokenized, and characters that a chat template may make of it, 1 to 1 GiB.
   * Default 1 MiB, some 250,000 tokens of English.
   */
  readonly maxTextBytes?: number | undefined
  /** Bytes of text segments that each tokenizer of each thread remembers, 0 to 16 GiB. Default 64 MiB. */
  readonly cacheBytes?: number | undefined
  /** Tokenizers that each thread keeps, 1 to 1,024. Default 8. */
  readonly maxTokenizers?: number | undefined
  /** JavaScript heap of a thread in MiB, 64 to 65,536; a thread that needs more is replaced. Default 2,048. */
  readonly threadMemoryMb?: number | undefined
  /** The module of a thread. Default: that of this package; a program in which it is bundled must say where it is. */
  readonly workerUrl?: URL | undefined
  /** Monotonic milliseconds. Default `performance.now`. */
  readonly nowMs?: (() => number) | undefined
  /** Must not throw. Default: nobody is told. */
  readonly onWarning?: ((warning: PromptWarning) => void) | undefined
}

/** Options with every default in place. */
export type ResolvedThreadOptions = { readonly [K in keyof ThreadOptions]-?: NonNullable<ThreadOptions[K]> }

const day = 86_400_000

/** Errors: `PROMPT_OPTION_INVALID`. */
export function resolveThreadOptions(options: ThreadOptions, workerUrl: URL): ResolvedThreadOptions {
  const cores = Math.min(4, Math.max(1, availableParallelism() - 1))
  const whole = (
    name: keyof ThreadOptions & keyof typeof options,
    normal: number,
    least: number,
    most: number,
  ): number => {
    const value = options[name] ?? normal
    if (Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most) return Number(value)
    throw new PromptError(
      'PROMPT_OPTION_INVALID',
      `option ${name} is ${String(value)}; accepted: whole numbers from ${least} to ${most}`,
      { details: { key: name, value } },
    )
  }
  const resolved = {
    threads: whole('threads', cores, 1, 64),
    queueLimit: whole('queueLimit', 256, 0, 65_536),
    budgetMs: whole('budgetMs', 100, 1, 600_000),
    killAfterMs: whole('killAfterMs', 10_000, 1, 600_000),
    setAsideAfter: whole('setAsideAfter', 3, 1, 100),
    setAsideMs: whole('setAsideMs', 60_000, 1, day),
    retryAfterMs: whole('retryAfterMs', 1000, 1, day),
    maxTextBytes: whole('maxTextBytes', 2 ** 20, 1, 2 ** 30),
    cacheBytes: whole('cacheBytes', 64 * 2 ** 20, 0, 2 ** 34),
    maxTokenizers: whole('maxTokenizers', 8, 1, 1024),
    threadMemoryMb: whole('threadMemoryMb', 2048, 64, 65_536),
    workerUrl: options.workerUrl ?? workerUrl,
    nowMs: options.nowMs ?? (() => performance.now()),
    onWarning: options.onWarning ?? (() => undefined),
  }
  const unknown = Object.keys(options).find((key) => !Object.hasOwn(resolved, key))
  if (unknown === undefined) return resolved
  throw new PromptError(
    'PROMPT_OPTION_INVALID',
    `option ${unknown} is unknown; accepted: ${Object.keys(resolved).join(', ')}`,
    { details: { key: unknown } },
  )
}
