import type { z } from 'zod'
import { answerId, nowSeconds, usageOf } from './answers.js'
import { badRequest } from './api-error.js'
import { embeddingBody, parseBody, rerankBody, scoreBody } from './bodies.js'
import type { Exchange } from './exchange.js'
import { type EnginePrompt, generateUnits } from './generation.js'
import { emptyPlan } from './plan.js'
import {
  type PromptTokens,
  type RunFields,
  checkGenerations,
  conversationPrompt,
  encodedText,
  enginePrompt,
  listedPrompts,
  outputRoom,
} from './prompts.js'
import type { ServerHost } from './server-host.js'

/** `POST /v1/embeddings`. */
export async function answerEmbeddings(host: ServerHost, exchange: Exchange, given: unknown): Promise<void> {
  const body = parseBody(embeddingBody, given, exchange.request.shape)
  const { answer, vectors } = await pooled(host, exchange, body, body.dimensions ?? undefined)
  exchange.send(200, {
    id: answerId(host, exchange, 'embd-'),
    ...answer,
    data: vectors.map((vector, index) => ({
      index,
      object: 'embedding',
      embedding: body.encoding_format === 'base64' ? base64Of(vector) : vector,
    })),
  })
}

/** `POST /pooling`. */
export async function answerPooling(host: ServerHost, exchange: Exchange, given: unknown): Promise<void> {
  const body = parseBody(embeddingBody, given, exchange.request.shape)
  const { answer, vectors } = await pooled(host, exchange, body, body.dimensions ?? undefined)
  exchange.send(200, {
    id: answerId(host, exchange, 'pool-'),
    ...answer,
    data: vectors.map((vector, index) => ({
      index,
      object: 'pooling',
      data: body.encoding_format === 'base64' ? base64Of(vector) : vector,
    })),
  })
}

/** `POST /score`: one text against each of many, or pair by pair. */
export async function answerScore(host: ServerHost, exchange: Exchange, given: unknown): Promise<void> {
  const body = parseBody(scoreBody, given, exchange.request.shape)
  const firsts = typeof body.text_1 === 'string' ? [body.text_1] : body.text_1
  const seconds = typeof body.text_2 === 'string' ? [body.text_2] : body.text_2
  if (firsts.length !== 1 && firsts.length !== seconds.length)
    throw badRequest('Input lengths must be either 1:1, 1:N or N:N', 'text_1')
  if (firsts.length === 0 || seconds.length === 0)
    throw badRequest('At least one text element must be given', 'text_2')
  const pairs = seconds.map((second, index) => [firsts[firsts.length === 1 ? 0 : index]!, second] as const)
  const { answer, scores } = await scored(host, exchange, body, pairs)
  exchange.send(200, {
    id: answerId(host, exchange, 'score-'),
    ...answer,
    data: scores.map((score, index) => ({ index, object: 'score', score })),
  })
}

/** `POST /rerank`: the documents by how near they are to the query. */
export async function answerRerank(host: ServerHost, exchange: Exchange, given: unknown): Promise<void> {
  const body = parseBody(rerankBody, given, exchange.request.shape)
  if (body.documents.length === 0) throw badRequest('documents: at least one is needed', 'documents')
  const pairs = body.documents.map((document) => [body.query, document] as const)
  const { answer, scores } = await scored(host, exchange, body, pairs)
  const results = body.documents
    .map((text, index) => ({ index, document: { text, multi_modal: null }, relevance_score: scores[index]! }))
    .sort((one, other) => other.relevance_score - one.relevance_score)
  const { top_n: asked } = body
  const kept = asked === undefined || asked === null || asked <= 0 ? results.length : asked
  exchange.send(200, {
    id: answerId(host, exchange, 'rerank-'),
    model: answer.model,
    usage: { prompt_tokens: answer.usage.prompt_tokens, total_tokens: answer.usage.total_tokens },
    results: results.slice(0, kept),
  })
}

