import { policyConformance } from '@router/conformance'
import { describe, it } from 'vitest'
import { prefixAffinityPolicy } from '../src/index.js'

policyConformance({ describe, it }, { policy: prefixAffinityPolicy })
