import { createHash } from 'node:crypto'
import { PromptError } from '../../src/errors.js'
import type { PromptTokenizer } from '../../src/tokenizer/prompt-tokenizer.js'
import { type CorpusCase, corpus } from './corpus.js'

/** The cases whose ids differ from the recorded ones, each with what was found and what was expected. */
export function differingCases(tokenizer: PromptTokenizer, recorded: readonly string[]): string[] {
  const cases = corpus()
  if (recorded.length !== cases.length)
    return [`${recorded.length} digests of ${cases.length} cases: record them again`]
  return cases.flatMap((entry, index) => {
    const found = digestOf(tokenizer, entry)
    return found === recorded[index]
      ? []
      : [`case ${index}: ${found} instead of ${recorded[index]}: ${JSON.stringify(entry).slice(0, 200)}`]
  })
}

/** Tokens and digest of their ids; `error` where the template raises one. */
function digestOf(tokenizer: PromptTokenizer, entry: CorpusCase): string {
  try {
    const tokens =
      'text' in entry
        ? read(tokenizer, 'completions', { prompt: entry.text, add_special_tokens: entry.addSpecialTokens })
        : read(tokenizer, 'chat', {
            messages: entry.messages,
            tools: entry.tools,
            chat_template_kwargs: entry.kwargs,
          })
    const digest = createHash('sha256').update(new Uint8Array(tokens.buffer)).digest('hex')
    return `${tokens.length} ${digest.slice(0, 32)}`
  } catch (error) {
    if (PromptError.isInstance(error) && error.code === 'PROMPT_TEMPLATE_FAILED') return 'error'
    throw error
  }
}

function read(tokenizer: PromptTokenizer, endpoint: 'chat' | 'completions', body: object): Uint32Array {
  return tokenizer.read(endpoint, new TextEncoder().encode(JSON.stringify(body))).tokens
}
