import type { RankExplanation, RankFacts, RoutedExplanation } from '@router/core'
import type { PromptReading } from '@router/prompt'
import { routerDefaults } from '@router/sdk'
import type { FleetPartition } from '../fleet/fleet-partition.js'
import type { FleetPrompt, RequestTerms } from '../fleet/fleet-request.js'
import type { FleetWorkers } from '../fleet/fleet-workers.js'
import type { Fleet } from '../fleet/fleet.js'
import type { WorkerView } from '../fleet/worker-registration.js'
import type { JsonValue } from '../http/json-writer.js'

/** What a request was routed on. Numbers alone: never its text, tokens or hashes. */
export interface RoutedOn {
  /** As `Exactness` of prompts. */
  readonly exactness: string
  /** Why it is not exact; absent = it is, or nothing is hashed. */
  readonly cause?: string | undefined
  readonly promptTokens: number
  readonly isEstimated: boolean
  /** Complete blocks whose hashes are known. */
  readonly blocks: number
  /** Content chunks; absent = there are none. */
  readonly chunks?: number | undefined
}

/** What a decision was about. */
export interface DecisionSubject {
  /** Absent = it was only asked about. */
  readonly requestId?: string | undefined
  /** Of its front door. */
  readonly path: string
  /** Selections of the request so far, this one included: one a try at least. */
  readonly attempt: number
  readonly partition: FleetPartition
  readonly routedOn: RoutedOn
  readonly terms?: RequestTerms | undefined
}

/** What a prompt is routed on that the proxy read. */
export function routedOnReading(reading: PromptReading): RoutedOn {
  return {
    exactness: reading.exactness,
    cause: reading.cause,
    promptTokens: reading.allTokens,
    isEstimated: reading.isEstimated,
    blocks: reading.blocks.count,
    chunks: reading.chunks?.count,
  }
}

/** What a prompt is routed on that came as tokens or hashes. @param blockSize tokens */
export function routedOnPrompt(prompt: FleetPrompt, blockSize: number): RoutedOn {
  const promptTokens = prompt.tokens === undefined ? prompt.promptTokens : prompt.tokens.length
  const blocks = prompt.tokens === undefined ? prompt.blocks.count : Math.floor(promptTokens / blockSize)
  return { exactness: 'exact', promptTokens, isEstimated: false, blocks }
}

/** A decision record: who could have had the request, what each was worth, and why it is this one. `O(ranks)`. */
export function decisionJson(
  { workers, settings }: Fleet,
  subject: DecisionSubject,
  explanation: RoutedExplanation,
  wallMs: number,
): { [key: string]: JsonValue | undefined } {
  const { partition, routedOn, terms } = subject
  const { policy, chosen, result, error, mode, keys, margin, tieSet } = explanation
  const best = result?.bestOverlapWorker
  return {
    request_id: subject.requestId ?? null,
    time: new Date(wallMs).toISOString(),
    path: subject.path,
    attempt: subject.attempt,
    model_name: partition.name.model,
    routing_group: partition.name.routingGroup,
    role: partition.name.role,
    block_size: partition.shape.blockSize,
    routed_on: {
      exactness: routedOn.exactness,
      cause: routedOn.cause,
      // What ranks hold of it is believed, not told.
      approximate:
        routedOn.exactness === 'approximate' ||
        (chosen !== undefined && workers.eventReports(chosen.workerId).length === 0),
      prompt_tokens: routedOn.promptTokens,
      is_estimated: routedOn.isEstimated,
      blocks: routedOn.blocks,
      chunks: routedOn.chunks,
    },
    policy: {
      type: policy.type,
      package: policy.package,
      version: policy.version,
      name: policy.name,
      revision: policy.revision,
      parameters: jsonOf(partition.router.partition.selector.instance.parameters),
      // What parameters that are not set are.
      router_defaults: jsonOf(settings.core?.routerDefaults ?? routerDefaults),
      overrides: terms?.parameterOverrides && jsonOf(terms.parameterOverrides),
    },
    chosen: chosen === undefined ? null : rankJson(chosen),
    result: result && {
      required_blocks: result.requiredBlocks,
      effective_overlap_blocks: result.effectiveOverlapBlocks,
      cached_tokens: result.cachedTokens,
      potential_decode_blocks: result.potentialDecodeBlocks,
    },
    best_overlap: best && { ...rankJson(best), blocks: result.bestOverlapBlocks },
    error: error && { code: error.code, message: error.message },
    tie_set: tieSet.map(rankJson),
    margin: margin ?? null,
    mode,
    keys: keys && jsonOf(keys),
    ranks: explanation.rows.map((row, index) => rowJson(row, explanation.facts[index]!, workers)),
  }
}

function rowJson(row: RankExplanation, facts: RankFacts, workers: FleetWorkers): JsonValue {
  return {
    ...rankJson(row),
    rejection: row.rejection,
    reasons: row.rejection === 'WorkerNotRoutable' ? reasonsOf(workers.get(row.workerId)) : undefined,
    filter: row.filter,
    contributions: row.contributions.length === 0 ? undefined : row.contributions.map(contributionJson),
    total: row.total,
    taint_multiplier: row.taintMultiplier,
    cache: facts.isKnown
      ? {
          device_blocks: facts.deviceBlocks,
          host_blocks: facts.hostBlocks,
          disk_blocks: facts.diskBlocks,
          credited_tokens: facts.cachedTokens,
        }
      : null,
    load: {
      active_requests: facts.activeRequests ?? null,
      active_prefill_tokens: facts.activePrefillTokens ?? null,
      decode_cost_blocks: facts.decodeCostBlocks ?? null,
    },
  }
}

/** Why a worker takes no requests, by code. */
function reasonsOf(worker: WorkerView | undefined): string[] {
  if (worker?.lifecycle === 'draining') return ['draining']
  return (worker?.hindrances ?? []).map(({ code }) => code)
}

function contributionJson({ scorer, cost }: { readonly scorer: string; readonly cost: number }): JsonValue {
  return { scorer, cost }
}

function rankJson({ workerId, dpRank }: { readonly workerId: bigint; readonly dpRank: number }): {
  readonly worker_id: bigint
  readonly dp_rank: number
} {
  return { worker_id: workerId, dp_rank: dpRank }
}

/** Plain data of a policy, under its own names. What is no data is left out. */
function jsonOf(value: unknown): JsonValue {
  if (Array.isArray(value)) return value.map(jsonOf)
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value)
        .filter(([, inner]) => inner !== undefined && typeof inner !== 'function')
        .map(([key, inner]) => [key, jsonOf(inner)]),
    )
  const isPlain = ['string', 'number', 'bigint', 'boolean'].includes(typeof value)
  return isPlain ? (value as string | number | bigint | boolean) : null
}
