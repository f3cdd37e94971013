import { checkDefinition, namePattern, validateParameters } from './catalog-checks.js'
import { CatalogError, ConfigError, RouterError } from './errors.js'
import type { ClassifierDefinition, KvHintPolicyDefinition } from './plugins.js'
import type { PolicyDefinition } from './policy.js'
import { TypeRegistry } from './type-registry.js'
import { type WorkerRole, workerRoles } from './worker.js'

/** One configured instance of a policy type. */
export interface PolicyInstanceConfig {
  /** `[A-Za-z0-9_.-]+`, not `default`, unique in its configuration. */
  readonly name: string
  /** Registered type or alias. */
  readonly type: string
  /** Specifier of the npm package that provides the type; absent = the global namespace. */
  readonly package?: string | undefined
  /** Version range over the loaded candidates. */
  readonly version?: string | undefined
  /** True = reserve every input that a run-time patch could need. */
  readonly runtime?: boolean | undefined
  /** As written, for the schema of the type; absent = an empty mapping. */
  readonly parameters?: unknown
}

/** What the catalog resolves: instances, and which of them serves each role (`default` or absent = the built-in). */
export interface WorkerSelectionConfig extends Partial<Record<WorkerRole, string | undefined>> {
  /** True = types of stability `alpha` may be named. */
  readonly allowAlpha?: boolean | undefined
  /** Configured instances, in file order. */
  readonly instances?: readonly PolicyInstanceConfig[] | undefined
}

/** A policy ready to be built for a partition and role. Roles that name one instance, or the built-in, share this object. */
export interface ResolvedPolicy {
  /** The type that the instance names. */
  readonly definition: PolicyDefinition
  /** Instance name; `default` for the built-in. */
  readonly name: string
  /** Parameters as configured (before the schema), the base of run-time patches. */
  readonly configured: Readonly<Record<string, unknown>>
  /** Output of the schema. */
  readonly parameters: unknown
  /** Whether the instance reserves every input that a run-time patch could need. */
  readonly runtime: boolean
}

/** All roles, resolved once at start-up. */
export interface PolicyBundle {
  /** `undefined` only where no role selects an instance and the host has no built-in. */
  readonly roles: Readonly<Record<WorkerRole, ResolvedPolicy | undefined>>
  /** Every configured instance, selected or not, in file order. */
  readonly instances: readonly ResolvedPolicy[]
  /** Whether some role selects an instance rather than the built-in. */
  readonly selectsCustomInstance: boolean
}

/** Picks the best of `versions` in `range`, or `null`; `semver.maxSatisfying` fits. */
export type VersionSelector = (versions: readonly string[], range: string) => string | null

const exactVersion: VersionSelector = (versions, range) => (versions.includes(range) ? range : null)

/** The policies, classifiers and hint policies that a configuration may name. Owns no process state. */
export class PolicyCatalog {
  readonly #policies = new TypeRegistry<PolicyDefinition>('policy')
  readonly #classifiers = new TypeRegistry<ClassifierDefinition>('classifier')
  readonly #kvHintPolicies = new TypeRegistry<KvHintPolicyDefinition>('KV-hint policy')
  readonly #selectVersion: VersionSelector
  #default: PolicyDefinition | undefined

  /** Without a `selectVersion`, a range matches only the exact version it names. */
  constructor(options: { readonly selectVersion?: VersionSelector | undefined } = {}) {
    this.#selectVersion = options.selectVersion ?? exactVersion
  }

  /**
   * Registers a policy in the global namespace; never overrides. Errors: `ROUTER_CONTRACT_VERSION_MISMATCH`,
   * `ROUTER_POLICY_DEFINITION_INVALID`, `ROUTER_POLICY_TYPE_EMPTY`, `_RESERVED`, `_INVALID`, `_DUPLICATE`.
   */
  register(policy: PolicyDefinition): this {
    checkDefinition(policy)
    this.#policies.add(policy)
    return this
  }

