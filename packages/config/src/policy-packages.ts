import {
  CatalogError,
  type PluginPackage,
  type PolicyCatalog,
  isClassifierDefinition,
  isKvHintPolicyDefinition,
  isPolicyDefinition,
} from '@router/sdk'
import { type ImportedPackage, importPackage } from './node-edge.js'

/** A package that was imported; what it provides is in the catalog, under its specifier. */
export interface PolicyPackage {
  readonly specifier: string
  /** URL of the module. */
  readonly url: string
}

/**
 * Imports a package named in a configuration and adds its policies, classifiers and KV-hint policies to the catalog, under its
 * specifier. A package that the catalog already has is imported but not registered again.
 * Errors: `ROUTER_POLICY_PACKAGE_NOT_FOUND`, `_PACKAGE_LOAD_FAILED`, `_PACKAGE_EMPTY`, and those of `registerPackage`.
 */
export async function loadPolicyPackage(
  catalog: PolicyCatalog,
  specifier: string,
  folder: string,
): Promise<PolicyPackage> {
  const imported = await importPackage(specifier, folder)
  const provided = providedBy(imported)
  if (!catalog.hasPackage(specifier)) catalog.registerPackage(specifier, provided)
  return { specifier, url: imported.url }
}

/** The exports that the catalog reads. It judges the elements: one that is no definition is refused, not left out. */
function providedBy({ specifier, url, exports }: ImportedPackage): PluginPackage {
  const policies = listOf(exports['policies'])
  const classifiers = listOf(exports['classifiers'])
  const kvHintPolicies = listOf(exports['kvHintPolicies'])
  const isEmpty =
    !policies.some(isPolicyDefinition) &&
    !classifiers.some(isClassifierDefinition) &&
    !kvHintPolicies.some(isKvHintPolicyDefinition)
  if (!isEmpty) return { policies, classifiers, kvHintPolicies } as PluginPackage
  const names = Object.keys(exports)
  const message =
    `package '${specifier}' exports no policies: an array \`policies\` made by definePolicy is wanted, ` +
    `also \`classifiers\` or \`kvHintPolicies\`; it exports ${names.toSorted().join(', ') || '<none>'}`
  throw new CatalogError('ROUTER_POLICY_PACKAGE_EMPTY', message, { specifier, url, exports: names })
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
