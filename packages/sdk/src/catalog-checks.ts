import type { z } from 'zod'
import { type ClassifierDefinition, isClassifierDefinition } from './classifier.js'
import { CatalogError } from './errors.js'
import { type KvHintPolicyDefinition, isKvHintPolicyDefinition } from './kv-hint.js'
import { acceptedNames, pathOfLooseObject } from './parameter-schema.js'
import { type PolicyDefinition, isPolicyDefinition } from './policy.js'
import { contractVersion } from './stamp.js'
import { workerRoles } from './worker.js'

/** One refused parameter; in `details.issues` of `ROUTER_POLICY_PARAMETERS_INVALID`. */
export interface ParameterIssue {
  /** Keys and list positions from the root of the parameters; empty for the mapping itself. */
  readonly path: readonly (string | number)[]
  readonly message: string
  /** The value found; `undefined` when there is none. */
  readonly value?: unknown
  /** For an unknown parameter: the names that exist there, `<none>` for none. */
  readonly accepted?: string
}

/** The alphabet of types, aliases and instance names. */
export const namePattern = /^[A-Za-z0-9_.-]+$/u

const versionPattern = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/u

/** What the checks need of a definition of any kind. */
export interface PluginDefinition {
  readonly contractVersion: number
  readonly type: string
  readonly aliases: readonly string[]
  readonly package: string | undefined
  readonly version: string
  readonly parameters: z.ZodType
  readonly create: unknown
}

/** A kind of plugin, each with a namespace of its own. */
export interface PluginKind<T extends PluginDefinition> {
  /** For messages. */
  readonly name: string
  /** The function that makes definitions. */
  readonly maker: string
  readonly isDefinition: (value: unknown) => value is T
  /** What is wrong with the fields that only this kind has. */
  readonly faultOf?: (definition: T) => string | undefined
}

/** Policies. */
export const policyKind: PluginKind<PolicyDefinition> = {
  name: 'policy',
  maker: 'definePolicy',
  isDefinition: isPolicyDefinition,
  faultOf: policyFault,
}

/** Request classifiers. */
export const classifierKind: PluginKind<ClassifierDefinition> = {
  name: 'classifier',
  maker: 'defineClassifier',
  isDefinition: isClassifierDefinition,
}

/** KV-hint policies. */
export const kvHintKind: PluginKind<KvHintPolicyDefinition> = {
  name: 'KV-hint policy',
  maker: 'defineKvHintPolicy',
  isDefinition: isKvHintPolicyDefinition,
}

/**
 * Refuses a definition that its maker did not make or that no host could run: `ROUTER_CONTRACT_VERSION_MISMATCH`,
 * `ROUTER_POLICY_DEFINITION_INVALID`.
 */
export function checkDefinition<T extends PluginDefinition>(
  kind: PluginKind<T>,
  definition: T,
  origin = (definition as T | undefined)?.package,
): void {
  const isOfKind = kind.isDefinition(definition)
  const type = typeof definition?.type === 'string' ? definition.type : String(definition)
  const where = origin === undefined ? '' : ` of package ${origin}`
  if (isOfKind && definition.contractVersion !== contractVersion) {
    throw new CatalogError(
      'ROUTER_CONTRACT_VERSION_MISMATCH',
      `${kind.name} type '${type}'${where} is written for contract version ${definition.contractVersion}, ` +
        `this host speaks ${contractVersion}`,
      { type, package: origin, found: definition.contractVersion, expected: contractVersion },
    )
  }
  const fault = isOfKind
    ? (commonFault(definition) ?? kind.faultOf?.(definition))
    : `not made by ${kind.maker}`
  if (fault === undefined) return
  throw new CatalogError('ROUTER_POLICY_DEFINITION_INVALID', `${kind.name} '${type}'${where}: ${fault}`, {
    type,
    package: origin,
    fault,
  })
}

function commonFault({ type, aliases, version, create, parameters }: PluginDefinition): string | undefined {
  if (typeof type !== 'string') return `type must be a string, got ${describe(type)}`
  if (!isStringList(aliases)) return 'aliases must be a list of strings'
  if (!versionPattern.test(String(version))) return `version must be semantic, got ${describe(version)}`
  if (typeof create !== 'function') return 'create must be a function'
  if (typeof parameters?.safeParse !== 'function' || !('_zod' in parameters))
    return 'parameters must be a zod 4 schema'
  const loose = pathOfLooseObject(parameters)
  return loose === undefined
    ? undefined
    : `parameters must reject unknown keys: ${loose.join('.') || 'the schema'} must be a z.strictObject`
}

