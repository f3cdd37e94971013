import { policyConformance } from '@router/conformance'
import { describe, it } from 'vitest'
import { defaultPolicy } from '../src/index.js'

policyConformance({ describe, it }, { policy: defaultPolicy })
