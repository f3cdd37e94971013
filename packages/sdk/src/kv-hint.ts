import type { z } from 'zod'
import type { SessionContext } from './context.js'
import { isMarked } from './marker.js'
import { stamped } from './stamp.js'
import type { WorkerRank } from './worker.js'

/** Marks a KV-hint policy, so that two installed copies of the SDK recognise each other's. */
export const kvHintPolicyMarker: unique symbol = Symbol.for('@router/sdk.kv-hint-policy') as never

/**
 * Block chains that sessions are known to have used, whether still cached or not.
 * @experimental
 */
export interface SessionPrefixIndex {
  /**
   * Engine hashes of the chains of a session on a rank, root first; empty for an unknown session.
   * @param anchor only chains through this block, from it on
   */
  readonly lineage: (sessionId: string, worker: WorkerRank, anchor?: bigint) => readonly (readonly bigint[])[]
}

/**
 * A selection that a KV-hint policy may add to.
 * @experimental
 */
export interface KvHintRequest {
  /** `undefined` for a request without one. */
  readonly requestId: string | undefined
  /** `undefined` without a session. From the caller, unchecked. */
  readonly sessionContext: SessionContext | undefined
  /** The rank that was chosen. */
  readonly selectedWorker: WorkerRank
  /** `undefined` when the host keeps none. */
  readonly sessionPrefixIndex: SessionPrefixIndex | undefined
}

/**
 * One more thing to tell the chosen worker: its kind, and facts in plain JSON. The host passes it on and reads nothing of it.
 * @experimental
 */
export interface KvHintAction {
  readonly kind: string
  readonly [fact: string]: unknown
}

/**
 * Adds hint actions to a selection that was made; it cannot change it.
 * @experimental
 */
export interface KvHintPolicy {
  /** Actions to add, none for an empty list. A call may begin before an earlier one has ended. */
  readonly hints: (request: KvHintRequest) => Promise<readonly KvHintAction[]>
}

/** What an author writes; the fields mean what they mean in `PolicySource`. */
export interface KvHintPolicySource<S extends z.ZodType> {
  /** Registered kind, `[A-Za-z0-9_.-]+`, in the namespace of KV-hint policies. */
  readonly type: string
  readonly aliases?: readonly string[]
  readonly package?: string
  readonly version: string
  /** Strict schema: unknown keys are rejected at every level. */
  readonly parameters: S
  /** Called once per process. */
  readonly create: (parameters: z.output<S>) => KvHintPolicy
}

/** A KV-hint policy as the catalog handles it: types erased, marker and contract version stamped. */
export interface KvHintPolicyDefinition {
  readonly [kvHintPolicyMarker]: true
  readonly contractVersion: number
  readonly type: string
  readonly aliases: readonly string[]
  readonly package: string | undefined
  readonly version: string
  readonly parameters: z.ZodType
  readonly create: (parameters: unknown) => KvHintPolicy
}

/** Declares a KV-hint policy. Checks nothing by itself: the catalog does when it is registered. */
export function defineKvHintPolicy<S extends z.ZodType>(
  source: KvHintPolicySource<S>,
): KvHintPolicyDefinition {
  return Object.freeze({
    [kvHintPolicyMarker]: true,
    ...stamped(source),
    create: source.create as KvHintPolicyDefinition['create'],
  } as const)
}

/** True for a KV-hint policy of this or another installed copy of the SDK, whatever its contract version. */
export function isKvHintPolicyDefinition(value: unknown): value is KvHintPolicyDefinition {
  return isMarked(value, kvHintPolicyMarker)
}
