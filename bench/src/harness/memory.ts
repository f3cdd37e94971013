import process from 'node:process'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Bytes that JavaScript keeps alive now: objects, array buffers and WebAssembly memories, whether or not they were touched yet. */
export function keptBytes(): number {
  // What the first collection finds dead may own buffers that only a second one frees.
  collect()
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
