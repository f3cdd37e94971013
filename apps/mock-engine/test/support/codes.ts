import { MockEngineError } from '../../src/errors.js'

/** Code of the error that the work throws; undefined = it throws none. What is no error of ours is passed on. */
export function codeOf(work: () => unknown): string | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return codeIn(error)
  }
}

/** The same of work that takes time. */
export async function codeAfter(work: () => unknown): Promise<string | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    return codeIn(error)
  }
}

function codeIn(error: unknown): string {
  if (!MockEngineError.isInstance(error)) throw error
  return error.code
}
