import { z } from 'zod'
import { caption, count, double, dpRank, role, rowName, u32, u64Text } from './common.js'

/** The types of the family. */
export const classicTypes = [
  'dynamo-round-robin',
  'dynamo-random',
  'dynamo-power-of-two-choices',
  'dynamo-least-loaded',
  'dynamo-direct',
  'dynamo-device-aware-weighted',
] as const

/** One candidate row. */
const row = z.strictObject({
  workerId: u64Text,
  dpRank,
  /** Live reservations of the rank. */
  reservations: u32.default(0),
  deviceKind: z.enum(['accelerator', 'cpu']).default('accelerator'),
  /** Encoder-cache entries of the request. */
  cacheHits: u32.default(0),
})

const rows = z
  .array(row)
  .min(1)
  .refine(
    (all) => new Set(all.map((one) => `${one.workerId}.${one.dpRank}`)).size === all.length,
    'expected each rank once',
  )

/** Whom the request names: a pin, or an affinity target; without a rank any of the worker. */
const target = z.strictObject({ workerId: u64Text, dpRank: dpRank.nullable().optional() })

/** What the random source must be asked, and what it answers. */
const draw = z
  .strictObject({ n: count.refine((n) => n >= 1, 'expected an integer >= 1'), value: count })
  .refine(({ n, value }) => value < n, 'expected a value below n')

const expected = z.union([
  /** The pick. */
  rowName,
  z.strictObject({
    error: z.literal('ROUTER_POLICY_FAILED'),
    reason: z.enum(['target-required', 'target-not-eligible']),
  }),
  z
    .strictObject({
      pick: rowName.optional(),
      /** Every acceptable row, in canonical order. */
      tieSet: z.array(rowName).min(1).optional(),
      /** Reservations that all CPU workers together may hold; `null` = nothing to compare. */
      allowedCpu: count.nullable().optional(),
      /** Which workers the choice was made among. */
      group: z.enum(['full-hit', 'cpu', 'accelerator']).optional(),
      /** Whether a booking counts as a reservation. */
      occupancyAdmission: z.boolean().optional(),
    })
    .refine(({ pick, tieSet }) => pick !== undefined || tieSet !== undefined, 'expected a pick or a tieSet'),
])

const request = {
  target: target.nullable().optional(),
  /** The same, as the policy sees it. */
  affinityTarget: target.nullable().optional(),
  requiredCacheHits: count.default(0),
  draws: z.array(draw).optional(),
}

const policyCase = {
  ...caption,
  policy: z.enum(classicTypes),
  role: z.enum([...role.options, 'conditional-decode']).optional(),
  /** Settings of the router that differ from the built-in ones. */
  router: z.strictObject({ encoder_cuda_to_cpu_ratio: double.optional() }).optional(),
  /** Values are judged by the policy, not here. */
  params: z.record(z.string(), z.unknown()).optional(),
  /** Of the random stream; without one `draws` say what it gives. */
  seed: u64Text.optional(),
}

const step = z.strictObject({
  ...request,
  /** Left out = those of the line. */
  rows: rows.optional(),
  queryOnly: z.boolean().default(false),
  expect: expected,
})

/** A line about a policy of `policy-classic`: one request, or several to one policy object. */
export const classicLine = z.union([
  z.strictObject({ ...policyCase, ...request, rows, expect: expected }),
  z
    .strictObject({ ...policyCase, rows: rows.optional(), steps: z.array(step).min(1) })
    .refine((line) => line.rows !== undefined || line.steps.every((one) => one.rows !== undefined), {
      message: 'expected rows in the line or in every step',
      path: ['rows'],
    }),
])
export type ClassicLine = z.output<typeof classicLine>
export type ClassicRow = z.output<typeof row>
export type ClassicStep = z.output<typeof step>
export type ClassicDraw = z.output<typeof draw>
export type ClassicExpected = z.output<typeof expected>
