import { isAscii } from 'node:buffer'
import { join } from 'node:path'
import type { PromptEndpoint } from '../endpoint.js'
import { PromptError } from '../errors.js'
import {
  conversationOf,
  responsesMessages,
  responsesTools,
  templateTools,
  upToFinalMessage,
} from './conversation.js'
import { countedTexts } from './counted-texts.js'
import { mayBeInexact, parseExactJson } from './exact-json.js'
import { type JsonObject, invalidField, isObject, listOf } from './json-objects.js'
import { SegmentTokenizer } from './segment-tokenizer.js'
import { type SpecialFrame, specialFrameOf } from './special-tokens.js'
import type { ChatTemplate, RenderOptions } from './template/chat-template.js'
import { TextCuts } from './text-cuts.js'
import type { TokenizedPrompt } from './tokenized-prompt.js'
import { type TokenizerFiles, readTokenizerFiles, vocabularySizeOf } from './tokenizer-files.js'
import { libraryTokenizer } from './tokenizer-library.js'

// A template may make much of a little: white space for what is nested deeply. So many characters it may write for each byte of the body,
// and so many of its own.
const charactersPerByte = 4
const ownCharacters = 65_536

/** How a tokenizer is used. */
export interface PromptTokenizerOptions {
  /** Bound of what the cache of segments holds, in bytes. Default 64 MiB; 0 = no cache. */
  readonly cacheBytes?: number | undefined
  /**
   * A rendered prompt may have so many characters (UTF-16 units), and never more than four for each byte of its body and 64 Ki beside.
   * Default 64 Mi.
   */
  readonly maxTextCharacters?: number | undefined
  /** The clock of templates that print the date. Default: the system's. */
  readonly now?: (() => Date) | undefined
}

/**
 * Turns bodies into token ids as an engine would, from a local Hugging Face folder. All calls are synchronous and take the time of
 * tokenization, so it belongs into a worker thread. Its memory is the vocabulary (some 50 MB for 150 k tokens, twice that while it
 * loads), the cache of segments and one prompt.
 */
export class PromptTokenizer {
  /** Why prompts are tokenized as a whole each time; undefined = they are cut at added tokens, and the parts cached. */
  readonly wholeReason: string | undefined
  /** One more than the largest token id. */
  readonly vocabularySize: number
  readonly #folder: string
  readonly #files: Pick<TokenizerFiles, 'templates' | 'specialTokens'>
  readonly #segments: SegmentTokenizer
  readonly #frame: SpecialFrame
  readonly #maximumCharacters: number
  readonly #now: () => Date

  private constructor(folder: string, options: PromptTokenizerOptions) {
    const cacheBytes = wholeOption('cacheBytes', options.cacheBytes)
    this.#maximumCharacters = wholeOption('maxTextCharacters', options.maxTextCharacters)
    this.#now = options.now ?? (() => new Date())
    const files = readTokenizerFiles(folder)
    const { tokenizer, config, addedTokens, specialTokens, templates } = files
    this.#folder = folder
    this.#files = { templates, specialTokens }
    this.vocabularySize = vocabularySizeOf(files)
    try {
      this.#frame = specialFrameOf(tokenizer['post_processor'], config, specialTokens, addedTokens)
      const cuts = new TextCuts({ ...config, addedTokens, normalizer: tokenizer['normalizer'] })
      this.#segments = new SegmentTokenizer(libraryTokenizer(tokenizer, config), cuts, cacheBytes)
      this.wholeReason = cuts.wholeReason
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      const file = join(folder, 'tokenizer.json')
      const message = `${file}: it cannot be used (${reason})`
      throw new PromptError('PROMPT_TOKENIZER_INVALID', message, { cause, details: { file } })
    }
  }

  /**
   * Reads `tokenizer.json`, `tokenizer_config.json` and the chat template of a folder; without a template it still serves string
   * prompts. Takes some 400 ms for 150 k tokens. Throws `PROMPT_OPTION_INVALID`,
   * `PROMPT_TOKENIZER_MISSING`, `PROMPT_TOKENIZER_INVALID`.
   */
  static load(folder: string, options: PromptTokenizerOptions = {}): PromptTokenizer {
    return new PromptTokenizer(folder, options)
  }

