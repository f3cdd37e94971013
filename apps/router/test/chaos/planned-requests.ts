/** Numbers from 0 to 1, the same for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b_79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A request of a client, and when that client goes. */
export interface PlannedRequest {
  readonly id: string
  readonly path: string
  readonly body: string
  readonly isStream: boolean
  /** It goes so long after it asked; absent = it does not. */
  readonly leavesAfterMs: number | undefined
  /** It goes when it has read so many events. */
  readonly leavesAfterEvents: number | undefined
}

/** Prompts that begin in the same way. */
const groups = 40
const groupTokens = 256
const longPromptTokens = 3000
const leavingShare = 0.2
/** What a client that goes had asked for: its engine, were it not told, would work on for most of a minute. */
const tokensOfLeaving = 20_000

/** The requests of a run, one after the other: chats and token ids, streamed or not, short and long, of clients that stay or go. */
export class PlannedRequests {
  readonly #random: () => number
  #count = 0

  constructor(random: () => number) {
    this.#random = random
  }

  next(): PlannedRequest {
    const random = this.#random
    const id = `chaos-${this.#count++}`
    const isStream = random() < 0.5
    const isChat = random() < 0.5
    const leaves = random() < leavingShare ? random() : 1
    // A third of those that go do so within some milliseconds, a third while the engine is silent over a long prompt.
    const isLong = random() < 0.03 || (leaves >= 1 / 3 && leaves < 2 / 3)
    const readsSome = isStream && leaves >= 2 / 3 && leaves < 1
    const common = {
      model: 'mock-model',
      max_tokens: leaves < 1 ? tokensOfLeaving : 1 + Math.floor(64 * random() ** 2),
      ignore_eos: leaves < 1,
      ...(isStream ? { stream: true } : {}),
    }
    const group = Math.floor(groups * random())
    const tokens = isLong ? longPromptTokens : groupTokens + Math.floor(128 * random())
    return {
      id,
      isStream,
      path: isChat ? '/v1/chat/completions' : '/v1/completions',
      body: JSON.stringify({ ...common, ...(isChat ? chat(group, id, tokens) : ids(group, tokens, random)) }),
      leavesAfterMs: leaves < 1 / 3 ? 12 * random() : leaves < 1 && !readsSome ? 60 * random() : undefined,
      leavesAfterEvents: readsSome ? 1 + Math.floor(6 * random()) : undefined,
    }
  }
}

function chat(group: number, id: string, tokens: number): object {
  const system = `You are assistant ${group}. `.repeat(16)
  const question = `${id} `.repeat(Math.ceil((tokens - groupTokens + 16) / 8))
  return {
    messages: [
      { role: 'system', content: system },
      { role: 'user', content: question },
    ],
  }
}

function ids(group: number, tokens: number, random: () => number): object {
  const prompt = Array.from({ length: tokens }, (_, at) => 1 + ((group * 31 + at * 7) % 200))
  for (let at = groupTokens; at < tokens; at++) prompt[at] = 1 + Math.floor(200 * random())
  return { prompt }
}
