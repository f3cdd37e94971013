import { writeConversation, writeText } from '../content/prompt-text.js'
import { TextCount } from '../content/text-count.js'
import type { PromptEndpoint } from '../endpoint.js'
import type { BodyReading, PromptRoute } from './body-reading.js'
import { type JsonView, absent } from './json-view.js'
import { countIds, idsAt, promptListAt } from './prompt-list.js'

/** Where prompts that are no conversation stand. */
const promptFields: Partial<Record<PromptEndpoint, readonly string[]>> = {
  completions: ['prompt'],
  embeddings: ['input'],
  rerank: ['query', 'documents'],
  score: ['text_1', 'text_2', 'query', 'queries', 'documents', 'items', 'data_1', 'data_2'],
  pooling: ['input'],
  tokenize: ['prompt'],
  detokenize: ['tokens'],
}

/** Requests that may bring the ids of their prompt in `nvext.token_data`. */
const generating: ReadonlySet<PromptEndpoint> = new Set(['chat', 'completions', 'responses', 'messages'])

// What vLLM allows.
const mostDecodes = 16_384

/** Reads the body of every endpoint but `selection`; its root is an object. Throws `PROMPT_TOKEN_INVALID`. */
export function readRequest(view: JsonView, endpoint: PromptEndpoint, countsNvext: boolean): BodyReading {
  const nvext = countsNvext ? view.find(0, 'nvext') : absent
  const truncateTokens = atLeastOne(view.wholeNumber(view.find(0, 'truncate_prompt_tokens')))
  const previousResponseId =
    endpoint === 'responses' ? notEmpty(view.text(view.find(0, 'previous_response_id'))) : undefined
  const count = new TextCount(view.tape)
  const hasConversation = writeConversation(view, endpoint, count)
  const hasOwnTemplate = endpoint === 'chat' && bringsTemplate(view)

  const given = generating.has(endpoint) ? givenIds(view, nvext) : undefined
  const prompts = given === undefined ? readPrompts(view, endpoint, count, truncateTokens) : undefined
  const ids = given ?? prompts?.firstIds
  const tokens = ids === undefined ? undefined : lastOf(ids, truncateTokens)
  const routeOfText = (): PromptRoute => {
    if (endpoint === 'completions') return prompts?.hasText === true ? 'tokenize' : 'nothing'
    if (!hasConversation) return 'nothing'
    if (endpoint === 'messages' || hasOwnTemplate || previousResponseId !== undefined) return 'content'
    return endpoint === 'chat' || endpoint === 'responses' ? 'tokenize' : 'nothing'
  }
  return {
    endpoint,
    route: tokens === undefined ? routeOfText() : 'tokens',
    model: notEmpty(view.text(view.find(0, 'model'))),
    tokens,
    hashes: undefined,
    objectsByBlock: undefined,
    allTokens: given === undefined ? prompts?.allTokens : tokens?.length,
    prompts: prompts?.count ?? 1,
    mediaParts: count.mediaParts,
    mediaSpans: count.mediaSpans,
    hasOwnTemplate,
    decodes: decodesOf(view),
    truncateTokens,
    cacheSalt:
      notEmpty(view.text(view.find(nvext, 'cache_salt'))) ?? notEmpty(view.text(view.find(0, 'cache_salt'))),
    loraName: undefined,
    isEagle: undefined,
    previousResponseId,
    textBytes: tokens === undefined ? count.bytes : 0,
  }
}

interface Prompts {
  /** Of a generating request. */
  readonly firstIds: Uint32Array | undefined
  readonly hasText: boolean
  readonly allTokens: number | undefined
  readonly count: number
}

function readPrompts(
  view: JsonView,
  endpoint: PromptEndpoint,
  count: TextCount,
  truncateTokens = Infinity,
): Prompts | undefined {
  let firstIds: Uint32Array | undefined
  let hasText = false
  let areIds = true
  let tokens = 0
  let prompts = 0
  for (const name of promptFields[endpoint] ?? []) {
    const node = view.find(0, name)
    if (node === absent) continue
    const { kind, nodes } = promptListAt(view, node, name)
    prompts = Math.max(prompts, nodes.length)
    if (kind === 'texts') hasText = true
    if (kind !== 'ids') areIds = false
    for (const prompt of nodes) {
      // Of an object the whole counts, its keys too.
      if (kind === 'ids') tokens += Math.min(truncateTokens, countIds(view, prompt))
      else if (view.isText(prompt)) writeText(view, prompt, count)
      else count.copy(view.bytes, view.tape.start(prompt), view.tape.end(prompt))
    }
    if (kind === 'ids' && endpoint === 'completions') firstIds = idsAt(view, nodes[0]!, name)
  }
  if (prompts === 0) return undefined
  return { firstIds, hasText, allTokens: areIds ? tokens : undefined, count: prompts }
}

/** An empty list is as good as none: no conversation has no tokens. */
function givenIds(view: JsonView, nvext: number): Uint32Array | undefined {
  const node = view.find(nvext, 'token_data')
  const ids = node === absent ? undefined : idsAt(view, node, 'nvext.token_data')
  return ids?.length === 0 ? undefined : ids
}

/** An engine that truncates keeps the last tokens. */
function lastOf(ids: Uint32Array, truncateTokens = Infinity): Uint32Array {
  return ids.length > truncateTokens ? ids.slice(ids.length - truncateTokens) : ids
}

/** Engines take a template from the body itself and from the variables of the template. */
function bringsTemplate(view: JsonView): boolean {
  return [0, view.find(0, 'chat_template_kwargs')].some((node) => {
    return notEmpty(view.text(view.find(node, 'chat_template'))) !== undefined
  })
}

function decodesOf(view: JsonView): number {
  const asked = ['n', 'best_of'].map((name) => view.wholeNumber(view.find(0, name)) ?? 1)
  return Math.min(mostDecodes, Math.max(1, ...asked))
}

function atLeastOne(value: number | undefined): number | undefined {
  return value === undefined || value < 1 ? undefined : value
}

/** Empty equals absent. */
export function notEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}
