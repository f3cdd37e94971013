import { z } from 'zod'
import {
  blockSize,
  caption,
  count,
  double,
  dpRank,
  listLimit,
  plainInteger,
  promptTokens,
  role,
  rowName,
  sharedHits,
  tolerance,
  u64Text,
} from './common.js'
import { defaultParameters } from './default-family.js'
import { rejectionReason } from './selection.js'

const workerIds = z.array(u64Text).nullable()

/** `[workerId, dpRank, device, host, disk, estimateBlocks, estimateTokens, activePrefillTokens, activeDecodeBlocks, additionalActiveBlocks, activeRequests]`. */
const recordedRow = z
  .tuple([
    u64Text,
    dpRank,
    double,
    double,
    double,
    double,
    double,
    double.nullable(),
    double.nullable(),
    double.nullable(),
    double.nullable(),
  ])
  .refine(
    ([, , , , , , , ...load]) => load.every((value) => value === null) || !load.includes(null),
    'expected the last four values to be null together',
  )

/** `[workerId, first rank, ranks, taints]`. */
const recordedWorker = z
  .tuple([u64Text, dpRank, plainInteger(z.int().min(0).max(4096)), z.array(z.string())])
  .refine(([, first, ranks]) => first + ranks <= 0xffff_ffff, 'expected every rank within u32')

const recordedWorkers = z
  .array(recordedWorker)
  .refine((all) => new Set(all.map(([id]) => id)).size === all.length, 'expected each worker once')
  .refine(
    (all) => all.reduce((sum, [, , ranks]) => sum + ranks, 0) <= listLimit,
    `expected at most ${listLimit} ranks`,
  )

/** The host keeps weights as 32-bit floats. */
const taintWeight = double.refine((weight) => Number.isFinite(Math.fround(weight)), 'expected a 32-bit float')

const picked = z.strictObject({
  /** Rows, in canonical order. */
  eligible: z.array(rowName).min(1),
  /** One per eligible row. */
  costs: z.array(double).min(1),
  /** Of the costs. */
  tolerance,
  /** Every row of the lowest cost, whatever the temperature. */
  tieSet: z.array(rowName).min(1),
  /** One per selection. */
  picks: z.array(rowName).min(1),
  /** Of the last pick. */
  result: z.strictObject({
    requiredBlocks: count,
    potentialDecodeBlocks: double,
    effectiveOverlapBlocks: double,
    cachedTokens: double,
    /** Tokens; `null` for a query, absent where the policy does not use the cache. */
    maxRawCachedTokens: double.nullable().optional(),
    selectedRawCachedTokens: double.nullable().optional(),
  }),
  /** First failing rule of every rank that is not eligible, in any order; absent with a pin. */
  rejected: z.array(z.tuple([rowName, rejectionReason])).optional(),
  /** One per eligible row; absent where preferred taints do not apply. */
  taintMultipliers: z.array(double).optional(),
})

const workerError = z.strictObject({
  error: z.enum([
    'NoEndpoints',
    'AllEligibleWorkersOverloaded',
    'PinnedWorkerOverloaded',
    'PinnedWorkerNotAllowed',
  ]),
  workerId: u64Text.optional(),
})

const costError = z.strictObject({ error: z.literal('NonFiniteCost'), scorerIndex: count, row: count })

/** A line of `rust-selection.jsonl`: a whole selection of the default family with everything around it. */
export const rustSelectionLine = z.strictObject({
  ...caption,
  role,
  conditionalDisaggregation: z.boolean(),
  /** `hicache` makes an omitted `shared_cache_multiplier` 0.5. */
  sharedCacheType: z.enum(['none', 'hicache']),
  params: defaultParameters,
  seed: u64Text,
  /** Selections in a row from one stream. */
  selections: z.int().min(1).max(listLimit),
  request: z.strictObject({
    promptTokens,
    blockSize,
    tracksPrefillTokens: z.boolean(),
    tracked: z.boolean(),
    /** Complete blocks with a tracking hash; `null` = the host tracks no blocks. */
    trackedHashes: count.nullable(),
    hasTierMatches: z.boolean(),
    sharedHits,
  }),
  constraints: z.strictObject({
    allowedWorkerIds: workerIds,
    availableWorkerIds: workerIds,
    overloadedWorkerIds: workerIds,
    pinnedWorker: rowName.nullable(),
    affinityTarget: z.strictObject({ workerId: u64Text, dpRank: dpRank.nullable() }).nullable(),
    requiredTaints: z.array(z.string()),
    preferredTaints: z.array(z.tuple([z.string(), taintWeight])),
  }),
  /** Per-request overrides, which the default policy ignores. */
  overrides: z
    .strictObject({
      overlap_score_credit: double.optional(),
      prefill_load_scale: double.optional(),
      router_temperature: double.optional(),
      shared_cache_multiplier: double.optional(),
      assume_kv_reuse: z.boolean().optional(),
      track_prefill_tokens: z.boolean().optional(),
    })
    .optional(),
  workers: recordedWorkers,
  /** May name ranks that no worker has; a rank without a row has no overlap and no projection. */
  rows: z.array(recordedRow),
  expect: z.union([picked, costError, workerError]),
  /** What a host that honours `overrides` chooses; not ours. */
  expectHonouringOverrides: z
    .strictObject({
      costs: z.array(double),
      tieSet: z.array(rowName),
      picks: z.array(rowName),
    })
    .optional(),
})
export type RustSelectionLine = z.output<typeof rustSelectionLine>
