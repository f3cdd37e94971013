import type { HashedPrompt, TokenPrompt } from '@router/core'
import { RouterError, type SessionContext } from '@router/sdk'
import type { PartitionName } from '../fleet/fleet-partition.js'
import type { FleetPrompt, FleetRequest, RequestTerms } from '../fleet/fleet-request.js'
import {
  type Read,
  count,
  double,
  doubleFrom,
  flag,
  hash,
  i64Words,
  listOf,
  mapOf,
  objectOf,
  oneOf,
  optional,
  required,
  text,
  textUpTo,
  u32,
  u32List,
  workerId,
} from '../http/json-fields.js'
import type { JsonRequest } from '../http/json-routes.js'

const counts = listOf(count)
const range: Read<readonly number[]> = (reader) => {
  const ends = counts(reader)
  if (ends.length !== 2) throw reader.fault('a start and an end', `${ends.length} numbers`)
  return ends
}
const mmObject = objectOf<MmObject>({ mm_hash: required(hash), offsets: required(listOf(range)) })
const mmInfo = objectOf<MmInfo>({ mm_objects: required(listOf(mmObject)) })
const mmInfos = listOf((reader) => (reader.takeNull() ? undefined : mmInfo(reader)))

interface MmObject {
  readonly mm_hash: bigint
  readonly offsets: readonly (readonly number[])[]
}
interface MmInfo {
  readonly mm_objects: readonly MmObject[]
}
type MmInfos = readonly (MmInfo | undefined)[]

/** Bookings and kept selections have it for as long as they are there. */
const selectionId = textUpTo(1024)
const nonNegative = doubleFrom(0)

/** `router_config_override`. */
interface ConfigOverride {
  readonly overlap_score_credit?: number
  readonly prefill_load_scale?: number
  readonly router_temperature?: number
  readonly assume_kv_reuse?: boolean
  readonly track_prefill_tokens?: boolean
  readonly shared_cache_multiplier?: number
  readonly overlap_score_weight?: number
}

const configOverride = objectOf<ConfigOverride>({
  overlap_score_credit: optional(nonNegative),
  prefill_load_scale: optional(nonNegative),
  router_temperature: optional(nonNegative),
  assume_kv_reuse: optional(flag),
  track_prefill_tokens: optional(flag),
  shared_cache_multiplier: optional(doubleFrom(0, 1)),
  overlap_score_weight: optional(nonNegative),
})

/** Which partition, and the forms of a prompt. */
interface PromptBody {
  readonly model_name?: string
  readonly routing_group?: string
  readonly mm_routing_info?: {
    readonly routing_token_ids?: Uint32Array
    readonly block_mm_infos?: MmInfos
  }
  readonly token_ids?: Uint32Array
  readonly block_mm_infos?: MmInfos
  readonly block_hashes?: Uint32Array
  readonly sequence_hashes?: Uint32Array
  readonly isl_tokens?: number
  readonly lora_name?: string
  readonly cache_salt?: string
  readonly is_eagle?: boolean
}

const promptFields = {
  model_name: optional(text),
  routing_group: optional(text),
  mm_routing_info: optional(
    objectOf<NonNullable<PromptBody['mm_routing_info']>>({
      routing_token_ids: required(u32List),
      block_mm_infos: optional(mmInfos),
    }),
  ),
  token_ids: optional(u32List),
  block_mm_infos: optional(mmInfos),
  block_hashes: optional(i64Words),
  sequence_hashes: optional(i64Words),
  isl_tokens: optional(count),
  lora_name: optional(text),
  cache_salt: optional(text),
  is_eagle: optional(flag),
}

/** A prompt to ask about. */
export interface QueryBody extends PromptBody {
  readonly router_config_override?: ConfigOverride
}

export const readQuery = objectOf<QueryBody>({
  ...promptFields,
  router_config_override: optional(configOverride),
})

const triggers = { user_message: 'user-message', tool_result: 'tool-result', other: 'other' } as const

interface RankBody {
  readonly worker_id: bigint
  readonly dp_rank: number
}
interface SessionBody {
  readonly session_id: string
  readonly parent_session_id?: string
  readonly session_final?: boolean
  readonly input_trigger?: keyof typeof triggers
  readonly agent_headers?: ReadonlyMap<string, readonly string[]>
}

