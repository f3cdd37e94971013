import type { DefaultCandidates } from './inputs.js'
import type { SimdKernel } from './simd/loader.js'

/**
 * Where the columns of one view lie in the buffer they share, bytes. Asking a typed array for its offset is dear, so it is done
 * once a set of columns and not once a selection.
 */
export class ColumnPlaces {
  /** The whole shared buffer. */
  doubles: Float64Array = new Float64Array(0)
  costs = 0
  active = 0
  decode = 0
  requests = 0
  estimateTokens = 0
  estimateBlocks = 0
  device = 0
  host = 0
  disk = 0
  taints = 0
  /** Whether the SIMD kernel reads and writes this buffer. */
  isInKernelMemory = false
  readonly #simd: SimdKernel | undefined
  #costsColumn: Float64Array | undefined
  #activeColumn: Float64Array | undefined

  constructor(simd?: SimdKernel) {
    this.#simd = simd
  }

  /** Finds the columns of a view with the cache group; false = they share no buffer, as in a view made by hand or a checked one. */
  locate(candidates: DefaultCandidates, costs: Float64Array): boolean {
    const { load, cache, preferredTaint } = candidates
    const active = load.activePrefillTokens
    if (this.#costsColumn === costs && this.#activeColumn === active) return true
    // A checked view wraps its columns in proxies, which have no place in memory.
    if (cache === undefined || !ArrayBuffer.isView(costs) || !ArrayBuffer.isView(active)) return false
    const { buffer } = costs
    if (buffer !== active.buffer || buffer !== cache.estimateTokens.buffer) return false
    if (buffer !== preferredTaint.multiplier.buffer) return false
    this.#costsColumn = costs
    this.#activeColumn = active
    this.isInKernelMemory = this.#simd?.holds(buffer) === true
    if (this.doubles.buffer !== buffer) this.doubles = new Float64Array(buffer)
    this.costs = costs.byteOffset
    this.active = active.byteOffset
    this.decode = load.decodeCostBlocks.byteOffset
    this.requests = load.activeRequests.byteOffset
    this.estimateTokens = cache.estimateTokens.byteOffset
    this.estimateBlocks = cache.estimateBlocks.byteOffset
    this.device = cache.deviceOverlapBlocks.byteOffset
    this.host = cache.hostOverlapBlocks.byteOffset
    this.disk = cache.diskOverlapBlocks.byteOffset
    this.taints = preferredTaint.multiplier.byteOffset
    return true
  }
}
