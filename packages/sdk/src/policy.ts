import type { z } from 'zod'
import type { CandidatesFor } from './candidates.js'
import type { WorkerInputs } from './inputs.js'
import { isMarked } from './marker.js'
import type { WorkerSelectionPolicy } from './policy-object.js'
import type { InputScope, PolicyScope } from './scope.js'
import { stamped } from './stamp.js'
import type { WorkerRole } from './worker.js'

/** Marks a policy definition, so that two installed copies of the SDK recognise each other's. */
export const policyMarker: unique symbol = Symbol.for('@router/sdk.policy') as never

/** How settled a policy is; `alpha` types are refused unless the configuration allows them. */
export type PolicyStability = 'alpha' | 'beta' | 'stable'

// `CandidatesFor<I>`, but nothing is inferred from it: a component may declare less than its policy.
type PolicyView<I extends WorkerInputs> = [I] extends [infer Declared extends WorkerInputs]
  ? CandidatesFor<Declared>
  : never

/** What an author writes. `I` is the tuple of declared groups, or the union of tuples that `inputs` may return. */
export interface PolicySource<S extends z.ZodType, I extends WorkerInputs> {
  /** Registered kind, `[A-Za-z0-9_.-]+`. */
  readonly type: string
  /** Further names for the same type. */
  readonly aliases?: readonly string[]
  /** Name of the npm package; decision records print it. The loader fills it in for packages named in a configuration. */
  readonly package?: string
  /** Semantic version of the shipping package. */
  readonly version: string
  /** Required, so that nobody ships an experiment unawares. */
  readonly stability: PolicyStability
  /** Roles that the policy is meant for. Others are allowed, with one warning. */
  readonly roles: readonly WorkerRole[]
  /** Exclusive: the host narrows the rows to an eligible affinity target. Advisory: all rows, and the target in the context. */
  readonly affinity: 'exclusive' | 'advisory'
  /** With `unless-full-hit` the host reserves nothing when the chosen row holds every required cache entry and no pin or target named it. */
  readonly occupancyAdmission?: 'always' | 'unless-full-hit'
  /** Strict schema: unknown keys are rejected at every level. */
  readonly parameters: S
  /** Names (dotted when nested) of the parameters that may be patched while running. */
  readonly runtime?: readonly string[]
  /**
   * The declared groups, or a pure function of parameters and scope; no `as const` is needed. Write such a function above
   * `create`: TypeScript infers in this order.
   */
  readonly inputs: I | ((parameters: z.output<S>, scope: InputScope) => I)
  /** Called once per (partition, role) when a router is built, never per request. */
  readonly create: (
    parameters: z.output<S>,
    scope: PolicyScope,
  ) => WorkerSelectionPolicy<PolicyView<I>, z.output<S>>
}

/**
 * A policy as the host and the catalog handle it: types erased, marker and contract version stamped, what `PolicySource` may
 * leave out filled in. The fields mean what they mean there.
 */
export interface PolicyDefinition {
  readonly [policyMarker]: true
  readonly contractVersion: number
  readonly type: string
  readonly aliases: readonly string[]
  readonly package: string | undefined
  readonly version: string
  readonly stability: PolicyStability
  readonly roles: readonly WorkerRole[]
  readonly affinity: 'exclusive' | 'advisory'
  readonly occupancyAdmission: 'always' | 'unless-full-hit'
  readonly parameters: z.ZodType
  readonly runtime: readonly string[]
  readonly inputs: (parameters: unknown, scope: InputScope) => WorkerInputs
  readonly create: (parameters: unknown, scope: PolicyScope) => WorkerSelectionPolicy<never, unknown>
}

/** Declares a policy. Checks nothing by itself: the catalog does when the policy is registered. */
export function definePolicy<S extends z.ZodType, const I extends WorkerInputs>(
  source: PolicySource<S, I>,
): PolicyDefinition {
  const { inputs } = source
  return Object.freeze({
    [policyMarker]: true,
    ...stamped(source),
    stability: source.stability,
    roles: source.roles,
    affinity: source.affinity,
    occupancyAdmission: source.occupancyAdmission ?? 'always',
    runtime: source.runtime ?? [],
    inputs: typeof inputs === 'function' ? (inputs as PolicyDefinition['inputs']) : () => inputs,
    create: source.create as PolicyDefinition['create'],
  } as const)
}

/** True for a policy definition of this or another installed copy of the SDK, whatever its contract version. */
export function isPolicyDefinition(value: unknown): value is PolicyDefinition {
  return isMarked(value, policyMarker)
}