  /** Registers a classifier; same rules in a namespace of its own. */
  registerClassifier(classifier: ClassifierDefinition): this {
    this.#classifiers.add(classifier)
    return this
  }

  /** Registers a KV-hint policy; same rules in a namespace of its own. */
  registerKvHintPolicy(policy: KvHintPolicyDefinition): this {
    this.#kvHintPolicies.add(policy)
    return this
  }

  /**
   * Adds the policies of an npm package under its specifier, all of them or none; only instances that name the package
   * see them. A policy that does not say its `package` gets the specifier. Errors as `register`; a type or alias of the
   * global namespace is a duplicate.
   */
  registerPackage(specifier: string, policies: readonly PolicyDefinition[]): this {
    for (const policy of policies) checkDefinition(policy, specifier)
    const named = policies.map((policy) =>
      policy.package === undefined ? Object.freeze({ ...policy, package: specifier }) : policy,
    )
    this.#policies.addPackage(specifier, named)
    return this
  }

  /** Sets the host's built-in default; not counted by `isEmpty`. Errors: those of `register` that are not about names. */
  withDefault(policy: PolicyDefinition): this {
    checkDefinition(policy)
    this.#default = policy
    return this
  }

  /** No policy, classifier or hint types. */
  get isEmpty(): boolean {
    return this.#policies.size === 0 && this.#classifiers.size === 0 && this.#kvHintPolicies.size === 0
  }

  /** Sorted names (types and aliases) of the global namespace, or of one package. */
  types(specifier?: string): string[] {
    return this.#policies.names(specifier)
  }

  /** A registered policy by type or alias. Errors: `ROUTER_POLICY_TYPE_UNKNOWN`, `ROUTER_POLICY_VERSION_UNKNOWN`, `_AMBIGUOUS`. */
  find(
    type: string,
    options: { readonly package?: string | undefined; readonly version?: string | undefined } = {},
  ): PolicyDefinition {
    return this.#policies.find(type, options.package, options.version, this.#selectVersion)
  }

  /**
   * Resolves all roles, and validates instances that no role selects. All faulty instances are reported together, else all
   * faulty roles: one fault is thrown as it is; several as one error with the code of the first and all of them in
   * `details.errors`. Errors: those of `find`, `ROUTER_CONFIG_INVALID` (a name), `ROUTER_POLICY_ALPHA`,
   * `ROUTER_POLICY_PARAMETERS_INVALID` (without issues: `runtime: true` where nothing may change); for roles `ROUTER_POLICY_INSTANCE_UNKNOWN`, `ROUTER_POLICY_DEFAULT_MISSING`.
   */
  resolve(config: WorkerSelectionConfig): PolicyBundle {
    const resolver = this.#resolver(config)
    const instances = collect((config.instances ?? []).keys(), (index) => resolver.instance(index))
    const selectsCustomInstance = workerRoles.some((role) => isCustom(config[role]))
    const mayLackDefault = this.#default === undefined && !selectsCustomInstance
    const roles = collect(workerRoles, (role) => (mayLackDefault ? undefined : resolver.role(role)))
    return {
      roles: Object.fromEntries(
        workerRoles.map((role, index) => [role, roles[index]]),
      ) as PolicyBundle['roles'],
      instances,
      selectsCustomInstance,
    }
  }

  /** Resolves what one role selects and nothing else; faults of other instances do not matter. Errors as `resolve`. */
  resolveForRole(config: WorkerSelectionConfig, role: WorkerRole): ResolvedPolicy {
    return this.#resolver(config).role(role)
  }

  #resolver(config: WorkerSelectionConfig) {
    const instances = config.instances ?? []
    const resolved = new Map<number, ResolvedPolicy>()
    const instance = (index: number): ResolvedPolicy => {
      const known = resolved.get(index) ?? this.#resolveInstance(instances, index, config.allowAlpha === true)
      resolved.set(index, known)
      return known
    }
    let builtIn: ResolvedPolicy | undefined
    const role = (name: WorkerRole): ResolvedPolicy => {
      const selected = config[name]
      if (!isCustom(selected)) return (builtIn ??= this.#builtIn(name))
      const index = instances.findIndex((candidate) => candidate.name === selected)
      if (index === -1) throw unknownInstance(selected, name, instances)
      return instance(index)
    }
    return { instance, role }
  }

