import { u64, workerRoles } from '@router/sdk'
import { z } from 'zod'

const maximumU32 = 0xffff_ffff
const maximumRanks = 4096
const text = () => z.string().min(1)
const count = () => z.int().min(0)
const rankMap = () => z.record(z.string().regex(/^(?:0|[1-9]\d{0,9})$/), text())

/** Fields of a worker in a file or a flag beside its URL: those of the API's record, and two for trusted sources alone. All may be absent. */
export const workerFields = {
  worker_id: u64().optional(),
  model_name: text().optional(),
  routing_group: text().optional(),
  role: z.enum(workerRoles).optional(),
  block_size: z.int().min(1).max(maximumU32).optional(),
  data_parallel_start_rank: z.int().min(0).max(maximumU32).optional(),
  data_parallel_size: z.int().min(1).max(maximumRanks).optional(),
  kv_events_endpoint: text().optional(),
  kv_events_endpoints: rankMap().optional(),
  /** The engine connects, and the router binds. */
  kv_events_bind: z.boolean().optional(),
  replay_endpoint: text().optional(),
  max_num_batched_tokens: count().optional(),
  total_kv_blocks: count().optional(),
  max_num_seqs: count().optional(),
  stable_routing_id: text().optional(),
  incarnation_id: text().optional(),
  is_eagle: z.boolean().optional(),
  taints: z.array(text()).optional(),
  topology_domains: z.record(text(), text()).optional(),
  kv_role: text().optional(),
  accepts_nvext: z.boolean().optional(),
  kv_transfer_domain: text().optional(),
  kv_transfer_enforcement: z.enum(['required', 'preferred']).optional(),
  kv_transfer_preferred_weight: z.number().optional(),
  router_hint_worker_type: text().optional(),
  router_hint_source_control_endpoints: rankMap().optional(),
  kv_event_source_mode: text().optional(),
  /** File with the key that its engine asks for. */
  api_key_file: text().optional(),
}

/** A worker as a file or a flag writes it. */
export const workerRecord = z.strictObject({ endpoint: text(), ...workerFields })

export type WorkerRecordText = z.output<typeof workerRecord>
