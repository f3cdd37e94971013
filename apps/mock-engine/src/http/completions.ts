import type { z } from 'zod'
import { answerId, nowSeconds, planAnswer, usageOf } from './answers.js'
import { badRequest } from './api-error.js'
import { completionBody, parseBody } from './bodies.js'
import { checkStreamOptions, usageWithoutDetails } from './chat.js'
import type { Exchange } from './exchange.js'
import { type Unit, generateUnits } from './generation.js'
import { checkLogprobs, completionLogprobs } from './logprobs.js'
import { emptyPlan } from './plan.js'
import { checkGenerations, enginePrompt, listedPrompts, outputRoom } from './prompts.js'
import type { ServerHost } from './server-host.js'
import { structuredText } from './structured.js'

type CompletionBody = z.infer<typeof completionBody>

/** One choice that the client gets. */
interface Choice extends Unit {
  readonly index: number
  readonly promptIndex: number
}

interface Completion {
  readonly body: CompletionBody
  readonly id: string
  readonly model: string
  readonly created: number
  /** `perPrompt` for each prompt, in turn; with `best_of` only the first `kept` of a prompt are given back. */
  readonly units: readonly Unit[]
  readonly perPrompt: number
  readonly kept: number
}

/** `POST /v1/completions`. */
export async function answerCompletion(host: ServerHost, exchange: Exchange, given: unknown): Promise<void> {
  const body = parseBody(completionBody, given, exchange.request.shape)
  const completion = prepareCompletion(host, exchange, body)
  if (body.stream === true) await streamCompletion(host, exchange, completion)
  else {
    const cached = await generateUnits(host, exchange, completion.units)
    exchange.send(200, wholeCompletion(host, completion, cached))
  }
}

function prepareCompletion(host: ServerHost, exchange: Exchange, body: CompletionBody): Completion {
  const served = host.models.find(body.model)
  if (typeof body.suffix === 'string') throw badRequest('suffix is not currently supported', 'suffix')
  checkLogprobs(body.logprobs, host.settings.maxLogprobs)
  checkStreamOptions(body)
  const kept = body.n ?? 1
  const perPrompt = body.best_of ?? kept
  if (perPrompt < kept)
    throw badRequest(
      `best_of must be greater than or equal to n, got n=${kept} and best_of=${perPrompt}.`,
      'best_of',
    )
  if (body.stream === true && perPrompt > kept)
    throw badRequest('best_of cannot be combined with stream', 'best_of')
  const asked = body.max_tokens ?? 16
  const onlyEchoes = body.echo === true && asked === 0
  if (asked === 0 && !onlyEchoes) throw badRequest('max_tokens must be at least 1, got 0.', 'max_tokens')
  const fixed = structuredText(body)
  const prompts = listedPrompts(host, body.prompt, body.add_special_tokens ?? true, body)
  checkGenerations(prompts.length * perPrompt)
  const units = prompts.flatMap((given) => {
    const prompt = enginePrompt(host, exchange, given, served, body)
    const room = outputRoom(host, prompt.promptTokens.length, asked)
    return Array.from({ length: perPrompt }, (_, choice) => ({
      prompt,
      plan: onlyEchoes
        ? { ...emptyPlan, finishReason: 'length' as const }
        : planAnswer(host, prompt.promptTokens, room, body, fixed, choice),
    }))
  })
  const id = answerId(host, exchange, 'cmpl-', body.request_id)
  return { body, id, model: served.name, created: nowSeconds(), units, perPrompt, kept }
}

/** What the client gets, prompt by prompt. */
function choicesOf({ units, perPrompt, kept }: Completion): Choice[] {
  return units
    .map((unit, index) => ({ ...unit, promptIndex: Math.floor(index / perPrompt), place: index % perPrompt }))
    .filter(({ place }) => place < kept)
    .map((unit, index) => ({ ...unit, index }))
}

