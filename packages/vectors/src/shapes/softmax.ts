import { z } from 'zod'
import { caption, count, double, plain, tolerance } from './common.js'

const temperature = plain(z.number().gt(0))
const uniform = plain(z.number().min(0).lt(1))

const normalised = z.strictObject({
  kind: z.literal('normalised'),
  ...caption,
  costs: z.array(double).min(1),
  temperature,
  probabilities: z.array(double).min(1),
  /** Of the probabilities. */
  tolerance,
  /** The row that the uniform `u` chooses. */
  picks: z.array(z.strictObject({ u: uniform, row: count })).min(1),
})

const utility = z.strictObject({
  kind: z.literal('utility'),
  ...caption,
  utilities: z.array(double).min(1),
  temperature,
  u: uniform,
  weights: z.array(double).min(1),
  /** `u` times the sum of the weights. */
  target: double,
  /** Of weights and target. */
  tolerance,
  row: count,
})

/** A line of `softmax.jsonl`: sampling. */
export const softmaxLine = z.discriminatedUnion('kind', [normalised, utility])
export type SoftmaxLine = z.output<typeof softmaxLine>
