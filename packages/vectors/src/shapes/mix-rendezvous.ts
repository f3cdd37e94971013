import { z } from 'zod'
import { caption, u32, u64Text } from './common.js'

const mix = z.strictObject({ kind: z.literal('mix'), ...caption, input: u64Text, output: u64Text })

const rendezvous = z.strictObject({
  kind: z.literal('rendezvous'),
  ...caption,
  key: u64Text,
  seed: u64Text,
  dpRank: u32,
  workerIds: z.array(u64Text).min(1),
  /** One per worker, in the order of `workerIds`. */
  weights: z.array(u64Text).min(1),
})

const order = z.strictObject({
  kind: z.literal('order'),
  ...caption,
  key: u64Text,
  seed: u64Text,
  dpRank: u32,
  /** By descending weight. */
  workerIds: z.array(u64Text).min(1),
})

/** A line of `mix-rendezvous.jsonl`: hashing for choices. */
export const mixRendezvousLine = z.discriminatedUnion('kind', [mix, rendezvous, order])
export type MixRendezvousLine = z.output<typeof mixRendezvousLine>
