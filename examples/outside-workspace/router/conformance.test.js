import { describe, it } from 'node:test'
import { policies } from '@acme/least-busy'
import { policyConformance } from '@router/conformance'

for (const policy of policies) policyConformance({ describe, it }, { policy })
