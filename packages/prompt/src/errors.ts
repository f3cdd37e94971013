/** Every error code of prompt reading; `docs/errors.md` explains each. The set may grow: keep a default branch. */
export const promptErrorCodes = [
  'PROMPT_OPTION_INVALID',
  'PROMPT_BODY_INVALID',
  'PROMPT_TOKEN_INVALID',
  'PROMPT_TOKENIZER_MISSING',
  'PROMPT_TOKENIZER_INVALID',
  'PROMPT_TEMPLATE_FAILED',
] as const

/** One of `promptErrorCodes`. */
export type PromptErrorCode = (typeof promptErrorCodes)[number]

const marker = Symbol.for('@router/prompt.error')

/** What reading a prompt throws. Recognise it with `isInstance`, which also works across two installed copies. */
export class PromptError extends Error {
  readonly [marker] = true as boolean
  override readonly name = 'PromptError'
  /** What happened, for programs; the message is for people. */
  readonly code: PromptErrorCode

  constructor(code: PromptErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }

  /** Whether `value` is an error of this or another installed copy. */
  static isInstance(value: unknown): value is PromptError {
    return typeof value === 'object' && value !== null && (value as { [marker]?: boolean })[marker] === true
  }
}
