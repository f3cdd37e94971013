/** Every error code of the simulated engine; `docs/errors.md` explains each. The set may grow: keep a default branch. */
export const engineSimErrorCodes = [
  'ENGINE_SIM_PARAMETER_INVALID',
  'ENGINE_SIM_REQUEST_INVALID',
  'ENGINE_SIM_TIMING_INVALID',
  'ENGINE_SIM_PASS_ORDER',
] as const

/** One of `engineSimErrorCodes`. */
export type EngineSimErrorCode = (typeof engineSimErrorCodes)[number]

const marker = Symbol.for('@router/engine-sim.error')

/**
 * What the engine throws: a value of the caller that cannot be, or calls in an order that cannot be. Nothing was changed, but for a
 * timing function that gave no time: that engine is of no more use. Recognise it with `isInstance`, which also works across two
 * installed copies.
 */
export class EngineSimError extends Error {
  readonly [marker] = true as boolean
  override readonly name = 'EngineSimError'
  /** What happened, for programs; the message is for people. */
  readonly code: EngineSimErrorCode

  constructor(code: EngineSimErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }

  /** Whether `value` is an error of this or another installed copy. */
  static isInstance(value: unknown): value is EngineSimError {
    return typeof value === 'object' && value !== null && (value as { [marker]?: boolean })[marker] === true
  }
}
