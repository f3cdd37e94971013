import {
  CatalogError,
  type JsonSchema,
  inputSchemaOf,
  type PolicyBundle,
  PatchError,
  type ResolvedPolicy,
  type RouterDefaults,
  type WorkerRole,
  routerDefaults as builtInDefaults,
} from '@router/sdk'
import { type PatchOutcome, PolicyInstance } from './policy-instance.js'
import { Selector } from './selector.js'
import type { RouterWarning } from './warnings.js'
import { WorkerTable } from './worker-table.js'

/** What an embedder injects: the core has no clock, randomness, network or globals of its own. */
export interface RouterCoreOptions {
  /** Policies of all roles, from `PolicyCatalog.resolve`. */
  readonly bundle: PolicyBundle
  /** Seeds of the streams that policies open without one. */
  readonly entropy: () => bigint
  /** Monotonic clock, milliseconds. */
  readonly nowMs: () => number
  readonly routerDefaults?: RouterDefaults
  readonly onWarning?: (warning: RouterWarning) => void
  /** `false` keeps all columns in plain buffers and all loops in JavaScript. Default true. */
  readonly webAssembly?: boolean
}

/** Names a routing partition and role. */
export interface PartitionKey {
  /** Default `default`. */
  readonly model?: string
  /** Default `default`. */
  readonly routingGroup?: string
  readonly role: WorkerRole
  /** Default false. Counts when the partition is built, not when it is found again. */
  readonly conditionalDisaggregation?: boolean
}

/** The workers of one partition and role, and the policy object that selects among them. */
export interface Partition {
  readonly model: string
  readonly routingGroup: string
  readonly role: WorkerRole
  readonly table: WorkerTable
  readonly selector: Selector
}

/** One configured policy instance, as operators see it. */
export interface PolicyDescription {
  readonly name: string
  readonly type: string
  readonly package: string | undefined
  readonly version: string
  readonly stability: string
  readonly roles: readonly WorkerRole[]
  readonly partitions: readonly string[]
  readonly revision: number
  readonly parameters: Readonly<Record<string, unknown>>
  readonly startParameters: Readonly<Record<string, unknown>>
  readonly runtimeParameters: readonly string[]
  /** JSON Schema (draft 7) of the parameters as a configuration or a patch writes them. */
  readonly parameterSchema: JsonSchema
  readonly inputs: readonly string[]
  readonly runtime: boolean
}

/** Routing partitions and the policies that serve them, in one process and one thread. */
export class RouterCore {
  readonly #options: RouterCoreOptions
  readonly #instances = new Map<string, PolicyInstance>()
  readonly #partitions = new Map<string, Partition>()

  constructor(options: RouterCoreOptions) {
    this.#options = options
    const { roles, instances } = options.bundle
    const selected = Object.values(roles).filter((policy): policy is ResolvedPolicy => policy !== undefined)
    for (const policy of [...instances, ...selected]) {
      if (!this.#instances.has(policy.name)) this.#instances.set(policy.name, new PolicyInstance(policy))
    }
  }

  /**
   * The partition of a key, built on first use; bounded by the caller's keys until `remove`. Errors: those of building its policy,
   * `ROUTER_POLICY_DEFAULT_MISSING` when no policy serves the role.
   */
  partition(key: PartitionKey): Partition {
    const { model = 'default', routingGroup = 'default', role, conditionalDisaggregation = false } = key
    const name = nameOf(model, routingGroup, role)
    const known = this.#partitions.get(name)
    if (known !== undefined) return known
    const { bundle, entropy, nowMs, onWarning, webAssembly = true } = this.#options
    const policy = bundle.roles[role]
    if (policy === undefined) {
      throw new CatalogError('ROUTER_POLICY_DEFAULT_MISSING', `no policy serves the role ${role}`, { role })
    }
    const table = new WorkerTable({ webAssembly })
    const selector = new Selector({
      table,
      policy: this.#instances.get(policy.name)!,
      role,
      model,
      routingGroup,
      conditionalDisaggregation,
      routerDefaults: this.#options.routerDefaults ?? builtInDefaults,
      entropy,
      nowMs,
      ...(onWarning === undefined ? {} : { onWarning }),
    })
    const partition = { model, routingGroup, role, table, selector }
    this.#partitions.set(name, partition)
    return partition
  }

  /** Forgets a partition and disposes of its policy object; false when there was none. */
  remove(key: PartitionKey): boolean {
    const name = nameOf(key.model ?? 'default', key.routingGroup ?? 'default', key.role)
    this.#partitions.get(name)?.selector.dispose()
    return this.#partitions.delete(name)
  }

  get partitions(): readonly Partition[] {
    return [...this.#partitions.values()]
  }

  /** Every instance, configured or built in. */
  policies(): readonly PolicyDescription[] {
    return [...this.#instances.values()].map((instance) => this.#describe(instance))
  }

  /** Patches an instance everywhere it serves. Errors: `ROUTER_POLICY_INSTANCE_UNKNOWN`, and those of `PolicyInstance.patch`. */
  patch(
    name: string,
    change: Readonly<Record<string, unknown>>,
    expectedRevision?: number,
    options: { readonly dryRun?: boolean } = {},
  ): PatchOutcome {
    const instance = this.#instances.get(name)
    if (instance !== undefined) return instance.patch(change, expectedRevision, options)
    const available = [...this.#instances.keys()].sort().join(', ') || '<none>'
    throw new PatchError(
      'ROUTER_POLICY_INSTANCE_UNKNOWN',
      `unknown policy instance '${name}', available: ${available}`,
      { name, available },
    )
  }

  dispose(): void {
    for (const partition of this.#partitions.values()) partition.selector.dispose()
    this.#partitions.clear()
  }

  #describe(instance: PolicyInstance): PolicyDescription {
    const { definition, name, revision, configured, startParameters, runtime } = instance
    const partitions = [...this.#partitions].filter(([, { selector }]) => selector.instance === instance)
    const roles = Object.entries(this.#options.bundle.roles).filter(([, policy]) => policy?.name === name)
    return {
      name,
      type: definition.type,
      package: definition.package,
      version: definition.version,
      stability: definition.stability,
      roles: roles.map(([role]) => role as WorkerRole),
      partitions: partitions.map(([partition]) => partition),
      revision,
      parameters: configured,
      startParameters,
      runtimeParameters: definition.runtime,
      parameterSchema: inputSchemaOf(definition.parameters),
      inputs: [...new Set(partitions.flatMap(([, { selector }]) => selector.declaredInputs))],
      runtime,
    }
  }
}

/** Name of a partition, and its key: the separator is escaped, so that no two meet. */
function nameOf(model: string, routingGroup: string, role: WorkerRole): string {
  return `${escaped(model)}/${escaped(routingGroup)}/${role}`
}

function escaped(name: string): string {
  return name.replaceAll('%', '%25').replaceAll('/', '%2F')
}

/** The router inside a program of yours: no network, no globals, injected clock and randomness. */
export function createRouterCore(options: RouterCoreOptions): RouterCore {
  return new RouterCore(options)
}
