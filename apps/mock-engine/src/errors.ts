/** Every error code of the simulated server; `docs/errors.md` explains each. The set may grow: keep a default branch. */
export const mockEngineErrorCodes = [
  'MOCK_ENGINE_OPTION_INVALID',
  'MOCK_ENGINE_ENDPOINT_INVALID',
  'MOCK_ENGINE_MODEL_INVALID',
  'MOCK_ENGINE_CONVERSATION_INVALID',
  'MOCK_ENGINE_LISTEN_FAILED',
] as const

/** One of `mockEngineErrorCodes`. */
export type MockEngineErrorCode = (typeof mockEngineErrorCodes)[number]

const marker = Symbol.for('router-mock-engine.error')

/** What the simulated server throws. Recognise it with `isInstance`, which also works across two installed copies. */
export class MockEngineError extends Error {
  readonly [marker] = true as boolean
  override readonly name = 'MockEngineError'
  /** What happened, for programs; the message is for people. */
  readonly code: MockEngineErrorCode

  constructor(code: MockEngineErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }

  /** Whether `value` is an error of this or another installed copy. */
  static isInstance(value: unknown): value is MockEngineError {
    return typeof value === 'object' && value !== null && (value as { [marker]?: boolean })[marker] === true
  }
}