  /** Bytes that the cache of segments holds. */
  get cachedBytes(): number {
    return this.#segments.cachedBytes
  }

  /** Segments in the cache. */
  get cachedSegments(): number {
    return this.#segments.cachedSegments
  }

  /**
   * The tokens of a body, which must be JSON. Endpoints that are hashed from nothing give no `tokens`, only how many there are.
   * Throws `PROMPT_BODY_INVALID` where there is no prompt to read, `PROMPT_TEMPLATE_FAILED`, `PROMPT_TOKENIZER_MISSING` for a chat
   * without a template, `PROMPT_TOKENIZATION_FAILED`. A failed read leaves nothing behind.
   */
  read(endpoint: PromptEndpoint, body: Uint8Array): TokenizedPrompt {
    const object = parseBody(body)
    if (endpoint === 'completions') return this.#readPrompts(object)
    const most = Math.min(this.#maximumCharacters, charactersPerByte * body.length + ownCharacters)
    if (endpoint === 'chat') return this.#readChat(object, object['messages'], object['tools'], most)
    if (endpoint === 'responses')
      return this.#readChat(object, responsesMessages(object), responsesTools(object['tools']), most)
    return this.#count(endpoint, object, most)
  }

  #readPrompts(body: JsonObject): TokenizedPrompt {
    const { prompt } = body
    const prompts = Array.isArray(prompt) ? prompt : [prompt]
    if (prompts.length === 0 || !prompts.every((item) => typeof item === 'string'))
      throw invalidField('prompt', prompt, 'a text or a list of texts')
    const isFramed = body['add_special_tokens'] !== false
    let first: TokenizedPrompt | undefined
    let allTokens = 0
    for (const text of prompts) {
      const read = this.#tokenize(text, isFramed, body['truncate_prompt_tokens'])
      allTokens += read.tokens.length
      first ??= read
    }
    return { ...first!, allTokens }
  }

  #readChat(
    body: JsonObject,
    given: unknown,
    givenTools: unknown,
    maximumCharacters: number,
  ): TokenizedPrompt {
    const template = this.#templateFor(givenTools)
    const variables = this.#variablesOf(body, templateTools(givenTools))
    const isContinued = variables['continue_final_message'] === true
    const { messages, markedMessages, finalText } = conversationOf(given, template.contentFormat, isContinued)
    const rendering = { maximumCharacters, now: this.#now }
    const rendered = textOf(template, { ...variables, messages }, rendering, finalText)
    const isFramed = body['add_special_tokens'] === true
    const limit = body['truncate_prompt_tokens']
    if (markedMessages === undefined) return this.#tokenize(rendered, isFramed, limit)
    const marked = textOf(template, { ...variables, messages: markedMessages }, rendering, finalText)
    return this.#tokenize(rendered, isFramed, limit, commonLength(rendered, marked))
  }

  #templateFor(tools: unknown): ChatTemplate {
    const { templates } = this.#files
    const hasTools = tools !== undefined && tools !== null
    const template = (hasTools ? templates.get('tool_use') : undefined) ?? templates.get('default')
    if (template === undefined)
      throw new PromptError(
        'PROMPT_TOKENIZER_MISSING',
        `${this.#folder}: it has no chat template; expected chat_template.jinja, chat_template.json or chat_template in tokenizer_config.json`,
        { details: { file: this.#folder } },
      )
    if (PromptError.isInstance(template)) throw template
    return template
  }

  #variablesOf(body: JsonObject, tools: unknown): JsonObject {
    const { documents, chat_template_kwargs: others, reasoning_effort: effort } = body
    const isContinued = body['continue_final_message'] === true
    return {
      ...this.#files.specialTokens,
      tools,
      documents: documents ?? null,
      add_generation_prompt: body['add_generation_prompt'] !== false && !isContinued,
      continue_final_message: isContinued,
      reasoning_effort: effort ?? undefined,
      ...(isObject(others) ? others : {}),
    }
  }

  /** `exactCharacters` of the text are certain, all by default. */
  #tokenize(text: string, isFramed: boolean, limit: unknown, exactCharacters = text.length): TokenizedPrompt {
    const { before, after } = isFramed ? this.#frame : { before: [], after: [] }
    const read = this.#segments.tokenize(text, before, after, exactCharacters)
    const { ids, exactTokens } = read
    const facts = { reusedTokens: read.reusedTokens, isWhole: this.wholeReason !== undefined }
    if (!isCount(limit) || limit >= ids.length)
      return { tokens: ids, exactTokens, allTokens: ids.length, ...facts }
    // What is cut off depends on the number of tokens, which with media nobody knows.
    const tokens = truncated(ids, limit, before.length, after.length)
    return { tokens, exactTokens: exactTokens === ids.length ? limit : 0, allTokens: limit, ...facts }
  }

  #count(endpoint: PromptEndpoint, body: JsonObject, maximumCharacters: number): TokenizedPrompt {
    const isWhole = this.wholeReason !== undefined
    if (endpoint === 'tokenize' && body['messages'] !== undefined) {
      const { allTokens, reusedTokens } = this.#readChat(
        body,
        body['messages'],
        body['tools'],
        maximumCharacters,
      )
      return { tokens: new Uint32Array(0), exactTokens: 0, allTokens, reusedTokens, isWhole }
    }
    const { texts, tokens } = countedTexts(endpoint, body)
    const isFramed = body['add_special_tokens'] !== false
    let allTokens = tokens
    let reusedTokens = 0
    for (const text of texts) {
      const read = this.#tokenize(text, isFramed, body['truncate_prompt_tokens'])
      allTokens += read.allTokens
      reusedTokens += read.reusedTokens
    }
    return { tokens: new Uint32Array(0), exactTokens: 0, allTokens, reusedTokens, isWhole }
  }
}

