import { policyParametersLine } from '../shapes/rust-policies.js'
import { type RawLine, ShapeError, defineFamily, parseLine } from './family.js'
import { acceptsParameters, isShipped } from './policies.js'
import { waitingFamilies, waitingPolicy } from './uncovered.js'
import { rustPolicyKinds } from './waiting-shapes.js'

/** Which parameters a policy accepts; everything else of the file waits for its policies. */
export const rustPoliciesFamily = defineFamily({
  name: 'rust-policies',
  recognises: isOwnKind,
  notCovered: (line) => {
    const type = String(line['policy'])
    const isParameters = line['kind'] === 'parameters' && line['component'] === undefined
    if (isParameters && isShipped(type)) return undefined
    return waitingPolicy(
      type,
      line['kind'] === 'classifier' ? 'classifier' : (line['component'] as string | undefined),
    )
  },
  checkWaiting: (line) => {
    if (isOwnKind(line)) parseLine(rustPolicyKinds, line)
    else familyOfPolicy(line).checkWaiting(line)
  },
  covers: 'kind parameters: the packages of the policies',
  schema: policyParametersLine,
  evaluate: ({ policy, component, params, valid }, checks) => {
    if (component !== undefined) throw new ShapeError([`unknown shape: no ${component} '${policy}' is known`])
    if (!isShipped(policy)) throw new ShapeError([`unknown shape: no policy '${policy}' is known`])
    checks.equal('valid', valid, acceptsParameters(policy, params))
  },
})

function isOwnKind({ kind }: RawLine): boolean {
  return kind === 'parameters' || kind === 'classifier'
}

/** Cases of a policy have the shape of the policy's own file. */
function familyOfPolicy(line: RawLine) {
  const family = waitingFamilies.find((candidate) => candidate.recognises(line))
  if (family !== undefined) return family
  throw new ShapeError([
    `unknown shape: kind '${String(line['kind'])}' of policy '${String(line['policy'])}'`,
  ])
}
