export { type KvCapacityAwareParameters, kvCapacityAwareParameters } from './parameters.js'
export { kvCapacityAwarePolicy, policies } from './policy.js'
