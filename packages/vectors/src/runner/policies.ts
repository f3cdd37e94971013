import { policies as classicPolicies } from '@router/policy-classic'
import { policies as defaultPolicies } from '@router/policy-default'
import { policies as capacityPolicies } from '@router/policy-kv-capacity-aware'
import { policies as affinityPolicies } from '@router/policy-prefix-affinity'
import { CatalogError, PolicyCatalog, type PolicyDefinition, type ResolvedPolicy } from '@router/sdk'
import { ShapeError } from './family.js'

/** Every policy that cases may name. A policy package joins by standing here. */
const catalog = new PolicyCatalog()
for (const policy of [defaultPolicies, affinityPolicies, capacityPolicies, classicPolicies].flat())
  catalog.register(policy)

/** Whether a type or alias is shipped; `default` is the built-in one. */
export function isShipped(type: string): boolean {
  return catalog.types().includes(typeOf(type))
}

/** Lines may call the default policy by the name of the built-in one, which a configuration may not. */
function typeOf(type: string): string {
  return type === 'default' ? 'dynamo-default-cost-fn' : type
}

/**
 * A policy with its parameters, as a configuration would name it; `runtime` reserves the inputs of every possible patch. Throws
 * `ShapeError` when the policy refuses the parameters.
 */
export function resolvePolicy(type: string, parameters: object, runtime = false): ResolvedPolicy {
  try {
    return resolve(type, parameters, runtime)
  } catch (error) {
    if (!CatalogError.isInstance(error)) throw error
    throw new ShapeError([`params: ${error.message}`])
  }
}

/** Whether the policy accepts these parameters at start-up. */
export function acceptsParameters(type: string, parameters: object): boolean {
  try {
    resolve(type, parameters, false)
    return true
  } catch (error) {
    if (CatalogError.isInstance(error) && error.code === 'ROUTER_POLICY_PARAMETERS_INVALID') return false
    throw error
  }
}

/** A policy made for a case, for example one with scripted costs. */
export function resolveDefinition(definition: PolicyDefinition): ResolvedPolicy {
  return { definition, name: definition.type, configured: {}, parameters: {}, runtime: false }
}

function resolve(type: string, parameters: object, runtime: boolean): ResolvedPolicy {
  const instances = [{ name: 'case', type: typeOf(type), parameters, runtime }]
  return catalog.resolveForRole({ allowAlpha: true, aggregated: 'case', instances }, 'aggregated')
}
