import { z } from 'zod'
import { caption, count, double, role, tolerance } from '../shapes/common.js'
import { policyParametersLine } from '../shapes/rust-policies.js'

// Outer fields of the shapes that nothing evaluates yet: which there are, which must be there, and what stands there. What is inside
// lists and objects is not checked; the evaluator of a shape brings its whole schema.

const list = z.array(z.unknown())
const object = z.record(z.string(), z.unknown())
const count1 = count.refine((value) => value >= 1, 'expected an integer >= 1')

/** Fields of any case of a policy. */
const policyCase = {
  ...caption,
  policy: z.string(),
  role: z.enum([...role.options, 'conditional-decode']).optional(),
  router: object.optional(),
}
const params = { params: object }
const single = { request: object, rows: list.min(1), expect: object }
const steps = { steps: list.min(1) }

const singleCase = z.strictObject({ ...policyCase, ...params, ...single })
const stepsCase = z.strictObject({ ...policyCase, ...params, ...steps })
const eitherCase = z.union([singleCase, stepsCase])

const jsewLabels = { label: z.string().optional(), plainDecode: z.boolean().optional() }
const affinityTarget = { affinityTarget: object.nullable() }

const selectorCase = z.strictObject({
  ...policyCase,
  kind: z.literal('selector'),
  params: object.optional(),
  ...affinityTarget,
  ...single,
})

/** By policy type, in the file of the policy and in `rust-policies` alike. */
export const policyShapes: Readonly<Record<string, z.ZodType>> = {
  'dynamo-two-tier-cost-fn': eitherCase,
  chwbl: singleCase,
  dualmap: stepsCase,
  lmetric: eitherCase,
  ramjet: eitherCase,
  'llm-d-optimized-baseline': eitherCase,
  'llm-d-precise-prefix': eitherCase,
  'dynamo-jsew': z.union([
    singleCase.extend({ ...jsewLabels, emaBefore: double.nullable() }),
    stepsCase.extend(jsewLabels),
  ]),
  'sticky-session': stepsCase,
  'dynamo-sticky-min-load': stepsCase.extend({ tableLimit: count1.optional() }),
  'dynamo-soft-affinity-load-guard': singleCase.extend({ ...affinityTarget, request: object.optional() }),
  'dynamo-subagent-group-affinity': stepsCase,
  'learned-choice': z.union([
    singleCase.extend({ params: object.optional(), sampling: object.optional() }),
    stepsCase.extend({ params: object.optional() }),
  ]),
  thunderagent: selectorCase,
}

const classifierCase = z.strictObject({
  ...policyCase,
  kind: z.literal('classifier'),
  ...params,
  blockSize: count1.optional(),
  ...steps,
})

/** The lines of `rust-policies` that have a `kind`, without `selector`. */
export const rustPolicyKinds = z.discriminatedUnion('kind', [policyParametersLine, classifierCase])

/** The lines of `thunderagent` that are not about its selector. */
export const thunderAgentKinds = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('admission'), ...caption, ...params, ranks: list.min(1), ...steps }),
  z.strictObject({
    kind: z.literal('pause'),
    ...caption,
    ...params,
    capacityTokens: count,
    programs: list,
    expect: object,
  }),
  z.strictObject({
    kind: z.literal('greedy-resume'),
    ...caption,
    ...params,
    room: list,
    paused: list,
    expect: object,
  }),
  z.strictObject({
    kind: z.literal('decay-weight'),
    ...caption,
    idleSeconds: double,
    tauSeconds: double,
    expect: double,
    tolerance,
  }),
  z.strictObject({
    kind: z.literal('shared-prefix-budget'),
    ...caption,
    ...params,
    inputTokens: list,
    commonPrefixTokens: count,
    growthTokens: count,
    expect: object,
  }),
])

/** Lines of `rust-queue`. */
export const queueKinds = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('policy-queue'),
    ...caption,
    workers: count,
    classes: list.min(1),
    ...steps,
  }),
  z.strictObject({
    kind: z.literal('admission'),
    ...caption,
    blockSize: count1,
    workers: list,
    classes: list.min(1),
    ...steps,
  }),
  z.strictObject({ kind: z.literal('class-resolution'), ...caption, yaml: z.string(), rows: list.min(1) }),
  z.strictObject({
    kind: z.literal('policy-file'),
    ...caption,
    name: z.string(),
    yaml: z.string(),
    accepted: z.boolean(),
    ours: z.boolean().optional(),
  }),
])

const described = { format: z.string(), conventions: object }

/** `drr.json`. */
export const drrDocument = z.strictObject({ ...described, scenarios: list })

/** `rust-session.json`. */
export const sessionDocument = z.strictObject({
  ...described,
  sessionFromPrefix: list,
  conditionalDisagg: list,
  busy: list,
  sessionPrefixIndex: list,
})
