export { type PrefixAffinityParameters, prefixAffinityParameters } from './parameters.js'
export { policies, prefixAffinityPolicy } from './policy.js'
