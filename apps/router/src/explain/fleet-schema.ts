import { nonNegative, u64, workerRoles } from '@router/sdk'
import { z } from 'zod'

const maximumU32 = 0xffff_ffff
/** Ranks that a worker may have. */
const maximumRanks = 4096

const count = () => z.int().min(0)
const u32 = () => z.int().min(0).max(maximumU32)

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
  reservations: u32().nullish(),
  encoder_cache_hits: u32().nullish(),
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
  first_rank: u32().nullish(),
  ranks: z
    .array(rank)
    .min(1, 'a worker has at least one rank')
    .max(maximumRanks, `a worker has at most ${maximumRanks} ranks`),
})

const float32 = () =>
  z.number().refine((value) => Number.isFinite(Math.fround(value)), 'must be finite as a 32-bit float')

const rankName = z.strictObject({ worker_id: u64(), dp_rank: count() })

const request = z.strictObject({
  prompt_tokens: count(),
  allowed_worker_ids: z.array(u64()).nullish(),
  pinned_worker: rankName.nullish(),
  affinity_target: rankName.partial({ dp_rank: true }).nullish(),
  required_taints: z.array(z.string()).nullish(),
  preferred_taints: z.array(z.strictObject({ taint: z.string(), weight: float32() })).nullish(),
  /** Half-open block ranges that a shared cache holds, ascending. */
  shared_hits: z.array(z.tuple([u32(), u32()])).nullish(),
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
  .superRefine(({ workers, block_size: blockSize, request: { shared_hits: hits } }, context) => {
    const refuse = (path: (string | number)[], message: string): void =>
      context.addIssue({ code: 'custom', path, message })
    const ids = new Set<bigint>()
    for (const [index, { worker_id: id, first_rank: first, ranks }] of workers.entries()) {
      if (ids.has(id)) refuse(['workers', index, 'worker_id'], `worker ${id} is listed twice`)
      ids.add(id)
      if ((first ?? 0) + ranks.length > maximumU32)
        refuse(['workers', index, 'first_rank'], `ranks are numbered up to ${maximumU32 - 1}`)
      for (const [offset, { overlap }] of ranks.entries()) {
        if (typeof overlap !== 'object' || overlap?.estimate_blocks === undefined) continue
        if (overlap.estimate_tokens !== undefined || Number.isFinite(overlap.estimate_blocks * blockSize))
          continue
        refuse(
          ['workers', index, 'ranks', offset, 'overlap', 'estimate_blocks'],
          'times the block size it must be finite',
        )
      }
    }
    let end = 0
    for (const [index, [start, next]] of (hits ?? []).entries()) {
      if (start < end || next < start) {
        refuse(['request', 'shared_hits', index], 'ranges must ascend and not overlap')
      }
      end = next
    }
  })

export type Fleet = z.output<typeof fleetSchema>
export type FleetRank = Fleet['workers'][number]['ranks'][number]