type EmbeddingBody = z.infer<typeof embeddingBody>

async function pooled(
  host: ServerHost,
  exchange: Exchange,
  body: EmbeddingBody,
  dimensions: number | undefined,
) {
  const largest = host.settings.embeddingDimensions
  if ((dimensions ?? 1) > largest)
    throw badRequest(`dimensions: got ${dimensions}, accepted: 1 to ${largest}`, 'dimensions')
  const given = promptsOf(host, body)
  const { answer, prompts } = await read(host, exchange, body, given)
  const vectors = prompts.map(({ promptTokens }) => vectorOf(promptTokens, dimensions ?? largest))
  return { answer, vectors }
}

function promptsOf(host: ServerHost, body: EmbeddingBody): PromptTokens[] {
  const { input, messages } = body
  if (messages !== undefined && messages !== null)
    return [
      conversationPrompt(host, {
        ...body,
        messages,
        add_generation_prompt: body.add_generation_prompt ?? false,
      }),
    ]
  if (input === undefined || input === null) throw badRequest('input: missing', 'input')
  return listedPrompts(host, input, body.add_special_tokens ?? true, body)
}

async function scored(
  host: ServerHost,
  exchange: Exchange,
  body: RunFields & { readonly model?: string | null | undefined },
  pairs: readonly (readonly [string, string])[],
) {
  const { model } = host.engine
  checkGenerations(pairs.length)
  const given = pairs.map(([one, other]) => ({
    promptTokens: encodedText(host, `${one}\n${other}`, true, body),
  }))
  const { answer } = await read(host, exchange, body, given)
  const nearness = ([one, other]: readonly [string, string]) => {
    const vectors = [one, other].map((text) =>
      vectorOf(model.encode(text, false), host.settings.embeddingDimensions),
    )
    const dot = vectors[0]!.reduce((sum, value, at) => sum + value * vectors[1]![at]!, 0)
    return Math.min(1, Math.max(0, (dot + 1) / 2))
  }
  return { answer, scores: pairs.map(nearness) }
}

/** Runs prompts that nothing is said to. */
async function read(
  host: ServerHost,
  exchange: Exchange,
  body: RunFields & { readonly model?: string | null | undefined },
  given: readonly PromptTokens[],
) {
  const served = host.models.find(body.model)
  const prompts: EnginePrompt[] = given.map((prompt) => enginePrompt(host, exchange, prompt, served, body))
  for (const { promptTokens } of prompts) outputRoom(host, promptTokens.length, undefined)
  const cached = await generateUnits(
    host,
    exchange,
    prompts.map((prompt) => ({ prompt, plan: emptyPlan })),
  )
  const promptTokens = prompts.reduce((sum, prompt) => sum + prompt.promptTokens.length, 0)
  const cachedTokens = cached.reduce((sum, tokens) => sum + tokens, 0)
  const usage = usageOf(host, promptTokens, 0, cachedTokens)
  return { prompts, answer: { object: 'list' as const, created: nowSeconds(), model: served.name, usage } }
}

/** A vector of length 1 that follows from the tokens: those that share many are near to each other. */
function vectorOf(tokens: Uint32Array, dimensions: number): number[] {
  const sums = new Float64Array(dimensions)
  for (const token of tokens)
    for (let at = 0; at < dimensions; at++) {
      const mixed = Math.imul(token + 1, 0x9e3779b1) ^ Math.imul(at + 1, 0x85ebca6b)
      sums[at]! += (Math.imul(mixed ^ (mixed >>> 15), 0xc2b2ae35) >>> 0) / 2 ** 31 - 1
    }
  const norm = Math.hypot(...sums) || 1
  return Array.from(sums, (sum) => Math.fround(sum / norm))
}

/** Little-endian 32-bit floats. */
function base64Of(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4)
  vector.forEach((value, at) => bytes.writeFloatLE(value, at * 4))
  return bytes.toString('base64')
}
