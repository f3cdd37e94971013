import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, Client } from './client.js'
import type { Conversation, Workload } from './workload.js'

/** The answers to a conversation, turn by turn. */
export type Played = readonly Answer[]

/** Plays a workload against a router, `speedup` times as fast as it is written. Rejects when a request fails. */
export async function play(
  { conversations }: Workload,
  url: string,
  speedup: number,
  onRequest = (): void => undefined,
): Promise<Played[]> {
  const client = new Client(url)
  const stop = new AbortController()
  setMaxListeners(0, stop.signal)
  const startedMs = performance.now()
  try {
    return await Promise.all(
      conversations.map(async (conversation) => {
        const lateMs = performance.now() - startedMs
        await sleep(Math.max(0, conversation.startMs / speedup - lateMs), undefined, { signal: stop.signal })
        return converse(conversation, client, speedup, stop.signal, onRequest)
      }),
    )
  } finally {
    stop.abort()
    client.close()
  }
}

async function converse(
  { turns }: Conversation,
  client: Client,
  speedup: number,
  signal: AbortSignal,
  onRequest: () => void,
): Promise<Played> {
  const answers: Answer[] = []
  for (const { pauseMs, path, body } of turns) {
    if (pauseMs > 0) await sleep(pauseMs / speedup, undefined, { signal })
    answers.push(await client.ask(path, body(answers.map(({ text }) => text))))
    onRequest()
  }
  return answers
}
