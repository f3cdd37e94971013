export { type DeviceAwareParameters, deviceAwareParameters, noParameters } from './parameters.js'
export {
  deviceAwareWeightedPolicy,
  directPolicy,
  leastLoadedPolicy,
  policies,
  powerOfTwoChoicesPolicy,
  randomPolicy,
  roundRobinPolicy,
} from './policy.js'
