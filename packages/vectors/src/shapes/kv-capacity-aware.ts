import { z } from 'zod'
import { caption, double, request, rowName, rows, u64Parameter } from './common.js'

/** A line of `kv-capacity-aware.jsonl`: which rows a request may be placed on, and which of them tie. */
export const kvCapacityAwareLine = z.strictObject({
  ...caption,
  /** Default `dynamo-kv-capacity-aware`. */
  policy: z.enum(['dynamo-kv-capacity-aware', 'kv-capacity-aware']).optional(),
  /** Values are judged by the policy, not here. */
  params: z.strictObject({
    /** Share of the capacity that may fill; `null` = the filter is off. */
    capacity_fraction: double.nullable().optional(),
    count_priority: z.boolean().optional(),
    decode_active_request_weight: double.optional(),
    /** Blocks of a rank that advertises none. */
    capacity_blocks: double.nullable().optional(),
    seed: u64Parameter.optional(),
  }),
  request,
  rows,
  expect: z.strictObject({
    /** Every acceptable row, in canonical order. */
    tieSet: z.array(rowName).min(1),
    /** `fallback` = no row fits. */
    mode: z.enum(['fit', 'fallback']),
    /** Rows warned about because nobody knows their capacity, in canonical order. */
    warned: z.array(rowName),
  }),
})
export type KvCapacityAwareLine = z.output<typeof kvCapacityAwareLine>
