import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { Conversation, Workload } from './workload.js'

/** A row of a Mooncake trace. */
interface TraceRow {
  /** Milliseconds since the start of the trace. */
  readonly timestamp: number
  readonly input_length: number
  readonly output_length: number
  /** One per block of 512 tokens, the last one may be partial; equal prefixes have equal ids. */
  readonly hash_ids: readonly number[]
}

/** Rows that the project has of its own. */
export const carriedRows = 500
const traceBlockTokens = 512
/** Tokens of the simulated model's vocabulary that are no special ones. */
const plainTokens = 3256

/** The first rows of the conversation trace, at most `carriedRows`. `mooncake.md` says where they are from. */
export function readTrace(rows: number): readonly TraceRow[] {
  const text = gunzipSync(readFileSync(new URL('mooncake-conversation-500.jsonl.gz', import.meta.url)))
  const lines = text.toString('utf8').trimEnd().split('\n').slice(0, rows)
  return lines.map((line) => JSON.parse(line) as TraceRow)
}

/**
 * The rows as completions of token ids, each at its time. A block is its id, written over and over: in a trace block the even places hold
 * `id mod vocabulary`, the odd ones the rest of it, so that different ids are different tokens in a vocabulary smaller than the ids.
 */
export function traceWorkload(rows: readonly TraceRow[]): Workload {
  const conversations = rows.map((row): Conversation => {
    const promptTokens = promptOf(row)
    const body = { model: 'mock-model', prompt: [...promptTokens], max_tokens: row.output_length }
    const turn = { pauseMs: 0, path: '/v1/completions', body: () => body, promptTokens } as const
    return { startMs: row.timestamp, turns: [turn] }
  })
  const longest = Math.max(...rows.map((row) => row.input_length + row.output_length))
  return {
    name: 'trace',
    description: `the first ${rows.length} rows of the Mooncake conversation trace`,
    conversations,
    blockSize: 64,
    maxModelTokens: longest + 1,
  }
}

function promptOf({ input_length: length, hash_ids: ids }: TraceRow): Uint32Array {
  return Uint32Array.from({ length }, (_, at) => {
    const id = ids[Math.floor(at / traceBlockTokens)]!
    return at % 2 === 0 ? id % plainTokens : Math.floor(id / plainTokens)
  })
}
