import type { PromptEndpoint } from '@router/prompt'
import type { Placement } from '../fleet/fleet-request.js'
import { type JsonValue, writeJson } from '../http/json-writer.js'

const chunkObjects: Partial<Record<PromptEndpoint, string>> = {
  chat: 'chat.completion.chunk',
  completions: 'text_completion',
}

/** What an answer may tell of its request in `nvext` (host.md 11.3). */
export interface AnswerFacts {
  readonly workerId: bigint
  readonly dpRank: number
  /** Milliseconds; absent = no byte came yet. */
  readonly firstByteMs: number | undefined
  /** Between chunks of output, milliseconds; absent = there were no two. */
  readonly betweenChunksMs: number | undefined
  readonly totalMs: number
}

/** Headers that tell where a request went, and what is believed to have been there; names and values by turns. */
export function placementHeaders({ workerId, dpRank, measures }: Placement): string[] {
  const blocks = Math.floor(measures.overlapBlocks ?? 0)
  return ['x-router-worker', `${workerId}.${dpRank}`, 'x-router-overlap-blocks', String(blocks)]
}

/**
 * The `nvext` of an answer, as JSON; `undefined` = nothing of what was asked for can be told.
 * @param tellsPlacement its worker may be told
 */
export function answerExtras(
  fields: readonly string[],
  { workerId, dpRank, firstByteMs, betweenChunksMs, totalMs }: AnswerFacts,
  tellsPlacement: boolean,
): string | undefined {
  const told: Record<string, JsonValue> = {}
  if (fields.includes('worker_id') && tellsPlacement)
    told['worker_id'] = {
      prefill_worker_id: workerId,
      prefill_dp_rank: dpRank,
      decode_worker_id: workerId,
      decode_dp_rank: dpRank,
    }
  if (fields.includes('timing'))
    told['timing'] = {
      ttft_ms: firstByteMs ?? null,
      itl_ms: betweenChunksMs ?? null,
      total_ms: totalMs,
      queue_ms: 0,
    }
  return Object.keys(told).length === 0 ? undefined : writeJson(told)
}

/** The same as an event of a stream, shaped as the chunk that tells the usage; `undefined` = its events are of another kind. */
export function extrasEvent(endpoint: PromptEndpoint, extras: string): string | undefined {
  const object = chunkObjects[endpoint]
  return object && `data: {"object":"${object}","choices":[],"nvext":${extras}}\n\n`
}

/** An answer with `nvext` as the last field of its object; the very bytes where it is no object. */
export function withExtras(answer: Buffer, extras: string): Buffer {
  const end = answer.lastIndexOf('}')
  const isObject = answer.toString('latin1', 0, 64).trimStart().startsWith('{')
  if (!isObject || answer.toString('latin1', end + 1).trim() !== '') return answer
  const before = answer.toString('latin1', Math.max(0, end - 64), end).trimEnd()
  const text = `${before.endsWith('{') ? '' : ','}"nvext":${extras}`
  return Buffer.concat([answer.subarray(0, end), Buffer.from(text), answer.subarray(end)])
}
