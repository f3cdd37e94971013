import { z } from 'zod'
import {
  blockSize as hostBlockSize,
  areDisjoint,
  blockPosition,
  caption,
  count,
  disjointExpected,
  listLimit,
  plain,
  plainInteger,
  promptTokens as hostPromptTokens,
} from './common.js'

const textOfNumber: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
  '-0': -0,
}

/** In these files a number may also be a string, where JSON or who writes it has no text for the number. */
function written<S extends z.ZodType<number>>(schema: S) {
  return z.preprocess((value) => (typeof value === 'string' ? (textOfNumber[value] ?? value) : value), schema)
}

/** Any double, NaN and the infinities too. */
const anyDouble = written(
  plain(
    z.custom<number>(
      (value) => typeof value === 'number',
      `expected a number, or one of ${Object.keys(textOfNumber).join(', ')} as a string`,
    ),
  ),
)
const position = written(blockPosition)
const index = written(count)
const promptTokens = written(hostPromptTokens)
const blockSize = written(hostBlockSize)
const rows = written(plainInteger(z.int().min(1).max(listLimit)))
const tolerance = anyDouble.refine((value) => value >= 0, 'expected a number >= 0')

const taintMultiplier = z.strictObject({
  kind: z.literal('taint-multiplier'),
  ...caption,
  /** Of the preferred taints that the worker carries, in the order of the request. */
  matchedWeights: z.array(anyDouble),
  expect: anyDouble,
  tolerance,
})

const potentialDecodeBlocks = z.strictObject({
  kind: z.literal('potential-decode-blocks'),
  ...caption,
  promptTokens,
  blockSize,
  activeDecodeBlocks: anyDouble,
  additionalActiveBlocks: anyDouble,
  trackedHashes: index,
  expect: anyDouble,
})

const requestBlocks = z.strictObject({
  kind: z.literal('request-blocks'),
  ...caption,
  promptTokens,
  blockSize,
  expect: anyDouble,
})

const rawCachedTokens = z.strictObject({
  kind: z.literal('raw-cached-tokens'),
  ...caption,
  deviceOverlapBlocks: anyDouble,
  hostOverlapBlocks: anyDouble,
  diskOverlapBlocks: anyDouble,
  blockSize,
  expect: anyDouble,
})

const sharedHitsBeyond = z.strictObject({
  kind: z.literal('shared-hits-beyond'),
  ...caption,
  ranges: z.array(z.tuple([position, position])).refine(areDisjoint, disjointExpected),
  position: index,
  expect: anyDouble,
  total: anyDouble,
})

const roundHalfAway = z.strictObject({
  kind: z.literal('round-half-away'),
  ...caption,
  input: anyDouble,
  expect: anyDouble,
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
  count: rows,
  expect: z.union([
    z.strictObject({ totals: z.array(anyDouble).min(1) }),
    z.strictObject({ error: z.literal('NonFiniteCost'), scorerIndex: index, row: index }),
  ]),
})

const pickerRow = z.strictObject({
  kind: z.literal('picker-row'),
  ...caption,
  /** What the picker returns. */
  row: anyDouble,
  count: rows,
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
