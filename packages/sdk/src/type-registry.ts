import { type PluginDefinition, type PluginKind, checkDefinition, namePattern } from './catalog-checks.js'
import type { VersionSelector } from './catalog-config.js'
import { CatalogError } from './errors.js'

/** Types of one plugin kind: a global namespace, and one per package specifier. Registration never overrides. */
export class TypeRegistry<T extends PluginDefinition> {
  readonly #kind: PluginKind<T>
  readonly #global: T[] = []
  readonly #packages = new Map<string, readonly T[]>()

  constructor(kind: PluginKind<T>) {
    this.#kind = kind
  }

  get size(): number {
    let size = this.#global.length
    for (const definitions of this.#packages.values()) size += definitions.length
    return size
  }

  /** Adds to the global namespace; a name that some package brought is taken too. */
  add(definition: T): void {
    checkDefinition(this.#kind, definition)
    this.#check(definition, this.#global, [...this.#packages.values()].flat())
    this.#global.push(definition)
  }

  /** Checks all definitions of a package and returns what adds them, under its specifier; one without a package gets it. */
  stagePackage(specifier: string, definitions: readonly T[]): () => void {
    const scope = [...(this.#packages.get(specifier) ?? [])]
    for (const definition of definitions) {
      checkDefinition(this.#kind, definition, specifier)
      const named =
        definition.package === undefined ? Object.freeze({ ...definition, package: specifier }) : definition
      this.#check(named, scope, this.#global)
      scope.push(named)
    }
    return () => this.#packages.set(specifier, scope)
  }

  hasPackage(specifier: string): boolean {
    return this.#packages.has(specifier)
  }

  /** Sorted types and aliases of the global namespace, or of one package. */
  names(specifier?: string): string[] {
    return [...new Set(this.#scope(specifier).flatMap(namesOf))].sort()
  }

  find(type: string, specifier: string | undefined, range: string | undefined, select: VersionSelector): T {
    const candidates = this.#scope(specifier).filter((definition) => namesOf(definition).includes(type))
    if (candidates.length === 0) throw this.#unknownType(type, specifier)
    const versions = candidates.map((definition) => definition.version)
    const subject = `${this.#kind.name} type '${type}'`
    if (range === undefined) {
      if (candidates.length === 1) return candidates[0]!
      const message = `several versions of ${subject} are loaded (${versions.join(', ')}): name a version range`
      throw new CatalogError('ROUTER_POLICY_VERSION_AMBIGUOUS', message, {
        type,
        package: specifier,
        versions,
      })
    }
    const best = select(versions, range)
    const match = candidates.find((definition) => definition.version === best)
    if (match !== undefined) return match
    const message = `no loaded version of ${subject} is in range '${range}', loaded: ${versions.join(', ')}`
    throw new CatalogError('ROUTER_POLICY_VERSION_UNKNOWN', message, {
      type,
      package: specifier,
      range,
      versions,
    })
  }

  #scope(specifier: string | undefined): readonly T[] {
    return specifier === undefined ? this.#global : (this.#packages.get(specifier) ?? [])
  }

  #unknownType(type: string, specifier: string | undefined): CatalogError {
    const available = this.names(specifier).join(', ') || '<none>'
    const place = specifier === undefined ? '' : ` in package ${specifier}`
    const hint = type === 'default' ? " ('default' is reserved: use dynamo-default-cost-fn)" : ''
    const message = `unknown ${this.#kind.name} type '${type}'${place}${hint}, available: ${available}`
    return new CatalogError('ROUTER_POLICY_TYPE_UNKNOWN', message, {
      name: type,
      available,
      package: specifier,
    })
  }

  /** `scope` may hold other versions of the same type of the same package, `others` no equal name at all. */
  #check(definition: T, scope: readonly T[], others: readonly T[]): void {
    for (const name of namesOf(definition)) {
      this.#checkName(name, definition)
      const hasName = (other: T): boolean => namesOf(other).includes(name)
      const taken =
        others.find(hasName) ?? scope.find((other) => hasName(other) && !isSibling(other, definition))
      if (taken === undefined) continue
      const owner = taken.package === undefined ? `type ${taken.type}` : `package ${taken.package}`
      const message = `${this.#kind.name} type '${name}' is already registered by ${owner}, version ${taken.version}; registration never overrides`
      throw new CatalogError('ROUTER_POLICY_TYPE_DUPLICATE', message, detailsOf(name, definition))
    }
  }

  #checkName(name: string, definition: T): void {
    const details = detailsOf(name, definition)
    const subject = `${this.#kind.name} type '${name}'`
    if (name === '') {
      throw new CatalogError(
        'ROUTER_POLICY_TYPE_EMPTY',
        `a ${this.#kind.name} type must not be empty`,
        details,
      )
    }
    if (name === 'default') {
      throw new CatalogError(
        'ROUTER_POLICY_TYPE_RESERVED',
        `${subject} is reserved for the built-in policy`,
        details,
      )
    }
    if (!namePattern.test(name)) {
      throw new CatalogError('ROUTER_POLICY_TYPE_INVALID', `${subject} must match [A-Za-z0-9_.-]+`, details)
    }
  }
}

/** Another version of the same type of the same package. */
function isSibling(other: PluginDefinition, definition: PluginDefinition): boolean {
  return (
    other.type === definition.type &&
    other.package === definition.package &&
    other.version !== definition.version
  )
}

function namesOf({ type, aliases }: PluginDefinition): readonly string[] {
  return [type, ...aliases]
}

function detailsOf(name: string, definition: PluginDefinition) {
  return { name, type: definition.type, package: definition.package }
}
