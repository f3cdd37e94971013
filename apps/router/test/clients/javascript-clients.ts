import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import Anthropic from '@anthropic-ai/sdk'
import type { UsageMetadata } from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import { APICallError, type ToolSet, generateText, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { expect } from 'vitest'
import { z } from 'zod'

/** Where a client sends its requests, and for what model. */
export interface Target {
  readonly url: string
  readonly apiKey?: string
  readonly model?: string
  /** What the client says; another text is another prompt. */
  readonly content: string
}

/** An answer, as a client gave it. */
export interface Told {
  readonly text: string
  readonly promptTokens: number
  /** Of the prompt. */
  readonly cachedTokens: number
  readonly outputTokens: number
}

/** An official client, reduced to what all of them can do. None tries a request again. */
export interface Client {
  readonly name: string
  chat(target: Target): Promise<Told>
  stream(target: Target): Promise<Told>
  /** Name and arguments of each tool that was called, of an answer in one piece and of a streamed one. */
  tools(target: Target): Promise<readonly (readonly [name: string, input: unknown])[]>
  /** Reads a stream that lasts for minutes until it has something of its answer, then aborts it. */
  abort(target: Target): Promise<void>
  /** Asks for what no engine accepts. */
  refused(target: Target): Promise<unknown>
  /** What a refusal with this status is thrown as. */
  errorOf(status: 400 | 401 | 404 | 429): unknown
}

const city = z.object({ city: z.string() })
const citySchema = {
  type: 'object' as const,
  properties: { city: { type: 'string' } },
  required: ['city'],
}

const openaiErrors = {
  400: OpenAI.BadRequestError,
  401: OpenAI.AuthenticationError,
  404: OpenAI.NotFoundError,
  429: OpenAI.RateLimitError,
}

function openaiClient(): Client {
  const completions = ({ url, apiKey = 'none' }: Target) =>
    new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 }).chat.completions
  const request = ({ model = 'mock-model', content }: Target) => ({
    model,
    messages: [{ role: 'user' as const, content }],
  })
  const told = (text: string | null, usage: OpenAI.CompletionUsage | undefined): Told => ({
    text: text ?? '',
    promptTokens: usage!.prompt_tokens,
    cachedTokens: usage!.prompt_tokens_details!.cached_tokens!,
    outputTokens: usage!.completion_tokens,
  })
  return {
    name: 'openai',
    async chat(target) {
      const { choices, usage } = await completions(target).create(request(target))
      return told(choices[0]!.message.content, usage)
    },
    async stream(target) {
      const runner = completions(target).stream({
        ...request(target),
        stream_options: { include_usage: true },
      })
      return told(await runner.finalContent(), (await runner.finalChatCompletion()).usage)
    },
    async tools(target) {
      const calling = {
        ...request(target),
        tools: [{ type: 'function' as const, function: { name: 'weather', parameters: citySchema } }],
        tool_choice: 'required' as const,
      }
      const { choices } = await completions(target).create(calling)
      const streamed = await completions(target).stream(calling).finalMessage()
      return [...choices[0]!.message.tool_calls!, ...streamed.tool_calls!].map((call) => {
        if (call.type !== 'function') throw new TypeError(`a call of type ${call.type}`)
        return [call.function.name, JSON.parse(call.function.arguments)] as const
      })
    },
    async abort(target) {
      const stream = await completions(target).create({ ...request(target), stream: true })
      for await (const _chunk of stream) stream.controller.abort()
    },
    refused: (target) => completions(target).create({ ...request(target), temperature: -1 }),
    errorOf: (status) => expect.any(openaiErrors[status]),
  }
}

const anthropicErrors = {
  400: Anthropic.BadRequestError,
  401: Anthropic.AuthenticationError,
  404: Anthropic.NotFoundError,
  429: Anthropic.RateLimitError,
}

function anthropicClient(): Client {
  const messages = ({ url, apiKey = 'none' }: Target) =>
    new Anthropic({ baseURL: url, apiKey, maxRetries: 0 }).messages
  const request = ({ model = 'mock-model', content }: Target) => ({
    model,
    max_tokens: 100,
    messages: [{ role: 'user' as const, content }],
  })
  const told = ({ content, usage }: Anthropic.Message): Told => ({
    text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    promptTokens: usage.input_tokens + usage.cache_read_input_tokens!,
    cachedTokens: usage.cache_read_input_tokens!,
    outputTokens: usage.output_tokens,
  })
  return {
    name: '@anthropic-ai/sdk',
    chat: async (target) => told(await messages(target).create(request(target))),
    stream: async (target) => told(await messages(target).stream(request(target)).finalMessage()),
    async tools(target) {
      const calling = {
        ...request(target),
        tools: [{ name: 'weather', input_schema: citySchema }],
        tool_choice: { type: 'any' as const },
      }
      const whole = await messages(target).create(calling)
      const streamed = await messages(target).stream(calling).finalMessage()
      return [...whole.content, ...streamed.content].map((block) => {
        if (block.type !== 'tool_use') throw new TypeError(`a block of type ${block.type}`)
        return [block.name, block.input] as const
      })
    },
    async abort(target) {
      const stream = await messages(target).create({ ...request(target), stream: true, max_tokens: 5000 })
      for await (const event of stream) if (event.type === 'content_block_delta') stream.controller.abort()
    },
    refused: (target) => messages(target).create({ ...request(target), max_tokens: 0 }),
    errorOf: (status) => expect.any(anthropicErrors[status]),
  }
}

