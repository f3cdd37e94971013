import { z } from 'zod'
import { caption, count, double, plainInteger, u64Text } from './common.js'

const next = z.strictObject({
  kind: z.literal('next'),
  ...caption,
  seed: u64Text,
  /** Consecutive outputs of one stream. */
  values: z.array(u64Text).min(1),
})

const below = z.strictObject({
  kind: z.literal('below'),
  ...caption,
  seed: u64Text,
  /** Bound, >= 1. */
  n: plainInteger(z.int().min(1)),
  values: z.array(count).min(1),
  /** Outputs that the stream gave away for all of `values`. */
  drawsUsed: count,
})

const belowU64 = z.strictObject({
  kind: z.literal('below-u64'),
  ...caption,
  seed: u64Text,
  /** A bound above 2^53, so that some outputs are thrown away. */
  n: u64Text.refine((text) => text !== '0', 'expected a bound >= 1'),
  values: z.array(u64Text).min(1),
  drawsUsed: count,
})

const unit = z.strictObject({
  kind: z.literal('unit'),
  ...caption,
  seed: u64Text,
  /** In [0, 1). */
  values: z.array(double).min(1),
})

const oneDraw = z.strictObject({
  kind: z.literal('one-draw'),
  ...caption,
  seed: u64Text,
  tieCount: plainInteger(z.int().min(1)),
  /** `floor(draw x tieCount / 2^64)` of consecutive draws. */
  indexes: z.array(count).min(1),
  /** `(draw >> 11) / 2^53` of the same draws. */
  uniforms: z.array(double).min(1),
})

const reservoir = z.strictObject({
  kind: z.literal('reservoir'),
  ...caption,
  seed: u64Text,
  costs: z.array(double).min(1),
  /** Rows of consecutive picks from one stream. */
  picks: z.array(count).min(1),
  /** Outputs that each pick took. */
  drawsPerPick: z.array(count).min(1),
})

/** A line of `rng.jsonl`: the random stream. */
export const rngLine = z.discriminatedUnion('kind', [next, below, belowU64, unit, oneDraw, reservoir])
export type RngLine = z.output<typeof rngLine>