/** A request to select a worker for. */
export interface SelectionBody extends QueryBody {
  readonly selection_id?: string
  readonly expected_output_tokens?: number
  readonly priority_jump?: number
  readonly strict_priority?: number
  readonly policy_class?: string
  readonly session_id?: string
  readonly session_context?: SessionBody
  readonly affinity_target?: { readonly worker_id: bigint; readonly dp_rank?: number }
  readonly pinned_worker?: RankBody
  readonly allowed_worker_ids?: readonly bigint[]
  readonly routing_constraints?: {
    readonly required_taints?: readonly string[]
    readonly preferred_taints?: ReadonlyMap<string, number>
  }
  readonly advisory?: boolean
  readonly explain?: boolean
}

export const readSelection = objectOf<SelectionBody>({
  ...promptFields,
  router_config_override: optional(configOverride),
  selection_id: optional(selectionId),
  expected_output_tokens: optional(u32),
  priority_jump: optional(double),
  strict_priority: optional(u32),
  policy_class: optional(text),
  session_id: optional(text),
  session_context: optional(
    objectOf<SessionBody>({
      session_id: required(text),
      parent_session_id: optional(text),
      session_final: optional(flag),
      input_trigger: optional(oneOf(...(Object.keys(triggers) as (keyof typeof triggers)[]))),
      agent_headers: optional(mapOf((key) => key, 'text', listOf(text))),
    }),
  ),
  affinity_target: optional(
    objectOf<NonNullable<SelectionBody['affinity_target']>>({
      worker_id: required(workerId),
      dp_rank: optional(u32),
    }),
  ),
  pinned_worker: optional(objectOf<RankBody>({ worker_id: required(workerId), dp_rank: required(u32) })),
  allowed_worker_ids: optional(listOf(workerId)),
  routing_constraints: optional(
    objectOf<NonNullable<SelectionBody['routing_constraints']>>({
      required_taints: optional(listOf(text)),
      preferred_taints: optional(mapOf((key) => key, 'text', double)),
    }),
  ),
  advisory: optional(flag),
  explain: optional(flag),
})

/** An explicit reservation when it names a worker, else one of an earlier selection. */
export interface ReservationBody extends PromptBody {
  readonly selection_id: string
  readonly worker_id?: bigint
  readonly dp_rank?: number
  readonly effective_prefill_tokens?: number
  readonly track_prefill_tokens?: boolean
  readonly expected_output_tokens?: number
}

export const readReservation = objectOf<ReservationBody>({
  ...promptFields,
  selection_id: required(selectionId),
  worker_id: optional(workerId),
  dp_rank: optional(u32),
  effective_prefill_tokens: optional(count),
  track_prefill_tokens: optional(flag),
  expected_output_tokens: optional(u32),
})

export const readOutputBlock = objectOf<{ readonly decay_fraction?: number }>({
  decay_fraction: optional(double),
})

export const readPeer = objectOf<{ readonly endpoint: string }>({ endpoint: required(text) })

/** The partition that a body names. The selection API serves requests as a whole. */
export function partitionOf({ model_name, routing_group }: PromptBody): PartitionName {
  return { model: model_name ?? 'default', routingGroup: routing_group ?? 'default', role: 'aggregated' }
}

/**
 * The prompt of a body, in the first form that it has. Error: `ROUTER_BAD_REQUEST` when it has none, or not all of one.
 * @param needsContent false = the books' hashes and a length will do, as for explicit reservations
 */
export function promptOf(body: PromptBody, needsContent = true): FleetPrompt {
  const { mm_routing_info: routing, token_ids, lora_name: loraName } = body
  const routed = routing?.routing_token_ids
  if (routed !== undefined && routed.length > 0) return tokenPrompt(body, routed, routing?.block_mm_infos)
  if (token_ids !== undefined) return tokenPrompt(body, token_ids, body.block_mm_infos)
  const { block_hashes: local, sequence_hashes: sequence, isl_tokens: promptTokens } = body
  if (sequence === undefined || promptTokens === undefined || (needsContent && local === undefined))
    throw noPrompt('a prompt is needed: token_ids, or block_hashes, sequence_hashes and isl_tokens')
  if (local !== undefined && local.length !== sequence.length) {
    const lengths = `${local.length / 2} block hashes and ${sequence.length / 2} sequence hashes`
    throw noPrompt(`${lengths} are no prompt: expected as many of one as of the other`)
  }
  if (needsContent && promptTokens === 0) throw noPrompt('isl_tokens must be greater than 0, got 0')
  const blocks = { local: local ?? new Uint32Array(0), sequence, count: sequence.length >> 1 }
  return { blocks, promptTokens, loraName } satisfies HashedPrompt
}

