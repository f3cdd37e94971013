import type { WorkerOrigin, WorkerRegistration } from './worker-registration.js'

/** A name that an engine can be asked by: of its model, or of an adapter. */
export interface EngineModel {
  readonly id: string
  /** Where it came from, as the engine says. */
  readonly root?: string | undefined
  /** Name of the model that this is an adapter of; absent = it is a model itself. */
  readonly parent?: string | undefined
  /** Tokens of prompt and output. */
  readonly maxModelLen?: number | undefined
  /** When it was made, as the engine says; seconds since 1970. */
  readonly createdSeconds?: number | undefined
  /** As the engine says. */
  readonly ownedBy?: string | undefined
}

/** What an engine told of itself when it was asked. Absent = it did not say. */
export interface EngineFacts {
  /** Its kind, where it could be told. */
  readonly engine?: 'vllm' | 'sglang' | undefined
  /** Every name, models before their adapters; empty = it has no list. */
  readonly models: readonly EngineModel[]
  /** Tokens a block. */
  readonly blockSize?: number | undefined
  /** Blocks a rank. */
  readonly totalKvBlocks?: number | undefined
  /** Tokens a pass. */
  readonly maxNumBatchedTokens?: number | undefined
  readonly maxNumSeqs?: number | undefined
  readonly dataParallelStartRank?: number | undefined
  readonly dataParallelSize?: number | undefined
  /** Base of its ranks. */
  readonly kvEventsEndpoint?: string | undefined
  readonly replayEndpoint?: string | undefined
  /** It reports the size of its pool as the limit of a pass, which says nothing. */
  readonly isCapacitySuspicious?: boolean | undefined
}

/** Fields of a record that an engine may fill in, where the record leaves them out. */
export const learnableFields = [
  'modelName',
  'blockSize',
  'totalKvBlocks',
  'maxNumBatchedTokens',
  'maxNumSeqs',
  'dataParallelStartRank',
  'dataParallelSize',
  'kvEventsEndpoint',
  'replayEndpoint',
] as const

export type LearnableField = (typeof learnableFields)[number]

/** Where the values of a record come from that nobody gave. */
export type Provenance = Readonly<Partial<Record<LearnableField, 'learned' | 'assumed'>>>

/** What API workers must say themselves: without, they are incomplete. */
const givenByApi = new Set<LearnableField>(['blockSize', 'kvEventsEndpoint', 'replayEndpoint'])

/** Tokens a block where neither the record nor the engine says. */
const assumedBlockSize = 64

/**
 * A record with what its engine told where it says nothing itself.
 * @param facts absent = the engine was not asked yet: nothing is filled in
 */
export function completed(
  given: WorkerRegistration,
  origin: WorkerOrigin,
  facts: EngineFacts | undefined,
): { readonly registration: WorkerRegistration; readonly provenance: Provenance } {
  if (facts === undefined) return { registration: given, provenance: {} }
  const told = { ...facts, modelName: facts.models.find(({ parent }) => parent === undefined)?.id }
  // Ranks, and the sockets of ranks, are one thing: who gave a part of it gave all.
  const givesRanks = given.dataParallelSize !== undefined || given.dataParallelStartRank !== undefined
  const givesEvents = given.kvEventsEndpoint !== undefined || given.kvEventsEndpoints !== undefined
  const isOpen = (field: LearnableField): boolean => {
    if (given[field] !== undefined || (origin !== 'trusted' && givenByApi.has(field))) return false
    if (field.startsWith('dataParallel')) return !givesRanks
    return field === 'kvEventsEndpoint' || field === 'replayEndpoint' ? !givesEvents : true
  }
  const learned = learnableFields.filter((field) => isOpen(field) && told[field] !== undefined)
  const assumes = origin === 'trusted' && !given.blockSize && told.blockSize === undefined
  return {
    registration: {
      ...given,
      ...Object.fromEntries(learned.map((field) => [field, told[field]])),
      ...(assumes ? { blockSize: assumedBlockSize } : {}),
    },
    provenance: {
      ...Object.fromEntries(learned.map((field) => [field, 'learned'])),
      ...(assumes ? { blockSize: 'assumed' } : {}),
    },
  }
}
