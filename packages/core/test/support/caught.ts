import { RouterError } from '@router/sdk'

/** The router error that `work` throws; anything else fails the test. */
export function caught(work: () => unknown): RouterError {
  try {
    work()
  } catch (error) {
    if (RouterError.isInstance(error)) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

/** The code of the router error that `work` throws. */
export function codeOf(work: () => unknown): string {
  return caught(work).code
}
