import {
  CatalogError,
  type ClassifierDefinition,
  type KvHintPolicyDefinition,
  type PolicyCatalog,
  type PolicyDefinition,
  classifierMarker,
  contractVersion,
  isPolicyDefinition,
  kvHintPolicyMarker,
} from '@router/sdk'
import { type ImportedPackage, importPackage } from './node-edge.js'

/** What a policy package provides. */
export interface PolicyPackage {
  readonly specifier: string
  /** URL of the module. */
  readonly url: string
  readonly policies: readonly PolicyDefinition[]
  readonly classifiers: readonly ClassifierDefinition[]
  readonly kvHintPolicies: readonly KvHintPolicyDefinition[]
}

/**
 * Imports a package named in a configuration and adds its policies to the catalog, under its specifier. Policies that do not
 * name their package get the specifier. A package that the catalog already has is imported but not registered again.
 * Errors: `ROUTER_POLICY_PACKAGE_NOT_FOUND`, `_PACKAGE_LOAD_FAILED`, `_PACKAGE_EMPTY`, `ROUTER_CONTRACT_VERSION_MISMATCH`, and those
 * of `registerPackage`.
 */
export async function loadPolicyPackage(
  catalog: PolicyCatalog,
  specifier: string,
  folder: string,
): Promise<PolicyPackage> {
  const provided = providedBy(await importPackage(specifier, folder))
  if (catalog.types(specifier).length === 0) catalog.registerPackage(specifier, provided.policies)
  return provided
}

function providedBy({ specifier, url, exports }: ImportedPackage): PolicyPackage {
  const policies = listOf(exports['policies'])
  const classifiers = listOf(exports['classifiers']).filter((value) => isMarked(value, classifierMarker))
  const kvHintPolicies = listOf(exports['kvHintPolicies']).filter((value) =>
    isMarked(value, kvHintPolicyMarker),
  )
  if (!policies.some(isPolicyDefinition) && classifiers.length === 0 && kvHintPolicies.length === 0) {
    const names = Object.keys(exports).sort().join(', ') || '<none>'
    const message =
      `package '${specifier}' exports no policies: an array \`policies\` made by definePolicy is wanted, ` +
      `also \`classifiers\` or \`kvHintPolicies\`; it exports ${names}`
    throw new CatalogError('ROUTER_POLICY_PACKAGE_EMPTY', message, {
      specifier,
      url,
      exports: Object.keys(exports),
    })
  }
  for (const plugin of [...classifiers, ...kvHintPolicies] as ClassifierDefinition[]) {
    if (plugin.contractVersion === contractVersion) continue
    const message =
      `type '${plugin.type}' of package '${specifier}' is written for contract version ${plugin.contractVersion}, ` +
      `this host speaks ${contractVersion}`
    const details = {
      type: plugin.type,
      package: specifier,
      found: plugin.contractVersion,
      expected: contractVersion,
    }
    throw new CatalogError('ROUTER_CONTRACT_VERSION_MISMATCH', message, details)
  }
  return {
    specifier,
    url,
    policies: policies.map((policy) =>
      isPolicyDefinition(policy) ? withPackage(policy, specifier) : (policy as never),
    ),
    classifiers: classifiers as ClassifierDefinition[],
    kvHintPolicies: kvHintPolicies as KvHintPolicyDefinition[],
  }
}

function withPackage(policy: PolicyDefinition, specifier: string): PolicyDefinition {
  return policy.package === undefined ? Object.freeze({ ...policy, package: specifier }) : policy
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function isMarked(value: unknown, marker: symbol): boolean {
  return typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[marker] === true
}
