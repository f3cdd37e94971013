import type { z } from 'zod'
import type { SessionContext } from './context.js'
import { isMarked } from './marker.js'
import { stamped } from './stamp.js'
import type { WorkerRank } from './worker.js'
import type { WyRand } from './wyrand.js'

/** Marks a classifier definition, so that two installed copies of the SDK recognise each other's. */
export const classifierMarker: unique symbol = Symbol.for('@router/sdk.classifier') as never

/** One rank, as a classifier sees it. It has no view of caches and loads. */
export interface ClassifierWorker extends WorkerRank {
  /** KV blocks of the rank; `undefined` when not advertised. */
  readonly totalKvBlocks: number | undefined
}

/** What a classifier is made with, once per router. */
export interface ClassifierScope {
  /** Tokens per KV block, >= 1. */
  readonly blockSize: number
  /** The ranks of this moment, in canonical order. Never waits. */
  readonly workers: () => readonly ClassifierWorker[]
  /** Injected monotonic clock, milliseconds. */
  readonly nowMs: () => number
  /** A random stream; without a seed the host seeds it. */
  readonly random: (seed?: bigint) => WyRand
}

/**
 * A request before it enters the queue: live facts, and the overrides of queue inputs. Only overrides travel on; cache data
 * is computed anew when the request enters. A wrong override fails the request with `ROUTER_CLASSIFIER_METADATA_INVALID`.
 */
export interface ClassifierRequest {
  /** `undefined` for a request without one. */
  readonly requestId: string | undefined
  /** Length of the prompt as the scheduler counts it, tokens. */
  readonly inputTokens: number
  /** The override, else `max(1, inputTokens - tokens cached at arrival)`. */
  readonly schedulingCostTokens: number
  /** The override, else what the caller named. */
  readonly policyClass: string | undefined
  /** When the request came, on the clock of `nowMs`. */
  readonly ingressAtMs: number
  /** Deadline of the queue, on the clock of `nowMs`; `undefined` unless set. */
  readonly dueAtMs: number | undefined
  /** High-water mark of prompt and generated tokens so far; not what the KV cache holds. */
  readonly progress: () => { readonly contextTokens: number }
  /** `undefined` without a session. From the caller, unchecked. */
  readonly sessionContext: SessionContext | undefined
  /** The rank that the request must have. */
  readonly pinnedWorker: WorkerRank | undefined
  /** Takes a configured class or family; without queue profile only `default`. Policies see it as `policyClass`. */
  readonly setPolicyClass: (policyClass: string) => void
  /** Sets the deadline of the queue, not of the answer. One in the past is `ROUTER_DEADLINE_EXCEEDED` on entering. */
  readonly setDueAt: (dueAtMs: number) => void
  /** An integer >= 1. */
  readonly setSchedulingCostTokens: (tokens: number) => void
  /** Replaces the soft affinity target; without `dpRank` any rank of the worker. A pin wins. */
  readonly setWorkerSelectionTarget: (target: { readonly workerId: bigint; readonly dpRank?: number }) => void
  /** Drops the soft affinity target. */
  readonly clearWorkerSelectionTarget: () => void
}

/** What became of a request. A terminal one (completed, aborted) may come without `sent`. The kinds may grow: keep a default branch. */
export type ClassifierEvent =
  | { readonly kind: 'sent' | 'responding'; readonly requestId: string; readonly worker: WorkerRank }
  | {
      readonly kind: 'completed'
      readonly requestId: string
      readonly worker: WorkerRank
      /** Tokens of prompt and answer, when known. */
      readonly contextTokens?: number
    }
  | {
      readonly kind: 'aborted'
      readonly requestId: string
      /** Absent when none had been chosen. */
      readonly worker?: WorkerRank
      /** What ended the request, when known. */
      readonly error?: unknown
    }

/**
 * Decides when a request may enter the queue, and adjusts its queue inputs. `classify` up to its first await, and every
 * `onEvent`, run one at a time; a pending promise holds nothing.
 */
export interface RequestClassifier {
  /**
   * Returns the request it was given, now or later; absent = at once, unchanged. When it rejects, or throws a `ClassifierError`,
   * the request fails with `ROUTER_CLASSIFIER_FAILED`; any other throw is `ROUTER_CLASSIFIER_PANICKED`.
   */
  readonly classify?: (request: ClassifierRequest) => Promise<ClassifierRequest>
  /** One at a time, in the order of a request's life; those still waiting at shutdown are dropped. */
  readonly onEvent?: (event: ClassifierEvent) => Promise<void>
}

/** What an author writes; the fields mean what they mean in `PolicySource`. */
export interface ClassifierSource<S extends z.ZodType> {
  /** Registered kind, `[A-Za-z0-9_.-]+`, in the namespace of classifiers. */
  readonly type: string
  readonly aliases?: readonly string[]
  readonly package?: string
  readonly version: string
  /** Strict schema: unknown keys are rejected at every level. */
  readonly parameters: S
  /** Called once per router. */
  readonly create: (parameters: z.output<S>, scope: ClassifierScope) => RequestClassifier
}

/** A classifier as the catalog handles it: types erased, marker and contract version stamped. */
export interface ClassifierDefinition {
  readonly [classifierMarker]: true
  readonly contractVersion: number
  readonly type: string
  readonly aliases: readonly string[]
  readonly package: string | undefined
  readonly version: string
  readonly parameters: z.ZodType
  readonly create: (parameters: unknown, scope: ClassifierScope) => RequestClassifier
}

/** Declares a request classifier. Checks nothing by itself: the catalog does when it is registered. */
export function defineClassifier<S extends z.ZodType>(source: ClassifierSource<S>): ClassifierDefinition {
  return Object.freeze({
    [classifierMarker]: true,
    ...stamped(source),
    create: source.create as ClassifierDefinition['create'],
  } as const)
}

/** True for a classifier definition of this or another installed copy of the SDK, whatever its contract version. */
export function isClassifierDefinition(value: unknown): value is ClassifierDefinition {
  return isMarked(value, classifierMarker)
}
