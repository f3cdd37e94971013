import type { RouterDefaults } from './router-defaults.js'
import type { WorkerRole } from './worker.js'
import type { WyRand } from './wyrand.js'

/** What `inputs(parameters, scope)` may depend on. */
export interface InputScope {
  /** What the policy object serves. */
  readonly role: WorkerRole
  /** Whether conditional disaggregation is enabled for the partition. */
  readonly conditionalDisaggregation: boolean
  /** Scoring defaults of the router, validated. */
  readonly routerDefaults: RouterDefaults
  /** True = return the union of what any parameters reachable by a run-time patch could use. */
  readonly reservesRuntimeInputs: boolean
}

/** A fixed piece of the column memory. Its place may move between selections: read `byteOffset` and the views at each call. */
export interface ScratchRegion {
  /** Where the region lies in the buffer. */
  readonly byteOffset: number
  /** The region as doubles. */
  readonly float64: Float64Array
}

/** The part of `WebAssembly.Memory` that a policy needs; `grow` belongs to the host. */
export interface WasmMemory {
  /** Replaced by every growth: read it at each call. */
  readonly buffer: ArrayBuffer
}

/** The buffer that holds all columns and costs of a policy object. */
export interface PolicyMemory {
  /** `undefined` where there is no WebAssembly (or the host was told not to use it). */
  readonly webAssemblyMemory: WasmMemory | undefined
  /** Reserves zeroed scratch space, rounded up to whole doubles. Call it in `create`, never per selection. */
  readonly allocate: (bytes: number) => ScratchRegion
  /** Reserves one double per row; grows with the fleet. Call it in `create`. */
  readonly allocateColumn: () => ScratchRegion
}

/** Where a policy object serves, and the host services it may use. */
export interface PolicyScope extends InputScope {
  /** Model of the partition. */
  readonly model: string
  /** Routing group of the partition. */
  readonly routingGroup: string
  /** A random stream; without a seed the host seeds it. The host rewinds it after a query. */
  readonly random: (seed?: bigint) => WyRand
  /** Injected monotonic clock, milliseconds. */
  readonly nowMs: () => number
  /** Where columns and costs lie, for WebAssembly kernels. */
  readonly memory: PolicyMemory
  /** One warning per (policy object, code, rank), bounded by the host; ignored during a query. */
  readonly warnOnce: (code: string, workerId?: bigint, dpRank?: number) => void
}
