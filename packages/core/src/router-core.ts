import { BlockHasher } from '@router/kv-index'
import {
  CatalogError,
  type JsonSchema,
  inputSchemaOf,
  type PolicyBundle,
  PatchError,
  type ResolvedPolicy,
  type WorkerRank,
  type WorkerRole,
} from '@router/sdk'
import { BookingBudget } from './load/booking.js'
import { type PatchOutcome, PolicyInstance } from './policy-instance.js'
import { PartitionRouter, type PartitionServices } from './routing/partition-router.js'
import { type RouterCoreConfig, resolvedConfig } from './routing/router-config.js'
import { Selector } from './selector.js'
import type { RouterWarning } from './warnings.js'
import { WorkerTable } from './worker-table.js'

/** What an embedder injects: the core has no clock, randomness, network or globals of its own. */
export interface RouterCoreOptions {
  /** Policies of all roles, from `PolicyCatalog.resolve`. */
  readonly policy: PolicyBundle
  /** Monotonic clock, milliseconds. */
  readonly clock: () => number
  /** Seeds of the streams that policies open without one, 64 bits each. */
  readonly random: () => bigint
  /** What the core keeps and believes. Default: the router's own defaults. */
  readonly config?: RouterCoreConfig
  readonly onWarning?: (warning: RouterWarning) => void
  /**
   * The index of a partition was full, and this rank, furthest beyond its capacity, lost what it held: its event source should count as
   * `rebuilding` (`WorkerEvents.rankDropped` of `@router/kv-events`).
   */
  readonly onRankDropped?: (rank: WorkerRank, partition: Partition) => void
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

interface OwnedPartition extends Partition {
  router?: PartitionRouter
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
  readonly #partitions = new Map<string, OwnedPartition>()
  readonly #services: PartitionServices

  constructor(options: RouterCoreOptions) {
    this.#options = options
    const { roles, instances } = options.policy
    const selected = Object.values(roles).filter((policy): policy is ResolvedPolicy => policy !== undefined)
    for (const policy of [...instances, ...selected]) {
      if (!this.#instances.has(policy.name)) this.#instances.set(policy.name, new PolicyInstance(policy))
    }
    this.#services = {
      config: resolvedConfig(options.config ?? {}),
      hasher: new BlockHasher({ webAssembly: options.webAssembly ?? true }),
      budget: new BookingBudget(),
      nowMs: options.clock,
      entropy: options.random,
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
    const { policy: bundle, random, clock, onWarning, webAssembly = true } = this.#options
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
      routerDefaults: this.#services.config.routerDefaults,
      entropy: random,
      nowMs: clock,
      ...(onWarning === undefined ? {} : { onWarning }),
    })
    const partition = { model, routingGroup, role, table, selector }
    this.#partitions.set(name, partition)
    return partition
  }

  /**
   * The router of a partition, built on first use: it owns the loads and overlaps of the partition's table from then on, which nobody else
   * may write. Errors: those of `partition`, and `ROUTER_BAD_REQUEST` for a block size.
   * @param blockSize tokens a block, of a partition that is not of the core's; counts when the router is built
   */
  router(key: PartitionKey, blockSize?: number): PartitionRouter {
    const services = this.#services
    const config =
      blockSize === undefined ? services.config : resolvedConfig({ ...services.config, blockSize })
    // After what may be refused: no partition is left behind.
    const partition: OwnedPartition = this.partition(key)
    const { onRankDropped } = this.#options
    partition.router ??= new PartitionRouter(partition, {
      ...services,
      config,
      onRankDropped: (rank) => onRankDropped?.(rank, partition),
    })
    return partition.router
  }

  /** Forgets a partition and disposes of its policy object; false when there was none. */
  remove(key: PartitionKey): boolean {
    const name = nameOf(key.model ?? 'default', key.routingGroup ?? 'default', key.role)
    const partition = this.#partitions.get(name)
    partition?.router?.dispose()
    partition?.selector.dispose()
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
    for (const { router, selector } of this.#partitions.values()) {
      router?.dispose()
      selector.dispose()
    }
    this.#partitions.clear()
  }

  #describe(instance: PolicyInstance): PolicyDescription {
    const { definition, name, revision, configured, startParameters, runtime } = instance
    const partitions = [...this.#partitions].filter(([, { selector }]) => selector.instance === instance)
    const roles = Object.entries(this.#options.policy.roles).filter(([, policy]) => policy?.name === name)
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
