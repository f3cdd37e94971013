import { z } from 'zod'
import { blockSize, caption, count, double, tolerance } from './common.js'

/** A number that JSON may not be able to write. */
const anyDouble = z.union([double, z.enum(['NaN', 'Infinity', '-Infinity', '-0'])])

const taintMultiplier = z.strictObject({
  kind: z.literal('taint-multiplier'),
  ...caption,
  /** Of the preferred taints that the worker carries, in the order of the request. */
  matchedWeights: z.array(double),
  expect: double,
  tolerance,
})

const potentialDecodeBlocks = z.strictObject({
  kind: z.literal('potential-decode-blocks'),
  ...caption,
  promptTokens: count,
  blockSize,
  activeDecodeBlocks: double,
  additionalActiveBlocks: double,
  trackedHashes: count,
  expect: double,
})

const requestBlocks = z.strictObject({
  kind: z.literal('request-blocks'),
  ...caption,
  promptTokens: count,
  blockSize,
  expect: count,
})

const rawCachedTokens = z.strictObject({
  kind: z.literal('raw-cached-tokens'),
  ...caption,
  deviceOverlapBlocks: double,
  hostOverlapBlocks: double,
  diskOverlapBlocks: double,
  blockSize,
  expect: double,
})

const sharedHitsBeyond = z.strictObject({
  kind: z.literal('shared-hits-beyond'),
  ...caption,
  ranges: z.array(z.tuple([count, count])),
  position: count,
  expect: count,
  total: count,
})

const roundHalfAway = z.strictObject({
  kind: z.literal('round-half-away'),
  ...caption,
  input: double,
  expect: double,
})

/** Rules of eligibility, in the order in which they are tested. */
export const eligibilityRules = [
  'allowlist',
  'affinity',
  'availability',
  'workerKnown',
  'rankInRange',
  'requiredTaints',
  'overload',
] as const

/** Why a rank is not eligible. */
export const rejectionReason = z.enum([
  'WorkerNotAllowed',
  'WorkerNotRoutable',
  'WorkerUnavailable',
  'DpRankUnavailable',
  'RoutingConstraintsUnsatisfied',
  'WorkerOverloaded',
])

const rankRejection = z.strictObject({
  kind: z.literal('rank-rejection'),
  ...caption,
  failingRules: z.array(z.enum(eligibilityRules)),
  /** The first reason; `null` = eligible. */
  expect: rejectionReason.nullable(),
})

const sumOfCosts = z.strictObject({
  kind: z.literal('sum-of-costs'),
  ...caption,
  /** By scorer and row; `null` = not written. */
  contributions: z.array(z.array(anyDouble.nullable())),
  count: z.int().min(1),
  expect: z.union([
    z.strictObject({ totals: z.array(double).min(1) }),
    z.strictObject({ error: z.literal('NonFiniteCost'), scorerIndex: count, row: count }),
  ]),
})

const pickerRow = z.strictObject({
  kind: z.literal('picker-row'),
  ...caption,
  /** What the picker returns. */
  row: anyDouble,
  count: z.int().min(1),
  expect: z.enum(['ok', 'InvalidPickerRow']),
})

/** A line of `selection.jsonl`: the host. */
export const selectionLine = z.discriminatedUnion('kind', [
  taintMultiplier,
  potentialDecodeBlocks,
  requestBlocks,
  rawCachedTokens,
  sharedHitsBeyond,
  roundHalfAway,
  rankRejection,
  sumOfCosts,
  pickerRow,
])
export type SelectionLine = z.output<typeof selectionLine>
