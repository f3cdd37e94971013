import {
  type JsonSchema,
  inputSchemaOf,
  CatalogError,
  type ClassifierDefinition,
  type ConfigIssue,
  type ParameterIssue,
  type PluginConfig,
  type PolicyBundle,
  type PolicyCatalog,
  type PolicyInstanceConfig,
  type ResolvedPlugin,
  type WorkerRole,
  type WorkerSelectionConfig,
  workerRoles,
} from '@router/sdk'
import type { z } from 'zod'
import { explainFault, withoutEchoes } from './accepted.js'
import { type Fault, maximumIssues, showList, throwIssues, toIssue } from './issues.js'
import type { RoleChoice } from './role-selection.js'
import { suggest } from './suggest.js'
import type { YamlSource } from './yaml-source.js'

/**
 * Resolves instances, then roles, through the catalog. Errors (`ConfigError`, all issues of the stage, each with the catalog's
 * code): faults of instances in file order, then of roles.
 */
export function resolvePolicies(
  catalog: PolicyCatalog,
  selection: WorkerSelectionConfig,
  roles: Readonly<Record<WorkerRole, RoleChoice>>,
  source: YamlSource | undefined,
): PolicyBundle {
  const names = Object.fromEntries(workerRoles.map((role) => [role, roles[role].name]))
  try {
    return catalog.resolve({ ...selection, ...names })
  } catch (error) {
    if (!CatalogError.isInstance(error)) throw error
    const instances = selection.instances ?? []
    throwIssues(issuesOf(catalog, selection, source), undefined, error)
    throwIssues(roleIssues(instances, roles, source), undefined, error)
    throwIssues([toIssue({ code: error.code, path: [], message: error.message })], undefined, error)
    throw error
  }
}

function issuesOf(
  catalog: PolicyCatalog,
  selection: WorkerSelectionConfig,
  source: YamlSource | undefined,
): ConfigIssue[] {
  const issues: ConfigIssue[] = []
  for (const [index, instance] of (selection.instances ?? []).entries()) {
    if (issues.length >= maximumIssues) break
    issues.push(...instanceIssues(catalog, selection, instance, index, source))
  }
  return issues
}

function instanceIssues(
  catalog: PolicyCatalog,
  { allowAlpha = false }: WorkerSelectionConfig,
  instance: PolicyInstanceConfig,
  index: number,
  source: YamlSource | undefined,
): ConfigIssue[] {
  try {
    // The name `default` cannot occur here, so that this resolves the instance and nothing else.
    catalog.resolveForRole({ allowAlpha, instances: [instance], aggregated: instance.name }, 'aggregated')
    return []
  } catch (error) {
    if (!CatalogError.isInstance(error)) throw error
    const definition = () => catalog.find(instance.type, instance)
    return pluginFaults(instance, error, ['worker_selection', 'instances', index], definition).map((fault) =>
      toIssue({ code: error.code, ...fault }, source),
    )
  }
}

/** Resolves the request classifier through the catalog. Errors as `resolvePolicies`. */
export function resolveClassifier(
  catalog: PolicyCatalog,
  classifier: PluginConfig,
  source: YamlSource,
): ResolvedPlugin<ClassifierDefinition> {
  try {
    return catalog.resolveClassifier(classifier)
  } catch (error) {
    if (!CatalogError.isInstance(error)) throw error
    const definition = () => catalog.findClassifier(classifier.type, classifier)
    const faults = pluginFaults(classifier, error, ['request_classifier'], definition)
    throwIssues(
      faults.map((fault) => toIssue({ code: error.code, ...fault }, source)),
      undefined,
      error,
    )
    throw error
  }
}

/** @param definition looks up what the plugin names, for what its schema accepts */
function pluginFaults(
  plugin: PluginConfig & { readonly runtime?: boolean | undefined },
  error: CatalogError,
  path: readonly (string | number)[],
  definition: () => { readonly parameters: z.ZodType },
): Fault[] {
  const { message } = error
  switch (error.code) {
    case 'ROUTER_POLICY_TYPE_UNKNOWN': {
      const accepted = error.details['available'] as string
      const types = accepted === '<none>' ? [] : accepted.split(', ')
      const suggestion = plugin.type === 'default' ? 'dynamo-default-cost-fn' : suggest(plugin.type, types)
      return [{ path: [...path, 'type'], message, value: plugin.type, accepted, suggestion }]
    }
    case 'ROUTER_POLICY_VERSION_UNKNOWN':
      return [{ path: [...path, 'version'], message, value: plugin.version, accepted: versionsOf(error) }]
    case 'ROUTER_POLICY_VERSION_AMBIGUOUS':
      return [
        {
          path: [...path, 'type'],
          message,
          value: plugin.type,
          accepted:
            path[0] === 'request_classifier'
              ? 'a package with one version of the type'
              : `a version range over ${versionsOf(error)}`,
        },
      ]
    case 'ROUTER_POLICY_ALPHA':
      return [
        {
          path: [...path, 'type'],
          message,
          value: plugin.type,
          accepted: 'allow_alpha: true in worker_selection',
        },
      ]
    case 'ROUTER_POLICY_PARAMETERS_INVALID':
      return parameterFaults(plugin, error, path, definition)
    default:
      return [{ path, message }]
  }
}

function parameterFaults(
  plugin: PluginConfig & { readonly runtime?: boolean | undefined },
  error: CatalogError,
  path: readonly (string | number)[],
  definition: () => { readonly parameters: z.ZodType },
): Fault[] {
  const issues = error.details['issues'] as readonly ParameterIssue[]
  if (issues.length === 0)
    return [{ path: [...path, 'runtime'], message: error.message, value: plugin.runtime, accepted: 'false' }]
  const schema = parameterSchema(definition)
  const base = [...path, 'parameters']
  return withoutEchoes(issues.map((issue) => explainFault(issue, plugin.parameters ?? {}, schema, base)))
}

function parameterSchema(definition: () => { readonly parameters: z.ZodType }): JsonSchema {
  try {
    return inputSchemaOf(definition().parameters)
  } catch {
    // A schema of another library or with what JSON Schema cannot say: its own messages must do.
    return {}
  }
}

function versionsOf(error: CatalogError): string {
  return (error.details['versions'] as readonly string[]).join(', ')
}

function roleIssues(
  instances: readonly PolicyInstanceConfig[],
  roles: Readonly<Record<WorkerRole, RoleChoice>>,
  source: YamlSource | undefined,
): ConfigIssue[] {
  const names = instances.map(({ name }) => name).sort()
  const origins = new Set<string>()
  return workerRoles.flatMap((role) => {
    const { name, origin } = roles[role]
    if (name === 'default' || names.includes(name) || origins.has(origin)) return []
    origins.add(origin)
    const accepted = showList(['default', ...names])
    const message = `${origin} names the unknown instance '${name}'`
    const fault: Fault = {
      code: 'ROUTER_POLICY_INSTANCE_UNKNOWN',
      path: [origin],
      message,
      value: name,
      accepted,
    }
    const inFile = origin.startsWith('worker_selection.')
    return [toIssue({ ...fault, suggestion: suggest(name, names) }, inFile ? source : undefined)]
  })
}
