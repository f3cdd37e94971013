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
  /** u64. */
  readonly workerId: bigint
  /** Data-parallel rank, u32. */
  readonly dpRank: number
}

/**
 * Everything a worker advertised. One object per worker, shared by its ranks and by all selections; a field is
 * `undefined` when the worker did not advertise it, and an advertised capacity of 0 reads as `undefined`.
 */
export interface WorkerInfo {
  /** u64. */
  readonly workerId: bigint
  /** Model that it serves; with the routing group, its partition. */
  readonly modelName: string | undefined
  /** Routing group that it belongs to. */
  readonly routingGroup: string | undefined
  /** What the worker said it serves. */
  readonly role: WorkerRole | undefined
  /** Base URL. */
  readonly endpoint: string | undefined
  /** Tokens per KV block. */
  readonly blockSize: number | undefined
  /** First rank of the worker; 0 unless advertised. */
  readonly dataParallelStartRank: number
  /** Number of ranks; 1 unless advertised. */
  readonly dataParallelSize: number
  /** Socket of KV events: of the only rank, or the one from which those of further ranks are counted. */
  readonly kvEventsEndpoint: string | undefined
  /** Sockets of KV events by rank; they win over `kvEventsEndpoint`. */
  readonly kvEventsEndpoints: Readonly<Record<number, string>> | undefined
  /** Socket that replays missed KV events, for further ranks as above. */
  readonly replayEndpoint: string | undefined
  /** KV blocks per rank. */
  readonly totalKvBlocks: number | undefined
  /** Where `totalKvBlocks` comes from; an engine's number may cover one representative rank or an average. */
  readonly totalKvBlocksProvenance: 'advertised' | 'learned' | undefined
  /** Largest batch of a rank, tokens. */
  readonly maxNumBatchedTokens: number | undefined
  /** Most sequences that a rank runs at once. */
  readonly maxNumSeqs: number | undefined
  /** Whether the engine uses the block layout of speculative (EAGLE) decoding. */
  readonly isEagle: boolean | undefined
  /** Labels that requests may require or prefer; empty when none were advertised. */
  readonly taints: readonly string[]
  /** Where the worker stands, by kind of domain (`rack`, `zone`, ...); empty when not advertised. */
  readonly topologyDomains: Readonly<Record<string, string>>
  /** Id that survives restarts of the worker, for placements that should. */
  readonly stableRoutingId: string | undefined
  /** Id of one life of the engine process. */
  readonly incarnationId: string | undefined
  /** The engine's own word for its part in KV transfer. */
  readonly kvRole: string | undefined
  /** Whether it wants the `nvext` object of a request passed on. */
  readonly acceptsNvext: boolean | undefined
  /** Domain to which KV transfers of the worker keep. */
  readonly kvTransferDomain: string | undefined
  /** Whether they must keep to it, or should. */
  readonly kvTransferEnforcement: 'required' | 'preferred' | undefined
  /** How much the domain counts where they should. */
  readonly kvTransferPreferredWeight: number | undefined
  /** Opaque to the router. */
  readonly routerHintWorkerType: string | undefined
  /** URLs by rank, opaque to the router. */
  readonly routerHintSourceControlEndpoints: Readonly<Record<number, string>> | undefined
  /** Opaque to the router. */
  readonly kvEventSourceMode: string | undefined
  /** Kind of engine, such as `vllm` or `sglang`. */
  readonly engine: string | undefined
  /** What the worker computes on. */
  readonly deviceKind: 'cpu' | 'accelerator' | undefined
  /** Anything else the worker advertised. */
  readonly extra: Readonly<Record<string, unknown>>
}
