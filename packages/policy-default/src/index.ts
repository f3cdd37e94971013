import { defaultPolicy } from './policy.js'

export { type DefaultCandidates, type DefaultInputs, defaultCostInputs } from './inputs.js'
export { type DefaultParameters, defaultParameters, runtimeParameters } from './parameters.js'
export { createDefaultCostPolicy, defaultPolicy } from './policy.js'

/** What a configuration finds in this package. */
export const policies = [defaultPolicy]
