import { PolicyCatalog, workerInputNames } from '@router/sdk'
import { z } from 'zod'
import { type Law, defineLaw, demand } from '../law.js'
import {
  acceptedVariants,
  parameterNames,
  parameterSchema,
  parameterText,
  visitSchema,
  withParameter,
} from '../parameter-samples.js'
import { inputScopeOf } from '../subject.js'

const semanticVersion = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/u

/** Version, marker and names are such that a host can register the policy and print it. */
export const metadata: Law = defineLaw({
  id: 'metadata',
  title:
    'the catalog registers the policy: marker, contract version, type, version, stability, roles, affinity',
  level: 'definition',
  check: ({ policy }) => {
    // Schema and runtime names have laws of their own.
    const bare = { ...policy, parameters: z.strictObject({}), runtime: [] }
    const catalog = new PolicyCatalog()
    if (policy.type === 'default') catalog.withDefault(bare)
    else catalog.register(bare)
    demand(semanticVersion.test(policy.version), `version must be semantic (1.2.3), got '${policy.version}'`)
    demandUnique('roles', policy.roles)
    demandUnique('aliases', [policy.type, ...policy.aliases])
    demandUnique('runtime', policy.runtime)
  },
})

function demandUnique(field: string, values: readonly string[]): void {
  const repeated = values.find((value, index) => values.indexOf(value) !== index)
  demand(repeated === undefined, `${field} names '${repeated}' twice`)
}

/** No key that the policy does not know may pass, and nothing but a mapping stands for parameters. */
export const parametersStrict: Law = defineLaw({
  id: 'parameters-strict',
  title: 'parameters are a mapping that refuses unknown keys at every level',
  level: 'definition',
  check: ({ policy, configured }) => {
    const { parameters } = policy
    const valid = parameters.safeParse(configured)
    const hint =
      Object.keys(configured).length === 0
        ? '; a policy that needs parameters is examined with `parameters`'
        : ''
    demand(valid.success, () => `refuses ${parameterText(configured)}: ${valid.error?.message}${hint}`)
    for (const value of [null, [], 'text', 1, true]) {
      demand(
        !parameters.safeParse(value).success,
        `accepts ${parameterText(value)} where a mapping must stand`,
      )
    }
    const unknown = 'a_key_nobody_knows'
    const extended = { ...configured, [unknown]: 1 }
    demand(
      !parameters.safeParse(extended).success,
      `accepts the unknown key '${unknown}'; use z.strictObject`,
    )
    visitSchema(parameterSchema(policy), (node, path) => {
      if (node.properties === undefined) return
      const isStrict = node.additionalProperties === false
      demand(isStrict, `accepts unknown keys under '${path || '<root>'}'; use z.strictObject at every level`)
    })
  },
})

/** A wrong number stops start-up instead of becoming a default, a NaN cost or text. */
export const parametersFinite: Law = defineLaw({
  id: 'parameters-finite',
  title:
    'a numeric parameter refuses NaN, infinities, booleans and text, and never replaces them by a default',
  level: 'definition',
  check: ({ policy, configured }) => {
    visitSchema(parameterSchema(policy), (node, path) => {
      if ((node.type !== 'number' && node.type !== 'integer') || path === '' || /[*[]/u.test(path)) return
      for (const value of [NaN, Infinity, -Infinity, 'text', true]) {
        const accepted = policy.parameters.safeParse(withParameter(configured, path, value)).success
        demand(!accepted, `accepts ${parameterText(value)} for '${path}'`)
      }
    })
  },
})

/** What may be patched exists. */
export const runtimeNames: Law = defineLaw({
  id: 'runtime-names',
  title: 'every runtime name is a parameter of the schema',
  level: 'definition',
  skip: ({ policy }) =>
    policy.runtime.length === 0 ? 'the policy declares no runtime parameters' : undefined,
  check: ({ policy }) => {
    const names = parameterNames(policy)
    const missing = policy.runtime.find((name) => !names.has(name))
    demand(
      missing === undefined,
      () => `runtime names '${missing}', the schema only ${[...names].join(', ')}`,
    )
  },
})

/** A patch never needs a group that `runtime: true` did not reserve. */
export const inputsReserved: Law = defineLaw({
  id: 'inputs-reserved',
  title:
    'inputs are known groups, the same at every call, and reserved inputs cover every patch that the schema accepts',
  check: (subject) => {
    const { policy, configured } = subject
    const inputs = (value: unknown, reserves: boolean): readonly string[] =>
      policy.inputs(policy.parameters.parse(value), inputScopeOf(subject, reserves))
    const reserved = inputs(configured, true)
    const unknown = reserved.find((name) => !(workerInputNames as readonly string[]).includes(name))
    demand(
      unknown === undefined,
      `declares the input '${unknown}', the contract knows ${workerInputNames.join(', ')}`,
    )
    for (const variant of [configured, ...acceptedVariants(subject, policy.runtime)]) {
      const used = inputs(variant, false)
      demand(
        parameterText(used) === parameterText(inputs(variant, false)),
        `inputs differ between two calls with ${parameterText(variant)}`,
      )
      const missing = used.find((name) => !reserved.includes(name))
      demand(
        missing === undefined,
        () =>
          `with ${parameterText(variant)} the policy uses '${missing}', which ${parameterText(configured)} does not reserve`,
      )
    }
  },
})
