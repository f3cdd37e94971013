import type {
  InputScope,
  PolicyDefinition,
  ResolvedPolicy,
  WorkerInputName,
  WorkerSelectionPolicy,
} from '@router/sdk'
import { CatalogError, PatchError, validateParameters } from '@router/sdk'
import { acceptsNull, isMapping, leafNames, mergePatch, valueAt } from './merge-patch.js'
import type { PolicyIdentity } from './request.js'

/** A policy object in use, as its instance sees it when parameters change. */
export interface LivePolicy {
  readonly policy: WorkerSelectionPolicy<never, unknown>
  readonly scope: InputScope
  readonly declared: ReadonlySet<WorkerInputName>
}

/** What an accepted patch did. */
export interface PatchOutcome {
  readonly revision: number
  readonly before: Readonly<Record<string, unknown>>
  readonly after: Readonly<Record<string, unknown>>
}

type Parameters = Readonly<Record<string, unknown>>

/**
 * One configured instance of a policy: its parameters, their revision, and every policy object built from it. Roles and
 * partitions that name one instance share this object, and a patch reaches all of them or none.
 */
export class PolicyInstance {
  readonly definition: PolicyDefinition
  readonly name: string
  /** Whether the inputs that any patch could need were reserved. */
  readonly runtime: boolean
  readonly startParameters: Parameters
  /** Output of the schema for the current parameters. */
  parameters: unknown
  identity: PolicyIdentity
  #configured: Parameters
  readonly #live = new Set<LivePolicy>()

  constructor(resolved: ResolvedPolicy) {
    this.definition = resolved.definition
    this.name = resolved.name
    this.runtime = resolved.runtime
    this.startParameters = resolved.configured
    this.parameters = resolved.parameters
    this.#configured = resolved.configured
    this.identity = this.#identityOf(1)
  }

  /** Starts at 1; each accepted patch that changes something adds 1. */
  get revision(): number {
    return this.identity.revision
  }

  /** Parameters as configured and patched, before schema defaults. */
  get configured(): Parameters {
    return this.#configured
  }

  attach(live: LivePolicy): void {
    this.#live.add(live)
  }

  detach(live: LivePolicy): void {
    this.#live.delete(live)
  }

  /**
   * Changes parameters between selections, in every policy object or in none. A merge object (RFC 7396); `null` returns a name to
   * its start-up value unless the schema accepts null there. Errors: `ROUTER_PATCH_CONFLICT`, `ROUTER_PARAMETER_NOT_RUNTIME`,
   * `ROUTER_POLICY_PARAMETERS_INVALID` (as at start-up), `ROUTER_PATCH_NEEDS_INPUT`, `ROUTER_POLICY_REJECTED_PATCH`.
   */
  patch(
    change: Parameters,
    expectedRevision?: number,
    options: { readonly dryRun?: boolean } = {},
  ): PatchOutcome {
    if (expectedRevision !== undefined && expectedRevision !== this.revision) {
      throw new PatchError(
        'ROUTER_PATCH_CONFLICT',
        `instance ${this.name} is at revision ${this.revision}, not ${expectedRevision}`,
        { instance: this.name, revision: this.revision, expected: expectedRevision },
      )
    }
    if (!isMapping(change)) throw this.#noMapping(change)
    this.#checkNames(change)
    const before = this.#configured
    const after = mergePatch(before, change, (path) =>
      acceptsNull(this.definition.parameters, before, path) ? null : valueAt(this.startParameters, path),
    )
    const parameters = validateParameters(this.definition, this.name, after)
    this.#checkInputs(parameters)
    const isUnchanged = JSON.stringify(after, printBigints) === JSON.stringify(before, printBigints)
    if (isUnchanged || options.dryRun === true) return { revision: this.revision, before, after }
    this.#reconfigure(parameters)
    this.#configured = after
    this.parameters = parameters
    this.identity = this.#identityOf(this.revision + 1)
    return { revision: this.revision, before, after }
  }

  /**
   * Makes `select` see other parameters in one policy object: those of `overrides` that may change while running. None of them, and why
   * is told to `refused`, when their values are no parameters or need inputs that the object did not declare. The object has its own
   * parameters again afterwards, whatever happens.
   */
  withOverrides<T>(
    live: LivePolicy,
    overrides: Parameters,
    select: () => T,
    refused: (why: string) => void,
  ): T {
    const { definition, name } = this
    const change = Object.fromEntries(
      Object.entries(overrides).filter(([key]) => definition.runtime.includes(key)),
    )
    if (Object.keys(change).length === 0) return select()
    try {
      const parameters = validateParameters(definition, name, { ...this.#configured, ...change })
      const used = definition.inputs(parameters, { ...live.scope, reservesRuntimeInputs: false })
      const missing = used.find((group) => !live.declared.has(group))
      if (missing === undefined) live.policy.reconfigure?.(parameters as never)
      else refused(`they need the input group '${missing}', which is not declared`)
    } catch (error) {
      refused(error instanceof Error ? error.message : String(error))
    }
    try {
      return select()
    } finally {
      restoreQuietly(live, this.parameters)
    }
  }

  #noMapping(change: unknown): CatalogError {
    const message = 'a patch is a mapping of parameter names'
    return new CatalogError('ROUTER_POLICY_PARAMETERS_INVALID', `instance ${this.name}: ${message}`, {
      type: this.definition.type,
      instance: this.name,
      issues: [{ path: [], message, value: change }],
    })
  }

  #checkNames(change: Parameters): void {
    const runtime = this.definition.runtime
    const refused = leafNames(change).filter(
      (name) => !runtime.some((allowed) => name === allowed || name.startsWith(`${allowed}.`)),
    )
    if (refused.length === 0) return
    const allowed = runtime.length === 0 ? '<none>' : runtime.join(', ')
    throw new PatchError(
      'ROUTER_PARAMETER_NOT_RUNTIME',
      `instance ${this.name}: ${refused.join(', ')} cannot change while running; these can: ${allowed}`,
      { instance: this.name, names: refused, runtime },
    )
  }

  #checkInputs(parameters: unknown): void {
    for (const { scope, declared } of this.#live) {
      const used = this.definition.inputs(parameters, { ...scope, reservesRuntimeInputs: false })
      const missing = used.find((group) => !declared.has(group))
      if (missing === undefined) continue
      throw new PatchError(
        'ROUTER_PATCH_NEEDS_INPUT',
        `instance ${this.name}: the new parameters need the input group '${missing}', which was not declared at start-up; ` +
          `runtime: true on the instance would have reserved it`,
        { instance: this.name, group: missing, role: scope.role },
      )
    }
  }

  #reconfigure(parameters: unknown): void {
    const done: LivePolicy[] = []
    for (const live of this.#live) {
      done.push(live)
      try {
        live.policy.reconfigure?.(parameters as never)
      } catch (cause) {
        for (const touched of done) restoreQuietly(touched, this.parameters)
        throw new PatchError(
          'ROUTER_POLICY_REJECTED_PATCH',
          `instance ${this.name}: the policy threw while taking new parameters; the old ones are back in force`,
          { instance: this.name },
          { cause },
        )
      }
    }
  }

  #identityOf(revision: number): PolicyIdentity {
    const { type, package: packageName, version } = this.definition
    return Object.freeze({ type, package: packageName, version, name: this.name, revision })
  }
}

function restoreQuietly(live: LivePolicy, parameters: unknown): void {
  try {
    live.policy.reconfigure?.(parameters as never)
  } catch {
    // The policy broke its contract; whoever asked for the change is told.
  }
}

function printBigints(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? `${value}n` : value
}
