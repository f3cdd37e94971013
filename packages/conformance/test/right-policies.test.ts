import { policyConformance } from '@router/conformance'
import { describe, it } from 'vitest'
import { leastBusy, pinnedOnly, rotating, weighted } from './right/policies.js'

policyConformance({ describe, it }, { policy: leastBusy })
policyConformance(
  { describe, it },
  { policy: weighted, parameters: { cache_weight: 0.5, limits: { max_requests: 4 } } },
)
policyConformance({ describe, it }, { policy: weighted, roles: ['aggregated'] })
policyConformance({ describe, it }, { policy: rotating })
policyConformance(
  { describe, it },
  { policy: pinnedOnly, parameters: { reason: 'this policy serves pins only' } },
)
