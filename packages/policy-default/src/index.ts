export { type DefaultCandidates, type DefaultInputs, defaultCostInputs } from './inputs.js'
export { type DefaultParameters, defaultParameters, runtimeParameters } from './parameters.js'
export { createDefaultCostPolicy, defaultPolicy, policies } from './policy.js'
