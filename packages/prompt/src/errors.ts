/** Every error code of prompt reading; `docs/errors.md` explains each. The set may grow: keep a default branch. */
export const promptErrorCodes = [
  'PROMPT_OPTION_INVALID',
  'PROMPT_BODY_INVALID',
  'PROMPT_BODY_TOO_LARGE',
  'PROMPT_TOKEN_INVALID',
  'PROMPT_HASHES_INVALID',
  'PROMPT_TOKENIZER_MISSING',
  'PROMPT_TOKENIZER_INVALID',
  'PROMPT_TEMPLATE_FAILED',
  'PROMPT_TOKENIZATION_FAILED',
] as const

/** One of `promptErrorCodes`. */
export type PromptErrorCode = (typeof promptErrorCodes)[number]

const marker = Symbol.for('@router/prompt.error')

/** Facts of an error beside its message; which ones a code carries is in `docs/errors.md`. */
export type PromptErrorDetails = Readonly<Record<string, unknown>>

/** What reading a prompt throws. Recognise it with `isInstance`, which also works across two installed copies. */
export class PromptError extends Error {
  readonly [marker] = true as boolean
  override readonly name = 'PromptError'
  /** What happened, for programs; the message is for people. */
  readonly code: PromptErrorCode
  /** Facts beside the message, by code. */
  readonly details: PromptErrorDetails

  constructor(
    code: PromptErrorCode,
    message: string,
    options: { cause?: unknown; details?: PromptErrorDetails } = {},
  ) {
    super(message, options)
    this.code = code
    this.details = options.details ?? {}
  }

  /** Whether `value` is an error of this or another installed copy. */
  static isInstance(value: unknown): value is PromptError {
    return typeof value === 'object' && value !== null && (value as { [marker]?: boolean })[marker] === true
  }
}
