import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { PromptEndpoint } from '../../../src/endpoint.js'
import type { AddedToken } from '../../../src/tokenizer/added-tokens.js'
import type { PromptTokenizer } from '../../../src/tokenizer/prompt-tokenizer.js'
import type { TokenizedPrompt } from '../../../src/tokenizer/tokenized-prompt.js'

/** Writes files to a folder that goes with the test; objects become JSON. */
export function folderWith(files: Readonly<Record<string, unknown>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'router-tokenizer-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
  return folder
}

/** The `tokenizer.json` of a tokenizer of letters: every printable ASCII character, `▁`, line ends, and `ab` and `▁a` as one. */
export function lettersTokenizer(added: readonly Partial<AddedToken>[] = [], more: object = {}): object {
  const letters = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index))
  const words = ['<unk>', ...letters, '\n', '▁', 'é', 'ab', '▁a']
  return {
    version: '1.0',
    added_tokens: added.map((token, index) => ({ id: words.length + index, special: true, ...token })),
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    decoder: null,
    model: {
      type: 'BPE',
      unk_token: '<unk>',
      vocab: Object.fromEntries(words.map((word, id) => [word, id])),
      merges: ['a b', '▁ a'],
    },
    ...more,
  }
}

/** First id of the added tokens of `lettersTokenizer`. */
export const firstAddedId = 101

/** A chat template that shows what it is given. */
export const plainTemplate =
  '{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}'

/** The files of a folder of the tokenizer of letters with a chat template. */
export function lettersFolder(template: unknown, config: object = {}): string {
  const added = [
    { content: '[user]' },
    { content: '[assistant]' },
    { content: '[system]' },
    { content: '[tool]' },
  ]
  return folderWith({
    'tokenizer.json': lettersTokenizer(added),
    'tokenizer_config.json': { chat_template: template, ...config },
  })
}

/** Reads a body given as what becomes its JSON, or as text or bytes. */
export function read(tokenizer: PromptTokenizer, endpoint: PromptEndpoint, body: unknown): TokenizedPrompt {
  const bytes =
    body instanceof Uint8Array
      ? body
      : new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body))
  return tokenizer.read(endpoint, bytes)
}

/** The code of what a call throws. */
export function codeOf(call: () => unknown): unknown {
  try {
    call()
  } catch (error) {
    return (error as { code?: unknown }).code ?? error
  }
  return 'nothing was thrown'
}