  #builtIn(role: WorkerRole): ResolvedPolicy {
    const definition = this.#default
    if (definition === undefined) {
      throw new CatalogError(
        'ROUTER_POLICY_DEFAULT_MISSING',
        `role ${role} selects no instance, and this host has no built-in default policy`,
        { role },
      )
    }
    const parameters = validateParameters(definition, 'default', {})
    return { definition, name: 'default', configured: {}, parameters, runtime: false }
  }

  #resolveInstance(
    instances: readonly PolicyInstanceConfig[],
    index: number,
    allowAlpha: boolean,
  ): ResolvedPolicy {
    const {
      name,
      type,
      version,
      runtime = false,
      package: specifier,
      parameters: written,
    } = instances[index]!
    checkInstanceName(instances, index)
    const definition = this.#policies.find(type, specifier, version, this.#selectVersion)
    if (definition.stability === 'alpha' && !allowAlpha) {
      const message = `instance ${name}: type ${type} is alpha; set worker_selection.allow_alpha: true to use it`
      throw new CatalogError('ROUTER_POLICY_ALPHA', message, { instance: name, type: definition.type })
    }
    if (runtime && definition.runtime.length === 0) {
      const message = `instance ${name}: runtime: true, but type ${type} has no parameter that may change while running`
      throw new CatalogError('ROUTER_POLICY_PARAMETERS_INVALID', message, {
        type,
        instance: name,
        issues: [],
      })
    }
    const configured = written === undefined ? {} : (written as Record<string, unknown>)
    return {
      definition,
      name,
      configured,
      parameters: validateParameters(definition, name, configured),
      runtime,
    }
  }
}

function isCustom(name: string | undefined): name is string {
  return name !== undefined && name !== 'default'
}

function checkInstanceName(instances: readonly PolicyInstanceConfig[], index: number): void {
  const { name } = instances[index]!
  const fault = (message: string, accepted: string): ConfigError => {
    const code = 'ROUTER_CONFIG_INVALID'
    return new ConfigError(code, message, [
      { code, message, path: ['instances', index, 'name'], value: name, accepted },
    ])
  }
  if (!namePattern.test(name)) {
    throw fault(`instance name '${name}' must match [A-Za-z0-9_.-]+`, '[A-Za-z0-9_.-]+')
  }
  if (name === 'default')
    throw fault(`instance name 'default' is reserved for the built-in policy`, 'any other name')
  if (instances.findIndex((other) => other.name === name) !== index) {
    throw fault(`instance name '${name}' is used twice`, 'a name of its own')
  }
}

function unknownInstance(
  name: string,
  role: WorkerRole,
  instances: readonly PolicyInstanceConfig[],
): CatalogError {
  const available =
    instances
      .map((instance) => instance.name)
      .sort()
      .join(', ') || '<none>'
  return new CatalogError(
    'ROUTER_POLICY_INSTANCE_UNKNOWN',
    `role ${role} selects unknown policy instance '${name}', available: ${available}`,
    { name, role, available },
  )
}

/** Results in order; the faults of all items are thrown as one. */
function collect<T, R>(items: Iterable<T>, work: (item: T) => R): R[] {
  const results: R[] = []
  const errors: RouterError[] = []
  for (const item of items) {
    try {
      results.push(work(item))
    } catch (error) {
      if (!RouterError.isInstance(error)) throw error
      errors.push(error)
    }
  }
  const [first] = errors
  if (first === undefined) return results
  if (errors.length === 1) throw first
  const message = errors.map((error) => error.message).join('\n')
  throw new CatalogError(first.code, message, { ...first.details, errors })
}
