// A router that knows its engine's cache: a simulated engine, a chat of three turns by the official client, the engine's KV events, and
// how many tokens of each turn the engine will find in its cache, said before the request leaves.
// `npm run predict` runs it for both kinds of engines.
import process from 'node:process'
import {
  BlockHasher,
  BlockHashes,
  DEVICE,
  OverlapRows,
  PrefixIndex,
  hashWords,
  highOf,
  lowOf,
} from '@router/kv-index'
import { createPromptReader } from '@router/prompt'
import { Unpackr } from 'msgpackr'
import OpenAI from 'openai'
import { type MockEngine, startMockEngine } from 'router-mock-engine'
import { Subscriber } from 'zeromq'

const blockSize = 16
const questions = [
  'Which three places in Lisbon should I see in one day, and why?',
  'Plan the day hour by hour, with a place for lunch.',
  'It will rain in the afternoon. What changes?',
]

/** What was said before a turn, and what the engine reported after it, in tokens. */
export interface Turn {
  readonly flavour: 'vllm' | 'sglang'
  readonly promptTokens: number
  readonly predictedTokens: number
  readonly cachedTokens: number
  readonly outputTokens: number
}

/** Chats with an engine of each flavour. */
export async function main(print: (line: string) => void = console.log): Promise<Turn[]> {
  const turns: Turn[] = []
  for (const flavour of ['vllm', 'sglang'] as const) {
    const events = { endpoint: 'tcp://127.0.0.1:0' }
    const engine = await startMockEngine({ flavour, blockSize, events, speedup: 10 })
    const cache = new EngineCache(engine.kvEventsEndpoints[0]!)
    const reader = createPromptReader({ threads: 1, budgetMs: 30_000 })
    try {
      for await (const turn of chat(engine, cache, reader)) {
        turns.push({ flavour, ...turn })
        const { promptTokens, predictedTokens, cachedTokens } = turn
        print(`${flavour}: ${promptTokens} tokens, predicted ${predictedTokens}, cached ${cachedTokens}`)
      }
    } finally {
      cache.close()
      await Promise.all([reader.close(), engine.close()])
    }
  }
  return turns
}

async function* chat(engine: MockEngine, cache: EngineCache, reader: ReturnType<typeof createPromptReader>) {
  const client = new OpenAI({ baseURL: `${engine.url}/v1`, apiKey: 'none' })
  await cache.ready(client, engine.model)
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: 'You are a guide who answers in full sentences and knows the city well.' },
  ]
  for (const content of questions) {
    messages.push({ role: 'user', content })
    const request = { model: engine.model, messages, max_tokens: 40 }

    // What a router does before it sends the request.
    const body = new TextEncoder().encode(JSON.stringify(request))
    const reading = await reader.read({ endpoint: 'chat', body, tokenizer: engine.modelFolder, blockSize })
    const matched = cache.overlapBlocks(reading.blocks.local, reading.blocks.count)
    // The engine computes at least the last token anew.
    const predictedTokens = blockSize * Math.min(matched, Math.floor((reading.promptTokens - 1) / blockSize))

    const { choices, usage } = await client.chat.completions.create(request)
    const { prompt_tokens: promptTokens, completion_tokens: outputTokens } = usage!
    if (reading.exactness !== 'exact' || reading.promptTokens !== promptTokens)
      throw new Error(`read ${reading.promptTokens} tokens (${reading.exactness}), engine ${promptTokens}`)
    const cachedTokens = usage!.prompt_tokens_details!.cached_tokens!
    yield { promptTokens, predictedTokens, cachedTokens, outputTokens }
    messages.push({ role: 'assistant', content: choices[0]!.message.content })
    // The last token of an answer has no place in the cache.
    await cache.has(Math.floor((promptTokens + outputTokens - 1) / blockSize))
  }
}

/** What one engine holds, from its events. */
class EngineCache {
  readonly #subscriber = new Subscriber()
  readonly #unpackr = new Unpackr({ useRecords: false, int64AsType: 'bigint' })
  readonly #index = new PrefixIndex({ blockSize })
  readonly #hasher = new BlockHasher()
  readonly #hashes = new BlockHashes()
  readonly #overlaps = new OverlapRows(1)
  #wake = () => {}
  #warmUpBlocks = 0

  constructor(endpoint: string) {
    this.#subscriber.connect(endpoint)
    this.#subscriber.subscribe()
    void this.#follow()
  }

  /** Until the subscription is known to work: what is published before that is lost. */
  async ready(client: OpenAI, model: string): Promise<void> {
    for (let attempt = 0; this.#index.currentSize === 0; attempt++) {
      if (attempt === 100) throw new Error('no event came')
      const prompt = Array.from({ length: 2 * blockSize }, (_, at) => 40 + attempt + at)
      await client.completions.create({ model, prompt, max_tokens: 1 })
      await Promise.race([this.#changed(), new Promise((resolve) => setTimeout(resolve, 20))])
    }
    this.#warmUpBlocks = this.#index.currentSize
  }

  overlapBlocks(local: Uint32Array, count: number): number {
    this.#index.lookup(local, count, this.#overlaps)
    return this.#overlaps.deviceBlocks[0]!
  }

  /** Until so many blocks of the chat have been announced. */
  async has(blocks: number): Promise<void> {
    while (this.#index.currentSize - this.#warmUpBlocks < blocks) await this.#changed()
  }

  close(): void {
    this.#subscriber.close()
  }

  #changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  async #follow(): Promise<void> {
    for await (const [, , payload] of this.#subscriber) {
      const [, events] = this.#unpackr.unpack(payload!) as [number, readonly (readonly unknown[])[]]
      for (const [tag, ...fields] of events) {
        if (tag === 'BlockStored') this.#stored(fields)
        else throw new Error(`this chat evicts nothing, but ${String(tag)} came`)
      }
      this.#wake()
    }
  }

  #stored([engine, parent, tokens]: readonly unknown[]): void {
    this.#hasher.hashLocal(tokens as number[], { blockSize }, this.#hashes)
    const hashes = (engine as (bigint | number)[]).map(BigInt)
    const parentHash = BigInt((parent as bigint | number | null) ?? 0)
    this.#index.store(0, DEVICE, {
      hasParent: parent !== null,
      parentLow: lowOf(parentHash),
      parentHigh: highOf(parentHash),
      engine: hashWords(hashes),
      local: this.#hashes.local,
      start: 0,
      count: this.#hashes.count,
    })
  }
}

if (/\bpredict(?:-cached-tokens)?\.m?[jt]s$/u.test(process.argv[1] ?? '')) await main()
