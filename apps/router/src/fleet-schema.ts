import { nonNegative, u64, workerRoles } from '@router/sdk'
import { z } from 'zod'

const count = () => z.int().min(0)

const rank = z.strictObject({
  /** Absent = the host has no projection for this rank. */
  load: z
    .strictObject({
      active_prefill_tokens: nonNegative(),
      decode_cost_blocks: nonNegative(),
      active_requests: count(),
    })
    .nullish(),
  /** Cached blocks of the request by tier; absent = cold, `unknown` = nobody knows. The estimate follows from the tiers. */
  overlap: z
    .union([
      z.literal('unknown'),
      z.strictObject({
        device: count().default(0),
        host: count().default(0),
        disk: count().default(0),
        estimate_blocks: nonNegative().optional(),
        estimate_tokens: nonNegative().optional(),
      }),
    ])
    .nullish(),
  overloaded: z.boolean().nullish(),
  reservations: count().nullish(),
  encoder_cache_hits: count().nullish(),
  prefill_backlog_ms: nonNegative().nullish(),
})

const worker = z.strictObject({
  worker_id: u64(),
  endpoint: z.string().nullish(),
  engine: z.string().nullish(),
  taints: z.array(z.string()).nullish(),
  total_kv_blocks: count().nullish(),
  max_num_batched_tokens: count().nullish(),
  device_kind: z.enum(['cpu', 'accelerator']).nullish(),
  /** False = no source says that the worker is up. */
  available: z.boolean().nullish(),
  first_rank: count().nullish(),
  ranks: z.array(rank).min(1, 'a worker has at least one rank'),
})

const rankName = z.strictObject({ worker_id: u64(), dp_rank: count() })

const request = z.strictObject({
  prompt_tokens: count(),
  allowed_worker_ids: z.array(u64()).nullish(),
  pinned_worker: rankName.nullish(),
  affinity_target: rankName.partial({ dp_rank: true }).nullish(),
  required_taints: z.array(z.string()).nullish(),
  preferred_taints: z.array(z.strictObject({ taint: z.string(), weight: z.number() })).nullish(),
  /** Half-open block ranges that a shared cache holds, ascending. */
  shared_hits: z.array(z.tuple([count(), count()])).nullish(),
  policy_class: z.string().nullish(),
  expected_output_tokens: count().nullish(),
  priority_jump: z.number().nullish(),
  strict_priority: count().nullish(),
  router_temperature: nonNegative().nullish(),
  required_cache_hits: count().nullish(),
})

/** A fleet at one moment and the request that arrives. */
export const fleetSchema = z
  .strictObject({
    role: z.enum(workerRoles).nullish(),
    block_size: z.int().min(1),
    request,
    workers: z.array(worker),
  })
  .superRefine(({ workers, request: { shared_hits: hits } }, context) => {
    const firstOf = new Map<bigint, number>()
    for (const [index, { worker_id: id }] of workers.entries()) {
      if (!firstOf.has(id)) firstOf.set(id, index)
      else
        context.addIssue({
          code: 'custom',
          path: ['workers', index, 'worker_id'],
          message: `worker ${id} is listed twice`,
        })
    }
    let end = 0
    for (const [index, [start, next]] of (hits ?? []).entries()) {
      if (start < end || next < start) {
        context.addIssue({
          code: 'custom',
          path: ['request', 'shared_hits', index],
          message: 'ranges must ascend and not overlap',
        })
      }
      end = next
    }
  })

export type Fleet = z.output<typeof fleetSchema>
export type FleetRank = Fleet['workers'][number]['ranks'][number]
