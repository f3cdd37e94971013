import { type JsonObject, isObject } from './json-objects.js'

/** What a request that is hashed from nothing asks its engine to read. */
export interface CountedTexts {
  readonly texts: readonly string[]
  /** Tokens that stand in it as ids. */
  readonly tokens: number
}

/**
 * The texts of a request whose tokens count for the load alone: inputs of embeddings and pooling, a query once with each of its
 * documents, both sides of scores, prompts to tokenize, the texts of messages.
 */
export function countedTexts(endpoint: string, body: JsonObject): CountedTexts {
  if (endpoint === 'detokenize') return inputs(body['tokens'])
  if (endpoint === 'rerank') return pairs(body['query'], body['documents'])
  if (endpoint === 'score')
    return pairs(
      body['text_1'] ?? body['queries'] ?? body['data_1'],
      body['text_2'] ?? body['documents'] ?? body['items'] ?? body['data_2'],
    )
  if (body['messages'] !== undefined) return { texts: textsIn([body['system'], body['messages']]), tokens: 0 }
  return inputs(body['input'] ?? body['prompt'])
}

function inputs(given: unknown): CountedTexts {
  const list = Array.isArray(given) ? given : [given]
  const tokens = list.flat().filter((item) => typeof item === 'number').length
  return { texts: textsIn(list), tokens }
}

/** Each of one side with its partner; a single one with every one of the other side. */
function pairs(left: unknown, right: unknown): CountedTexts {
  const [first, second] = [left, right].map((side) => textsIn(Array.isArray(side) ? side : [side])) as [
    string[],
    string[],
  ]
  const count = Math.max(first.length, second.length)
  const spread = (side: string[]): string[] =>
    side.length === 1 ? Array.from({ length: count }, () => side[0]!) : side
  return { texts: [...spread(first), ...spread(second)], tokens: 0 }
}

/** Texts at any depth: bare ones, and those of parts, documents and messages. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value]
  if (Array.isArray(value)) return value.flatMap(textsIn)
  return isObject(value) ? textsIn([value['text'], value['content']]) : []
}
