import { workerRoles } from '@router/sdk'
import type { Provenance } from '../fleet/engine-facts.js'
import type { WorkerChanges, WorkerRegistration, WorkerView } from '../fleet/worker-registration.js'
import {
  type Read,
  count,
  doubleFrom,
  flag,
  listOf,
  mapOf,
  objectOf,
  oneOf,
  optional,
  required,
  text,
  u32,
  workerId,
} from '../http/json-fields.js'
import type { JsonValue } from '../http/json-writer.js'
import { snakeCase } from '../snake-case.js'

const textMap = mapOf((key) => key, 'text', text)
const rankMap = mapOf(rankOf, 'a rank', text)

/** Fields of a record by their name on the wire. `worker_id`, `model_name` and `routing_group` say who and where. */
const changeable = {
  endpoint: optional(text),
  kv_events_endpoint: optional(text),
  kv_events_endpoints: optional(rankMap),
  replay_endpoint: optional(text),
  block_size: optional(u32),
  data_parallel_start_rank: optional(u32),
  data_parallel_size: optional(u32),
  max_num_batched_tokens: optional(count),
  total_kv_blocks: optional(count),
  max_num_seqs: optional(count),
  stable_routing_id: optional(text),
  incarnation_id: optional(text),
  is_eagle: optional(flag),
  taints: optional(listOf(text)),
  topology_domains: optional(textMap),
  kv_role: optional(text),
  accepts_nvext: optional(flag),
  kv_transfer_domain: optional(text),
  kv_transfer_enforcement: optional(oneOf('required', 'preferred')),
  kv_transfer_preferred_weight: optional(doubleFrom(-Infinity)),
  router_hint_worker_type: optional(text),
  router_hint_source_control_endpoints: optional(rankMap),
  kv_event_source_mode: optional(text),
}

const readRecord = objectOf<Record<string, unknown>>({
  worker_id: required(workerId),
  model_name: optional(text),
  routing_group: optional(text),
  role: optional(oneOf(...workerRoles)),
  ...changeable,
})
const readChanges = objectOf<Record<string, unknown>>(changeable)

/** A record as `POST /workers` takes it. */
export const readWorker: Read<WorkerRegistration> = (reader) =>
  withCamelKeys(readRecord(reader)) as unknown as WorkerRegistration

/** A part of a record, as `PATCH /workers/{id}` takes it. */
export const readWorkerChanges: Read<WorkerChanges> = (reader) => withCamelKeys(readChanges(reader))

/** A record as it is echoed: what was not given is `null`, but for lists, and for fields that are left out then. */
export function workerJson({ registration, provenance, lifecycle, reasons }: WorkerView): JsonValue {
  const { kvEventsEndpoints, routerHintSourceControlEndpoints } = registration
  return {
    worker_id: registration.workerId,
    model_name: registration.modelName ?? 'default',
    routing_group: registration.routingGroup ?? 'default',
    role: registration.role ?? 'aggregated',
    lifecycle,
    endpoint: registration.endpoint ?? null,
    kv_events_endpoint: registration.kvEventsEndpoint ?? null,
    kv_events_endpoints: unlessEmpty(kvEventsEndpoints),
    replay_endpoint: registration.replayEndpoint ?? null,
    block_size: registration.blockSize ?? null,
    data_parallel_start_rank: registration.dataParallelStartRank ?? null,
    data_parallel_size: registration.dataParallelSize ?? null,
    max_num_batched_tokens: registration.maxNumBatchedTokens ?? null,
    total_kv_blocks: registration.totalKvBlocks ?? null,
    max_num_seqs: registration.maxNumSeqs ?? null,
    stable_routing_id: registration.stableRoutingId ?? null,
    incarnation_id: registration.incarnationId ?? null,
    is_eagle: registration.isEagle ?? null,
    taints: registration.taints ?? [],
    topology_domains: registration.topologyDomains ?? {},
    kv_role: registration.kvRole ?? null,
    accepts_nvext: registration.acceptsNvext ?? null,
    kv_transfer_domain: registration.kvTransferDomain ?? null,
    kv_transfer_enforcement: registration.kvTransferEnforcement ?? null,
    kv_transfer_preferred_weight: registration.kvTransferPreferredWeight ?? null,
    router_hint_worker_type: registration.routerHintWorkerType,
    router_hint_source_control_endpoints: unlessEmpty(routerHintSourceControlEndpoints),
    kv_event_source_mode: registration.kvEventSourceMode,
    provenance: provenanceJson(provenance),
    not_schedulable_reasons: reasons.length === 0 ? undefined : reasons,
  }
}

/** Values that nobody gave: `learned` from the engine, or `assumed`. */
function provenanceJson(provenance: Provenance): JsonValue | undefined {
  const entries = Object.entries(provenance)
  if (entries.length === 0) return undefined
  return Object.fromEntries(entries.map(([key, from]) => [snakeCase(key), from]))
}

function unlessEmpty(map: ReadonlyMap<number, string> | undefined): ReadonlyMap<number, string> | undefined {
  return map === undefined || map.size === 0 ? undefined : map
}

function rankOf(key: string): number | undefined {
  const rank = /^(?:0|[1-9]\d{0,9})$/.test(key) ? Number(key) : Number.NaN
  return rank <= 0xffff_ffff ? rank : undefined
}

/** `block_size` is `blockSize`. The keys are those of `changeable`, never a caller's. */
function withCamelKeys(record: Readonly<Record<string, unknown>>): WorkerChanges {
  const entries = Object.entries(record).map(([key, value]) => [
    key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    value,
  ])
  return Object.fromEntries(entries) as WorkerChanges
}
