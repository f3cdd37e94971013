import { nonNegative, u64 } from '@router/sdk'
import { z } from 'zod'

/** Parameters of `dynamo-kv-capacity-aware`, as written in the YAML. */
export const kvCapacityAwareParameters = z.strictObject({
  /** Share of a rank's KV blocks that may be taken, may exceed 1; null = no capacity filter. */
  capacity_fraction: nonNegative().nullable().default(1),
  /** Fewest active requests first, then lowest cost; false = lowest cost alone. */
  count_priority: z.boolean().default(true),
  /** Blocks that each active request counts for. The router's parameter of this name does not feed it. */
  decode_active_request_weight: nonNegative().default(0),
  /** KV blocks of ranks that advertise none; null = unset. */
  capacity_blocks: z.int().positive().nullable().default(null),
  /** Seed of the random stream; unset = host entropy. */
  seed: u64().optional(),
})

/** Parsed parameters. */
export type KvCapacityAwareParameters = z.output<typeof kvCapacityAwareParameters>

/** The parameters that may change while running. */
export const runtimeParameters = [
  'capacity_fraction',
  'decode_active_request_weight',
  'capacity_blocks',
] as const satisfies readonly (keyof KvCapacityAwareParameters)[]
