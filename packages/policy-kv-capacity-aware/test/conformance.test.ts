import { policyConformance } from '@router/conformance'
import { describe, it } from 'vitest'
import { kvCapacityAwarePolicy } from '../src/index.js'

policyConformance(
  { describe, it },
  { policy: kvCapacityAwarePolicy, roles: ['aggregated', 'prefill', 'decode', 'encode'] },
)
