import { policyConformance } from '@router/conformance'
import { describe, it } from 'vitest'
import { policies } from '../src/index.js'

for (const policy of policies) policyConformance({ describe, it }, { policy })
