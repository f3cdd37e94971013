import {
  checkDefinition,
  classifierKind,
  kvHintKind,
  namePattern,
  policyKind,
  validateParameters,
} from './catalog-checks.js'
import type {
  CatalogConfig,
  PluginConfig,
  PluginPackage,
  PolicyBundle,
  PolicyInstanceConfig,
  ResolvedPlugin,
  ResolvedPolicy,
  VersionSelector,
  WorkerSelectionConfig,
} from './catalog-config.js'
import type { ClassifierDefinition } from './classifier.js'
import { CatalogError, ConfigError, RouterError } from './errors.js'
import type { KvHintPolicyDefinition } from './kv-hint.js'
import type { PolicyDefinition } from './policy.js'
import { TypeRegistry } from './type-registry.js'
import { type WorkerRole, workerRoles } from './worker.js'

/** Where to look for a type. */
export interface FindOptions {
  /** Specifier of the npm package; absent = the global namespace. */
  readonly package?: string | undefined
  /** Version range; needed only where several versions are loaded. */
  readonly version?: string | undefined
}

const exactVersion: VersionSelector = (versions, range) => (versions.includes(range) ? range : null)

/** The policies, classifiers and hint policies that a configuration may name. Owns no process state. */
export class PolicyCatalog {
  readonly #policies = new TypeRegistry(policyKind)
  readonly #classifiers = new TypeRegistry(classifierKind)
  readonly #kvHintPolicies = new TypeRegistry(kvHintKind)
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
   * Adds what an npm package exports under its specifier, all of it or nothing; only configurations that name the package see
   * it. A definition that does not say its `package` gets the specifier. Errors as `register`; a type or alias of the global
   * namespace of the same kind is a duplicate.
   */
  registerPackage(
    specifier: string,
    { policies = [], classifiers = [], kvHintPolicies = [] }: PluginPackage,
  ): this {
    const additions = [
      this.#policies.stagePackage(specifier, policies),
      this.#classifiers.stagePackage(specifier, classifiers),
      this.#kvHintPolicies.stagePackage(specifier, kvHintPolicies),
    ]
    for (const add of additions) add()
    return this
  }

  /** Whether `registerPackage` took this specifier. */
  hasPackage(specifier: string): boolean {
    return this.#policies.hasPackage(specifier)
  }

  /** Sets the host's built-in default; not counted by `isEmpty`. Errors: those of `register` that are not about names. */
  withDefault(policy: PolicyDefinition): this {
    checkDefinition(policyKind, policy)
    this.#default = policy
    return this
  }

  /** No policy, classifier or hint types. */
  get isEmpty(): boolean {
    return this.#policies.size === 0 && this.#classifiers.size === 0 && this.#kvHintPolicies.size === 0
  }

  /** Sorted names (types and aliases) of policies in the global namespace, or of one package. */
  types(specifier?: string): string[] {
    return this.#policies.names(specifier)
  }

  /** A registered policy by type or alias. Errors: `ROUTER_POLICY_TYPE_UNKNOWN`, `ROUTER_POLICY_VERSION_UNKNOWN`, `_AMBIGUOUS`. */
  find(type: string, options: FindOptions = {}): PolicyDefinition {
    return this.#policies.find(type, options.package, options.version, this.#selectVersion)
  }

  /** A registered classifier by type or alias. Errors as `find`. */
  findClassifier(type: string, options: FindOptions = {}): ClassifierDefinition {
    return this.#classifiers.find(type, options.package, options.version, this.#selectVersion)
  }

  /** A registered KV-hint policy by type or alias. Errors as `find`. */
  findKvHintPolicy(type: string, options: FindOptions = {}): KvHintPolicyDefinition {
    return this.#kvHintPolicies.find(type, options.package, options.version, this.#selectVersion)
  }

  /**
   * Resolves all roles, the classifier and the hint policy, and validates instances that no role selects. All faulty instances
   * are reported together, else all faulty roles, else the classifier, else the hint policy: one fault is thrown as it is; several as one error with the code of the first and all of them in
   * `details.errors`. Errors: those of `find`, `ROUTER_CONFIG_INVALID` (a name), `ROUTER_POLICY_ALPHA`,
   * `ROUTER_POLICY_PARAMETERS_INVALID` (without issues: `runtime: true` where nothing may change); for roles `ROUTER_POLICY_INSTANCE_UNKNOWN`, `ROUTER_POLICY_DEFAULT_MISSING`.
   */
  resolve(config: CatalogConfig): PolicyBundle {
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
      requestClassifier: config.requestClassifier && this.resolveClassifier(config.requestClassifier),
      kvHintPolicy: config.kvHintPolicy && this.#resolveKvHintPolicy(config.kvHintPolicy),
    }
  }

  /** Resolves what one role selects and nothing else; faults of other instances do not matter. Errors as `resolve`. */
  resolveForRole(config: WorkerSelectionConfig, role: WorkerRole): ResolvedPolicy {
    return this.#resolver(config).role(role)
  }

  /** Resolves a classifier and nothing else. Errors: those of `find`, `ROUTER_POLICY_PARAMETERS_INVALID`. */
  resolveClassifier(config: PluginConfig): ResolvedPlugin<ClassifierDefinition> {
    return resolved(this.findClassifier(config.type, config), config)
  }

  #resolveKvHintPolicy(config: PluginConfig): ResolvedPlugin<KvHintPolicyDefinition> {
    return resolved(this.findKvHintPolicy(config.type, config), config)
  }

  #resolver(config: WorkerSelectionConfig) {
    const instances = config.instances ?? []
    const resolved = new Map<number, ResolvedPolicy>()
    const firstOf = new Map<string, number>()
    for (const [index, { name }] of instances.entries()) if (!firstOf.has(name)) firstOf.set(name, index)
    const instance = (index: number): ResolvedPolicy => {
      const isRepeated = firstOf.get(instances[index]!.name) !== index
      const known =
        resolved.get(index) ?? this.#resolveInstance(instances, index, isRepeated, config.allowAlpha === true)
      resolved.set(index, known)
      return known
    }
    let builtIn: ResolvedPolicy | undefined
    const role = (name: WorkerRole): ResolvedPolicy => {
      const selected = config[name]
      if (!isCustom(selected)) return (builtIn ??= this.#builtIn(name))
      const index = firstOf.get(selected)
      if (index === undefined) throw unknownInstance(selected, name, instances)
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
    isRepeated: boolean,
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
    checkInstanceName(name, index, isRepeated)
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

function resolved<D extends ClassifierDefinition | KvHintPolicyDefinition>(
  definition: D,
  { parameters = {} }: PluginConfig,
): ResolvedPlugin<D> {
  return { definition, parameters: validateParameters(definition, undefined, parameters) }
}

function isCustom(name: string | undefined): name is string {
  return name !== undefined && name !== 'default'
}

function checkInstanceName(name: string, index: number, isRepeated: boolean): void {
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
  if (isRepeated) {
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
