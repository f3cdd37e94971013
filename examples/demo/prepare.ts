import { startMockEngine } from 'router-mock-engine'
import { InfiniteCache } from './infinite-cache.js'
import type { Conversation, Workload } from './workload.js'

/** What a workload is at its best: everything that was ever computed is still there, wherever a request goes. */
export interface Ceiling {
  readonly promptTokens: number
  readonly cachedTokens: number
  /** Distinct whole blocks of all prompts. */
  readonly distinctBlocks: number
}

/**
 * The ceiling of a workload, exactly: its prompts in the order of their starts through a cache without an end. Prompts that hold answers are
 * learned from one simulated engine, which gives every prompt the same answer each time.
 */
export async function ceilingOf(workload: Workload, onRequest = (): void => undefined): Promise<Ceiling> {
  const { blockSize, maxModelTokens } = workload
  const cache = new InfiniteCache(blockSize)
  const engine = await startMockEngine({ blockSize, maxModelTokens, blocksPerRank: 2 ** 20, speedup: 1e6 })
  try {
    for (const conversation of workload.conversations)
      await converse(conversation, engine.url, cache, onRequest)
  } finally {
    await engine.close()
  }
  const { promptTokens, cachedTokens, promptBlocks: distinctBlocks } = cache
  return { promptTokens, cachedTokens, distinctBlocks }
}

async function converse(
  { turns }: Conversation,
  url: string,
  cache: InfiniteCache,
  onRequest: () => void,
): Promise<void> {
  const answers: string[] = []
  for (const { path, body, promptTokens } of turns) {
    if (promptTokens !== undefined) cache.take(promptTokens, new Uint32Array())
    else {
      const answer = await wholeAnswer(url + path, body(answers))
      answers.push(answer.text)
      cache.take(answer.promptTokens, answer.outputTokens)
    }
    onRequest()
  }
}

async function wholeAnswer(url: string, body: object) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, return_token_ids: true }),
  })
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
  const { choices, prompt_token_ids: promptIds } = (await response.json()) as {
    readonly choices: readonly {
      readonly message: { readonly content: string }
      readonly token_ids: number[]
    }[]
    readonly prompt_token_ids: number[]
  }
  const [choice] = choices
  return {
    text: choice!.message.content,
    promptTokens: Uint32Array.from(promptIds),
    outputTokens: Uint32Array.from(choice!.token_ids),
  }
}
