import { PromptError } from '../../src/errors.js'

export const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

/** The error that a call throws, which must be a `PromptError`. */
export function errorOf(call: () => unknown): PromptError {
  try {
    call()
  } catch (error) {
    if (PromptError.isInstance(error)) return error
    throw error
  }
  throw new Error('expected an error, got none')
}