function wholeCompletion(host: ServerHost, completion: Completion, cached: readonly number[]): object {
  const { body, id, model, created } = completion
  return {
    id,
    object: 'text_completion',
    created,
    model,
    choices: choicesOf(completion).map(({ index, prompt, plan }) => {
      const echoed = body.echo === true ? host.engine.model.decode(prompt.promptTokens) : ''
      return {
        index,
        text: echoed + plan.pieces.join(''),
        logprobs: logprobsOf(host, body, prompt.promptTokens, plan.tokens, echoed.length),
        finish_reason: plan.finishReason,
        stop_reason: plan.stopReason,
        token_ids: body.return_token_ids === true ? [...plan.tokens] : null,
        prompt_logprobs: null,
        prompt_token_ids: body.return_token_ids === true ? [...prompt.promptTokens] : null,
      }
    }),
    service_tier: null,
    system_fingerprint: null,
    usage: usage(host, completion, cached),
    kv_transfer_params: null,
  }
}

function logprobsOf(
  host: ServerHost,
  body: CompletionBody,
  promptTokens: Uint32Array,
  tokens: Uint32Array,
  offset: number,
): object | null {
  if (body.logprobs === undefined || body.logprobs === null) return null
  const { model } = host.engine
  const said = completionLogprobs(model, tokens, body.logprobs, offset, false)
  if (body.echo !== true) return said
  const prompt = completionLogprobs(model, promptTokens, body.logprobs, 0, true)
  return {
    text_offset: [...prompt.text_offset, ...said.text_offset],
    token_logprobs: [...prompt.token_logprobs, ...said.token_logprobs],
    tokens: [...prompt.tokens, ...said.tokens],
    top_logprobs: [...prompt.top_logprobs, ...said.top_logprobs],
  }
}

function usage(host: ServerHost, completion: Completion, cached: readonly number[]): object {
  const { units, perPrompt } = completion
  const firsts = units.map((_, index) => index).filter((index) => index % perPrompt === 0)
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
  return usageOf(
    host,
    sum(firsts.map((index) => units[index]!.prompt.promptTokens.length)),
    sum(units.map(({ plan }) => plan.tokens.length)),
    sum(firsts.map((index) => cached[index]!)),
  )
}

async function streamCompletion(host: ServerHost, exchange: Exchange, completion: Completion): Promise<void> {
  const { body, id, model, created, units } = completion
  const choices = choicesOf(completion)
  const options = body.stream_options
  const generated = units.map(() => 0)
  const offsets = units.map(() => 0)
  const stream = exchange.openStream()
  const writeChunk = (chunkChoices: readonly object[], more: object = {}) => {
    const chunk = {
      id,
      object: 'text_completion',
      created,
      model,
      choices: chunkChoices,
      usage: null,
      ...more,
    }
    stream.write(`data: ${JSON.stringify(chunk)}\n\n`)
  }
  const echoed = new Set<number>()
  const write = (unit: number, token: number | undefined) => {
    const { prompt, plan, index } = choices[unit]!
    const isFirst = !echoed.has(unit)
    echoed.add(unit)
    const repeated = isFirst && body.echo === true ? host.engine.model.decode(prompt.promptTokens) : ''
    const tokens = token === undefined ? new Uint32Array() : plan.tokens.subarray(token, token + 1)
    const text = repeated + (token === undefined ? '' : plan.pieces[token]!)
    const isEnd = token === undefined || (plan.finishReason === 'length' && token === plan.tokens.length - 1)
    const known = isFirst && body.echo === true
    const offset = offsets[unit]! + repeated.length
    offsets[unit]! += text.length
    const stats =
      options?.continuous_usage_stats === true && options.include_usage === true
        ? { usage: usageWithoutDetails(prompt.promptTokens.length, generated[unit]!) }
        : {}
    const choice = {
      index,
      text,
      logprobs: logprobsOf(
        host,
        known ? body : { ...body, echo: false },
        prompt.promptTokens,
        tokens,
        offset,
      ),
      finish_reason: isEnd ? plan.finishReason : null,
      stop_reason: isEnd ? plan.stopReason : null,
      prompt_token_ids: body.return_token_ids === true && isFirst ? [...prompt.promptTokens] : null,
      token_ids: body.return_token_ids === true ? [...tokens] : null,
    }
    writeChunk([choice], stats)
  }
  const cached = await generateUnits(host, exchange, units, {
    onToken: (unit, token) => {
      generated[unit]!++
      write(unit, token)
    },
    onEnd: (unit) => {
      const { plan } = units[unit]!
      if (plan.finishReason === 'stop' || plan.tokens.length === 0) write(unit, undefined)
    },
  })
  if (options?.include_usage === true) writeChunk([], { usage: usage(host, completion, cached) })
  stream.write('data: [DONE]\n\n')
  stream.end()
}
