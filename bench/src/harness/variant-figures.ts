import { bytesPerCall } from './allocation.js'
import { type BatchTimes, type Effort, batchSize, timeBatches, warmUp } from './timing.js'
import type { Variant } from './variant.js'

/** What one process says of one variant. */
export interface VariantFigures extends Omit<BatchTimes, 'meanNs'> {
  /** Bytes that a warm call allocates. */
  readonly bytes: number
}

/** Builds a variant, warms it up, times it and counts what it allocates. */
export function measureVariant(variant: Variant, effort: Effort): VariantFigures {
  const body = variant.prepare()
  warmUp(body, effort.warmUpMs)
  const { p50Ns, p99Ns } = timeBatches(body, batchSize(body), effort.timedMs)
  return { p50Ns, p99Ns, bytes: bytesPerCall(body, effort.countedMs) }
}