function aiSdk(): Client {
  const request = ({ url, apiKey = 'none', model = 'mock-model', content }: Target) => ({
    model: createOpenAICompatible({
      name: 'router',
      baseURL: `${url}/v1`,
      apiKey,
      includeUsage: true,
    }).chatModel(model),
    prompt: content,
    maxRetries: 0,
    // It is told elsewhere.
    onError: () => undefined,
  })
  type Usage = Awaited<ReturnType<typeof generateText>>['usage']
  const told = (text: string, { inputTokens, outputTokens, inputTokenDetails }: Usage): Told => ({
    text,
    promptTokens: inputTokens!,
    cachedTokens: inputTokenDetails.cacheReadTokens!,
    outputTokens: outputTokens!,
  })
  return {
    name: 'ai',
    async chat(target) {
      const { text, usage } = await generateText(request(target))
      return told(text, usage)
    },
    async stream(target) {
      const { text, usage } = streamText(request(target))
      return told(await text, await usage)
    },
    async tools(target) {
      // The type of a set of tools and exactOptionalPropertyTypes do not agree.
      const tools = { weather: tool({ inputSchema: city }) } as unknown as ToolSet
      const calling = { ...request(target), tools, toolChoice: 'required' as const }
      const whole = await generateText(calling)
      const streamed = await streamText(calling).toolCalls
      return [...whole.toolCalls, ...streamed].map(({ toolName, input }) => [toolName, input] as const)
    },
    async abort(target) {
      const abort = new AbortController()
      const { fullStream } = streamText({
        ...request(target),
        abortSignal: abort.signal,
      })
      for await (const part of fullStream) if (part.type === 'text-delta') abort.abort()
    },
    refused: (target) => generateText({ ...request(target), temperature: -1 }),
    errorOf: (status) =>
      expect.toSatisfy(
        (error: unknown) => APICallError.isInstance(error) && error.statusCode === status,
        `an APICallError of status ${status}`,
      ),
  }
}

function langChain(): Client {
  const modelOf = (
    { url, apiKey = 'none', model = 'mock-model' }: Target,
    more: { readonly temperature?: number } = {},
  ) => new ChatOpenAI({ model, apiKey, maxRetries: 0, configuration: { baseURL: `${url}/v1` }, ...more })
  const told = (text: string, usage: UsageMetadata | undefined): Told => ({
    text,
    promptTokens: usage!.input_tokens,
    cachedTokens: usage!.input_token_details!.cache_read!,
    outputTokens: usage!.output_tokens,
  })
  return {
    name: '@langchain/openai',
    async chat(target) {
      const { text, usage_metadata: usage } = await modelOf(target).invoke(target.content)
      return told(text, usage)
    },
    async stream(target) {
      let text = ''
      let usage: UsageMetadata | undefined
      for await (const chunk of await modelOf(target).stream(target.content)) {
        text += chunk.text
        usage = chunk.usage_metadata ?? usage
      }
      return told(text, usage)
    },
    async tools(target) {
      const weather = { name: 'weather', description: 'of a city', schema: city }
      const bound = modelOf(target).bindTools([weather], { tool_choice: 'required' })
      const whole = await bound.invoke(target.content)
      let streamed: Awaited<ReturnType<typeof bound.invoke>> | undefined
      for await (const chunk of await bound.stream(target.content))
        streamed = streamed === undefined ? chunk : streamed.concat(chunk)
      return [...whole.tool_calls!, ...streamed!.tool_calls!].map(({ name, args }) => [name, args] as const)
    },
    async abort(target) {
      const abort = new AbortController()
      const stream = await modelOf(target).stream(target.content, { signal: abort.signal })
      await expect(
        (async () => {
          for await (const chunk of stream) if (chunk.text !== '') abort.abort()
        })(),
      ).rejects.toThrow(/abort/iu)
    },
    refused: (target) => modelOf(target, { temperature: -1 }).invoke(target.content),
    errorOf: (status) => expect.any(openaiErrors[status]),
  }
}

export const javascriptClients: readonly Client[] = [openaiClient(), anthropicClient(), aiSdk(), langChain()]
