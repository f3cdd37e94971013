/** What a worker serves. */
export type WorkerRole = 'aggregated' | 'prefill' | 'decode' | 'encode'

/** All roles, in the order in which configuration is checked. */
export const workerRoles = [
  'aggregated',
  'prefill',
  'decode',
  'encode',
] as const satisfies readonly WorkerRole[]

/** Identity of one rank. `workerId` is an unsigned 64-bit integer. */
export interface WorkerRank {
  readonly workerId: bigint
  readonly dpRank: number
}

/**
 * Everything a worker advertised. One object per worker, shared by its ranks and by all selections; a field is
 * `undefined` when the worker did not advertise it, and an advertised capacity of 0 reads as `undefined`.
 */
export interface WorkerInfo {
  readonly workerId: bigint
  readonly role: WorkerRole | undefined
  /** Base URL. */
  readonly endpoint: string | undefined
  /** Tokens per KV block. */
  readonly blockSize: number | undefined
  readonly dataParallelStartRank: number
  readonly dataParallelSize: number
  /** KV blocks per rank. */
  readonly totalKvBlocks: number | undefined
  /** Where `totalKvBlocks` comes from; an engine's number may cover one representative rank or an average. */
  readonly totalKvBlocksProvenance: 'advertised' | 'learned' | undefined
  /** Tokens. */
  readonly maxNumBatchedTokens: number | undefined
  readonly maxNumSeqs: number | undefined
  readonly isEagle: boolean | undefined
  readonly taints: readonly string[]
  readonly topologyDomains: Readonly<Record<string, string>>
  readonly stableRoutingId: string | undefined
  readonly incarnationId: string | undefined
  readonly kvRole: string | undefined
  readonly engine: string | undefined
  readonly deviceKind: 'cpu' | 'accelerator' | undefined
  /** Anything else the worker advertised. */
  readonly extra: Readonly<Record<string, unknown>>
}
