import { createPolicyCatalog } from '@router/config'
import { policies as classicPolicies } from '@router/policy-classic'
import { defaultPolicy, policies as defaultPolicies } from '@router/policy-default'
import { policies as kvCapacityAwarePolicies } from '@router/policy-kv-capacity-aware'
import { policies as prefixAffinityPolicies } from '@router/policy-prefix-affinity'
import type { PolicyCatalog } from '@router/sdk'

/** A catalog with every shipped policy; `default` is the built-in cost formula. */
export function shippedCatalog(): PolicyCatalog {
  const catalog = createPolicyCatalog().withDefault(defaultPolicy)
  const shipped = [defaultPolicies, prefixAffinityPolicies, kvCapacityAwarePolicies, classicPolicies]
  for (const policy of shipped.flat()) catalog.register(policy)
  return catalog
}
