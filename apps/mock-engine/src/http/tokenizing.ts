import { badRequest } from './api-error.js'
import { detokenizeBody, parseBody, tokenizeBody } from './bodies.js'
import type { Exchange } from './exchange.js'
import { conversationPrompt, encodedText } from './prompts.js'
import type { ServerHost } from './server-host.js'

/** Need not fit into the context. */
const counted = { truncate_prompt_tokens: -1 }

/** `POST /tokenize`: of a text or of a conversation. */
export function answerTokenize(host: ServerHost, exchange: Exchange, given: unknown): void {
  const body = parseBody(tokenizeBody, given, exchange.request.shape)
  host.models.find(body.model)
  const { model, maxModelTokens } = host.engine
  const { messages, prompt } = body
  let tokens: Uint32Array
  if (messages !== undefined && messages !== null)
    tokens = conversationPrompt(host, { ...body, messages, ...counted }).promptTokens
  else if (typeof prompt === 'string')
    tokens = encodedText(host, prompt, body.add_special_tokens ?? true, counted)
  else throw badRequest('prompt or messages: one of them is needed', 'prompt')
  exchange.send(200, {
    count: tokens.length,
    max_model_len: maxModelTokens,
    tokens: [...tokens],
    token_strs:
      body.return_token_strs === true
        ? Array.from(tokens, (token) => model.decode(Uint32Array.of(token)))
        : null,
  })
}

/** `POST /detokenize`. */
export function answerDetokenize(host: ServerHost, exchange: Exchange, given: unknown): void {
  const body = parseBody(detokenizeBody, given, exchange.request.shape)
  host.models.find(body.model)
  const { model } = host.engine
  const unknown = body.tokens.find((token) => token >= model.vocabularySize)
  if (unknown !== undefined) throw badRequest(`Token id ${unknown} is out of vocabulary`, 'tokens')
  exchange.send(200, { prompt: model.decode(Uint32Array.from(body.tokens)) })
}
