import type { KvCapacityAwareParameters } from './parameters.js'

/** The parameters as the kernels read them: what is unset is NaN, so that it never compares. One per policy object. */
export class CapacityTerms {
  /** NaN = the filter is off. */
  fraction = NaN
  /** Blocks of a rank that advertises none; NaN = unknown. */
  configuredBlocks = NaN
  /** W, blocks per active request. */
  requestWeight = 0
  readonly prefersFewRequests: boolean

  constructor(parameters: KvCapacityAwareParameters) {
    this.prefersFewRequests = parameters.count_priority
    this.configure(parameters)
  }

  configure(parameters: KvCapacityAwareParameters): void {
    this.fraction = parameters.capacity_fraction ?? NaN
    this.configuredBlocks = parameters.capacity_blocks ?? NaN
    this.requestWeight = parameters.decode_active_request_weight
  }

  /** Whether a rank that advertises nothing has a capacity that nobody knows, and the filter would want it. */
  get wantsAdvertisedCapacity(): boolean {
    return !Number.isNaN(this.fraction) && Number.isNaN(this.configuredBlocks)
  }
}
