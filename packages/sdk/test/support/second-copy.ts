import { vi } from 'vitest'
import type * as sdk from '../../src/index.js'

/** Another copy of the SDK, as a second installed version would be: other classes, other module state, equal markers. */
export async function secondCopy(): Promise<typeof sdk> {
  vi.resetModules()
  return import('../../src/index.js')
}