function policyFault(policy: PolicyDefinition): string | undefined {
  const { stability, affinity, roles, occupancyAdmission, runtime, parameters } = policy
  if (!['alpha', 'beta', 'stable'].includes(stability)) {
    return `stability must be alpha, beta or stable, got ${describe(stability)}`
  }
  if (affinity !== 'exclusive' && affinity !== 'advisory') {
    return `affinity must be exclusive or advisory, got ${describe(affinity)}`
  }
  if (occupancyAdmission !== 'always' && occupancyAdmission !== 'unless-full-hit') {
    return `occupancyAdmission must be always or unless-full-hit, got ${describe(occupancyAdmission)}`
  }
  const acceptedRoles = `roles must be some of ${workerRoles.join(', ')}`
  if (!isStringList(roles) || roles.length === 0) return `${acceptedRoles}, got none`
  const unknownRole = roles.find((role) => !workerRoles.includes(role))
  if (unknownRole !== undefined) return `${acceptedRoles}, got ${describe(unknownRole)}`
  if (!isStringList(runtime)) return 'runtime must be a list of parameter names'
  const unknown = runtime.find((name) => !mayHold(parameters, name.split('.')))
  return unknown === undefined ? undefined : `runtime names '${unknown}', which is no parameter`
}

/** False when objects stand above the last key of `path` and none of them has it. */
function mayHold(parameters: PolicyDefinition['parameters'], path: readonly string[]): boolean {
  const names = acceptedNames(parameters, path.slice(0, -1))
  return names.length === 0 ? path.length > 1 : names.includes(path.at(-1)!)
}

function isStringList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

/**
 * Output of the schema of a policy, classifier or hint policy. Error: `ROUTER_POLICY_PARAMETERS_INVALID` with `type`, `instance`
 * and all `issues`.
 * @param instance name of the policy instance; `undefined` for the kinds that have none
 */
export function validateParameters(
  definition: { readonly type: string; readonly parameters: z.ZodType },
  instance: string | undefined,
  configured: unknown,
): unknown {
  const result = parseGuarded(definition, instance, configured)
  if (result.success) return result.data
  const issues: ParameterIssue[] = []
  for (const issue of result.error.issues) {
    const path = issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key))
    if (issue.code !== 'unrecognized_keys') {
      issues.push({ path, message: issue.message, value: valueAt(configured, path) })
      continue
    }
    const accepted = acceptedNames(definition.parameters, path).join(', ') || '<none>'
    for (const key of issue.keys) {
      const message = `unknown parameter '${key}'`
      issues.push({ path: [...path, key], message, value: valueAt(configured, [...path, key]), accepted })
    }
  }
  const subject = `${instance === undefined ? '' : `instance ${instance} of `}type ${definition.type}`
  throw new CatalogError('ROUTER_POLICY_PARAMETERS_INVALID', `${subject}: ${issues.map(lineOf).join('; ')}`, {
    type: definition.type,
    instance,
    issues,
  })
}

/** A schema that throws, or that is asynchronous, is a fault of the policy and not of the parameters. */
function parseGuarded(
  definition: { readonly type: string; readonly parameters: z.ZodType },
  instance: string | undefined,
  configured: unknown,
): z.ZodSafeParseResult<unknown> {
  try {
    const result = definition.parameters.safeParse(configured)
    const rounded = result.success ? configured : withRoundedIntegers(configured, result.error.issues)
    if (rounded === configured) return result
    const again = definition.parameters.safeParse(rounded)
    return again.success ? again : result
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const message = `policy '${definition.type}': its parameter schema threw: ${reason}`
    throw new CatalogError(
      'ROUTER_POLICY_DEFINITION_INVALID',
      message,
      { type: definition.type, instance },
      { cause },
    )
  }
}

/**
 * A copy in which an integer above 2^53 - 1, which a file gives as a bigint, is the nearest double wherever the schema wants a number;
 * the same value when there is none.
 */
function withRoundedIntegers(value: unknown, issues: readonly z.core.$ZodIssue[]): unknown {
  let rounded = value
  for (const { code, path } of issues) {
    const found = code === 'invalid_type' ? valueAt(value, path as (string | number)[]) : undefined
    if (typeof found === 'bigint') rounded = replacedAt(rounded, path, Number(found))
  }
  return rounded
}

function replacedAt(value: unknown, path: readonly PropertyKey[], leaf: number): unknown {
  const [key, ...rest] = path
  if (key === undefined) return leaf
  const copy: Record<PropertyKey, unknown> | unknown[] = Array.isArray(value)
    ? [...value]
    : { ...(value as object) }
  const inner = (copy as Record<PropertyKey, unknown>)[key]
  ;(copy as Record<PropertyKey, unknown>)[key] = replacedAt(inner, rest, leaf)
  return copy
}

function lineOf({ path, message, value, accepted }: ParameterIssue): string {
  const found = value === undefined ? '' : `, got ${describe(value)}`
  return `${path.join('.') || '<parameters>'}: ${message}${found}${accepted === undefined ? '' : `, accepted: ${accepted}`}`
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'a mapping'
  const text = typeof value === 'string' ? `'${value}'` : String(value)
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}

function valueAt(root: unknown, path: readonly (string | number)[]): unknown {
  let value = root
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = (value as Record<string | number, unknown>)[key]
  }
  return value
}