/** The request of a selection: its prompt, and what body and headers say beside it. Errors: those of `promptOf`. */
export function askedOf(
  body: SelectionBody,
  { header }: Pick<JsonRequest, 'header'>,
): Required<FleetRequest> {
  return { prompt: promptOf(body), terms: termsOf(body, header('x-dynamo-meta-policy-class')) }
}

function termsOf(body: SelectionBody, policyClass: string | undefined): RequestTerms {
  const { affinity_target: target, pinned_worker: pin, routing_constraints: constraints = {} } = body
  return {
    ...overridesOf(body),
    expectedOutputTokens: body.expected_output_tokens,
    priorityJump: body.priority_jump,
    strictPriority: body.strict_priority,
    policyClass: policyClass ?? body.policy_class,
    sessionContext: sessionOf(body),
    allowedWorkerIds: body.allowed_worker_ids,
    requiredTaints: constraints.required_taints,
    preferredTaints: preferredTaints(constraints.preferred_taints),
    pinnedWorker: pin && { workerId: pin.worker_id, dpRank: pin.dp_rank },
    affinityTarget: target && {
      workerId: target.worker_id,
      ...(target.dp_rank === undefined ? {} : { dpRank: target.dp_rank }),
    },
  }
}

/** What the overrides of a body mean. */
export function overridesOf({ router_config_override: override }: QueryBody): RequestTerms {
  if (override === undefined) return {}
  const { overlap_score_weight: weight, assume_kv_reuse, track_prefill_tokens, ...scores } = override
  // An old weight scales prefill load, and 0 also takes the credit away.
  const meant = weight === undefined ? {} : { prefill_load_scale: weight }
  const credit = weight === 0 ? { overlap_score_credit: 0 } : {}
  const parameterOverrides = { ...scores, ...meant, ...credit }
  return {
    assumesKvReuse: assume_kv_reuse,
    tracksPrefillTokens: track_prefill_tokens,
    routerTemperatureOverride: override.router_temperature,
    parameterOverrides: Object.keys(parameterOverrides).length === 0 ? undefined : parameterOverrides,
  }
}

function tokenPrompt(body: PromptBody, tokens: Uint32Array, infos: MmInfos | undefined): TokenPrompt {
  return {
    tokens,
    loraName: body.lora_name,
    cacheSalt: body.cache_salt,
    isEagle: body.is_eagle,
    objectsByBlock: infos?.map((info) => info?.mm_objects.map(({ mm_hash }) => mm_hash) ?? []),
  }
}

function preferredTaints(weights: ReadonlyMap<string, number> | undefined): RequestTerms['preferredTaints'] {
  if (weights === undefined || weights.size === 0) return undefined
  return [...weights].map(([taint, weight]) => ({ taint, weight }))
}

function sessionOf({ session_id: id, session_context: context }: SelectionBody): SessionContext | undefined {
  if (context !== undefined) {
    const { parent_session_id, session_final, input_trigger, agent_headers = new Map() } = context
    return {
      sessionId: context.session_id,
      agentHeaders: Object.fromEntries([...agent_headers].toSorted(([a], [b]) => (a < b ? -1 : 1))),
      ...(parent_session_id === undefined ? {} : { parentSessionId: parent_session_id }),
      ...(session_final === undefined ? {} : { sessionFinal: session_final }),
      ...(input_trigger === undefined ? {} : { inputTrigger: triggers[input_trigger] }),
    }
  }
  return id === undefined ? undefined : { sessionId: id, agentHeaders: {} }
}

function noPrompt(message: string): RouterError {
  return new RouterError('ROUTER_BAD_REQUEST', message)
}
