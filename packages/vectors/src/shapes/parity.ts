import { z } from 'zod'
import { caption, count, double, listLimit, plain, promptTokens, rowName, u64Text } from './common.js'

/** Selections of one cell, from one stream. */
export const picksPerCell = 64
/** Rows of the fixture of 16 workers with two ranks each. */
export const rowsOfFixture = 32

const rowIndex = z.int().min(0).lt(rowsOfFixture)
const mode = z.int().min(0).max(63)
const temperature = plain(z.number().min(0))

/** A line of a `parity-matrix-*.jsonl`: one cell. Row index = 2 x worker id + rank. */
export const parityMatrixLine = z.strictObject({
  ...caption,
  temperature,
  promptTokens,
  mode,
  role: z.enum(['prefill', 'aggregated']),
  /** Rows of the lowest cost; given at temperature 0. */
  minimumRows: z.array(rowIndex).min(1).optional(),
  picks: z.array(rowIndex).length(picksPerCell),
})
export type ParityMatrixLine = z.output<typeof parityMatrixLine>

/** A line of `parity-costs.jsonl`: the costs behind one cell, by row index. */
export const parityCostsLine = z.strictObject({
  ...caption,
  promptTokens,
  mode,
  role: z.enum(['prefill', 'aggregated']),
  costs: z.array(double).length(rowsOfFixture),
})
export type ParityCostsLine = z.output<typeof parityCostsLine>

const sweep = z.strictObject({
  kind: z.literal('sweep'),
  ...caption,
  label: z.enum(['prefill', 'decode']),
  role: z.enum(['prefill', 'aggregated']),
  temperature,
  picks: z.array(rowIndex).length(picksPerCell),
})

const pinPattern = z.strictObject({
  kind: z.literal('pin-pattern'),
  ...caption,
  /** Workers of the fixture, two ranks each. */
  workers: z
    .int()
    .min(1)
    .max(listLimit / 2),
  promptTokens,
  role: z.enum(['prefill', 'aggregated']),
  temperature,
  /** Whether each selection is pinned to `pinnedWorker`. */
  pinned: z.array(z.boolean()).min(1),
  pinnedWorker: rowName,
  /** Row indexes. */
  picks: z.array(count).min(1),
})

const goldenPrefix = z.strictObject({
  kind: z.literal('golden-prefix'),
  ...caption,
  /** Rank 0 of each. */
  workerIds: z.array(u64Text).min(1),
  /** One per worker. */
  costs: z.array(double).min(1),
  temperature,
  seed: u64Text,
  /** Worker ids of consecutive selections from one stream. */
  picks: z.array(u64Text).min(1),
})

/** A line of `parity-sequences.jsonl`. */
export const paritySequenceLine = z.discriminatedUnion('kind', [sweep, pinPattern, goldenPrefix])
export type ParitySequenceLine = z.output<typeof paritySequenceLine>
