import { z } from 'zod'
import { caption } from './common.js'

/** A line of `rust-policies.jsonl` with `kind: parameters`: does the schema of the policy accept them? */
export const policyParametersLine = z.strictObject({
  kind: z.literal('parameters'),
  ...caption,
  /** Registered type. */
  policy: z.string().min(1),
  /** `classifier` = the parameters of the classifier of that name. */
  component: z.literal('classifier').optional(),
  /** As configured, right or wrong; an integer beyond 2^53 - 1 is a bigint, as from YAML. */
  params: z.record(z.string(), z.unknown()),
  valid: z.boolean(),
})
export type PolicyParametersLine = z.output<typeof policyParametersLine>
