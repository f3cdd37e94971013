import { policyParametersLine } from '../shapes/rust-policies.js'
import { defineFamily } from './family.js'
import { acceptsParameters, isShipped } from './policies.js'
import { waitingPolicy } from './uncovered.js'

/** Which parameters a policy accepts; everything else of the file waits for its policies. */
export const rustPoliciesFamily = defineFamily({
  name: 'rust-policies',
  recognises: (line) => line['kind'] === 'parameters' || line['kind'] === 'classifier',
  notCovered: (line) => {
    const type = String(line['policy'])
    const isParameters = line['kind'] === 'parameters' && line['component'] === undefined
    if (isParameters && isShipped(type)) return undefined
    return waitingPolicy(
      type,
      line['kind'] === 'classifier' ? 'classifier' : (line['component'] as string | undefined),
    )
  },
  covers: 'kind parameters: the packages of the policies',
  schema: policyParametersLine,
  evaluate: ({ policy, params, valid }, checks) => {
    checks.equal('valid', valid, acceptsParameters(policy, params))
  },
})
