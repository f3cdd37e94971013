import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PromptError } from '../errors.js'
import type { AddedToken } from './added-tokens.js'
import { type JsonObject, isObject, listOf } from './json-objects.js'
import { ChatTemplate } from './template/chat-template.js'

/** The files of a tokenizer's folder, checked as far as they are used. */
export interface TokenizerFiles {
  readonly tokenizer: JsonObject
  readonly addedTokens: readonly AddedToken[]
  readonly config: JsonObject
  /** Texts of `bos_token` and the like, by that name. */
  readonly specialTokens: Readonly<Record<string, string>>
  /** Chat templates by name: `default`, and `tool_use` in some. Where one cannot be parsed: its error. */
  readonly templates: ReadonlyMap<string, ChatTemplate | PromptError>
}

const modelTypes = ['BPE', 'Unigram', 'WordPiece']
// What the library wants to be there, if only as null.
const parts = ['normalizer', 'pre_tokenizer', 'post_processor', 'decoder']
const specialNames = /^(?:bos|eos|unk|sep|pad|cls|mask|image|audio|video|boi|eoi)_token$/

/**
 * Reads `tokenizer.json`, `tokenizer_config.json` and, where there is one, the chat template (of `chat_template.jinja`, else of
 * `chat_template.json`, else of the configuration) and `special_tokens_map.json`. Throws `PROMPT_TOKENIZER_MISSING` where a file is
 * not there, `PROMPT_TOKENIZER_INVALID` where one is not what it should be.
 */
export function readTokenizerFiles(folder: string): TokenizerFiles {
  const tokenizer = { ...readObject(folder, 'tokenizer.json') }
  const invalid = (what: string): PromptError => invalidFile(join(folder, 'tokenizer.json'), what)
  const { version, model, added_tokens: added } = tokenizer
  if (version !== '1.0') throw invalid(`version ${JSON.stringify(version)}; expected "1.0"`)
  if (!isObject(model)) throw invalid('it has no model')
  if (!modelTypes.includes(String(model['type'])))
    throw invalid(`model type ${JSON.stringify(model['type'])}; expected one of ${modelTypes.join(', ')}`)
  if (added !== undefined && !listOf(added).every(isAddedToken))
    throw invalid('added_tokens; expected a list of tokens with a content and an id')
  for (const part of parts) tokenizer[part] ??= null
  tokenizer['added_tokens'] = listOf(added)
  const config = readObject(folder, 'tokenizer_config.json')
  return {
    tokenizer,
    addedTokens: listOf(added) as readonly AddedToken[],
    config,
    specialTokens: specialTokensOf(folder, config),
    templates: templatesOf(folder, config),
  }
}

/** One more than the largest token id. `O(vocabulary)`. */
export function vocabularySizeOf({ tokenizer, addedTokens }: TokenizerFiles): number {
  const { vocab } = tokenizer['model'] as JsonObject
  let largest = Array.isArray(vocab) ? vocab.length - 1 : -1
  if (isObject(vocab)) for (const id of Object.values(vocab)) largest = Math.max(largest, Number(id))
  for (const { id } of addedTokens) largest = Math.max(largest, id)
  return largest + 1
}

function isAddedToken(token: unknown): boolean {
  return isObject(token) && typeof token['content'] === 'string' && Number.isInteger(token['id'])
}

function specialTokensOf(folder: string, config: JsonObject): Record<string, string> {
  const name = 'special_tokens_map.json'
  const map = existsSync(join(folder, name)) ? readObject(folder, name) : {}
  const found: Record<string, string> = {}
  for (const [key, token] of Object.entries({ ...map, ...config })) {
    if (!specialNames.test(key)) continue
    const text = isObject(token) ? token['content'] : token
    if (typeof text === 'string') found[key] = text
  }
  return found
}

function templatesOf(folder: string, config: JsonObject): Map<string, ChatTemplate | PromptError> {
  const sources = templateSources(folder, config)
  const parsed = [...sources].map(([name, source]) => [name, parsedOrError(source)] as const)
  return new Map(parsed)
}

function parsedOrError(source: string): ChatTemplate | PromptError {
  try {
    return new ChatTemplate(source)
  } catch (error) {
    if (PromptError.isInstance(error)) return error
    throw error
  }
}

function templateSources(folder: string, config: JsonObject): Map<string, string> {
  const plain = join(folder, 'chat_template.jinja')
  if (existsSync(plain)) return new Map([['default', readText(plain)]])
  const name = existsSync(join(folder, 'chat_template.json')) ? 'chat_template.json' : 'tokenizer_config.json'
  const { chat_template: given } = name === 'tokenizer_config.json' ? config : readObject(folder, name)
  if (given === undefined || given === null) return new Map()
  if (typeof given === 'string') return new Map([['default', given]])
  const named = listOf(given).map((entry): readonly [unknown, unknown] =>
    isObject(entry) ? [entry['name'], entry['template']] : [undefined, undefined],
  )
  const isNamed = (entry: readonly [unknown, unknown]): entry is readonly [string, string] =>
    typeof entry[0] === 'string' && typeof entry[1] === 'string'
  if (Array.isArray(given) && named.every(isNamed)) return new Map(named)
  throw invalidFile(join(folder, name), 'chat_template; expected a text or a list of {name, template}')
}

function readObject(folder: string, name: string): JsonObject {
  const path = join(folder, name)
  const text = readText(path)
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) return value
  } catch (error) {
    throw invalidFile(path, `it is no JSON, or cut (${(error as Error).message})`, error)
  }
  throw invalidFile(path, 'it is no JSON object')
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const { code } = cause as { code?: unknown }
    const isAbsent = code === 'ENOENT' || code === 'ENOTDIR'
    const reason = isAbsent ? 'there is no such file' : `it cannot be read (${(cause as Error).message})`
    throw new PromptError('PROMPT_TOKENIZER_MISSING', `${path}: ${reason}`, {
      cause,
      details: { file: path },
    })
  }
}

function invalidFile(path: string, what: string, cause?: unknown): PromptError {
  return new PromptError('PROMPT_TOKENIZER_INVALID', `${path}: ${what}`, { cause, details: { file: path } })
}
