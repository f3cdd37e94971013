import { blockSize, modelName } from './instant-engine.js'
import type { LoadRequest } from './load.js'

/** How prompts are written: as text that the router knows by its content, or as tokens. */
export type PromptForm = 'text' | 'tokens'

const distinct = 16
const shortTokens = 40
const longTokens = 8192
const words = 'the quick brown fox jumps over a lazy dog while seven wizards brew more tea and read'.split(
  ' ',
)

export interface LoadKind {
  readonly name: 'a short request' | 'an 8 k-token body' | 'a 200-chunk stream'
  readonly tokens: number
  readonly isStream: boolean
}

export const loadKinds = {
  short: { name: 'a short request', tokens: shortTokens, isStream: false },
  long: { name: 'an 8 k-token body', tokens: longTokens, isStream: false },
  stream: { name: 'a 200-chunk stream', tokens: shortTokens, isStream: true },
} as const satisfies Record<string, LoadKind>

/** Requests of a kind: some that differ in their last block. */
export function requestsOf({ tokens, isStream }: LoadKind, form: PromptForm): LoadRequest {
  const more = { max_tokens: 200, temperature: 0.7, ...(isStream ? { stream: true } : {}) }
  const bodies = Array.from({ length: distinct }, (_, turn) => {
    const prompt =
      form === 'tokens' ? { prompt: tokensOf(tokens, turn) } : { messages: messagesOf(tokens, turn) }
    return Buffer.from(JSON.stringify({ model: modelName, ...prompt, ...more }))
  })
  return { path: form === 'tokens' ? '/v1/completions' : '/v1/chat/completions', bodies }
}

/** Token ids; all but those of the last block are the same in every turn. */
export function tokensOf(count: number, turn: number): number[] {
  return Array.from({ length: count }, (_, at) => {
    const own = at >= count - blockSize ? turn : 0
    return ((Math.imul(at + 1, 0x9e37_79b1) >>> 8) % 150_000) ^ own
  })
}

/** A chat of about so many tokens, four bytes each. */
function messagesOf(tokens: number, turn: number): { role: string; content: string }[] {
  const text = Array.from({ length: Math.ceil(tokens * 0.8) }, (_, at) => words[(at * 7) % words.length])
  const half = text.length >> 1
  return [
    { role: 'system', content: text.slice(0, half).join(' ') },
    { role: 'user', content: `${text.slice(half).join(' ')} ${turn}?` },
  ]
}