/** @param finalText where the final message is to be continued */
function textOf(
  template: ChatTemplate,
  variables: JsonObject,
  rendering: RenderOptions,
  finalText: string | undefined,
): string {
  const rendered = template.render(variables, rendering)
  if (finalText === undefined) return rendered
  const continued = upToFinalMessage(rendered, finalText)
  if (continued !== undefined) return continued
  throw new PromptError(
    'PROMPT_TEMPLATE_FAILED',
    'continue_final_message: the chat template changed the final message, so its end cannot be found',
  )
}

function wholeOption(name: 'cacheBytes' | 'maxTextCharacters', given: number | undefined): number {
  const value = given ?? 67_108_864
  if (isCount(value)) return value
  const message = `option ${name} is ${String(value)}; accepted: whole numbers from 0 on`
  throw new PromptError('PROMPT_OPTION_INVALID', message, { details: { key: name, value } })
}

function parseBody(body: Uint8Array): JsonObject {
  let value: unknown
  try {
    const text = decode(body)
    value = JSON.parse(text)
    if (isObject(value) && losesExactness(value)) value = parseExactJson(text)
  } catch (cause) {
    const message = `body: it is no JSON, or nested too deeply (${cause instanceof Error ? cause.message : String(cause)})`
    throw new PromptError('PROMPT_BODY_INVALID', message, { cause, details: { key: 'body' } })
  }
  if (isObject(value)) return value
  throw invalidField('body', value, 'an object')
}

/** Whether what templates print as JSON may have lost something in `JSON.parse`. */
function losesExactness({ tools, documents, chat_template_kwargs: others, messages }: JsonObject): boolean {
  const calls = listOf(messages).map((message) => (isObject(message) ? message['tool_calls'] : undefined))
  return mayBeInexact([tools, documents, others, calls])
}

/** Bytes that are not UTF-8 become U+FFFD. */
function decode(body: Uint8Array): string {
  // Several times as fast where it is allowed.
  if (isAscii(body)) return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1')
  return new TextDecoder().decode(body)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

/** The last tokens of the text; what was put before and after it stays and counts, as where the engine's tokenizer truncates. */
function truncated(ids: Uint32Array, limit: number, before: number, after: number): Uint32Array {
  if (limit <= before + after) return ids.slice(ids.length - limit)
  const tokens = ids.slice(ids.length - limit)
  tokens.set(ids.subarray(0, before))
  return tokens
}

/** Characters that two texts have in common at their start. */
function commonLength(left: string, right: string): number {
  const length = Math.min(left.length, right.length)
  let common = 0
  while (common < length && left.charCodeAt(common) === right.charCodeAt(common)) common++
  return common
}
