import { type IncomingMessage, Agent, request } from 'node:http'

/** A streamed answer, read whole. Times are real milliseconds, from the request on. */
export interface Answer {
  /** Of the router; absent = it did not say. */
  readonly workerId: string | undefined
  /** Until the first text. */
  readonly firstTokenMs: number
  readonly text: string
  /** As the engine reports. */
  readonly promptTokens: number
  readonly cachedTokens: number
}

/** What chunks of both endpoints have in common. */
interface Chunk {
  readonly error?: unknown
  readonly choices: readonly { readonly text?: string; readonly delta?: { readonly content?: string } }[]
  readonly usage?: {
    readonly prompt_tokens: number
    readonly prompt_tokens_details?: { readonly cached_tokens?: number } | null
  } | null
}

/** A client of the OpenAI API that keeps its connections. */
export class Client {
  readonly #url: string
  readonly #agent = new Agent({ keepAlive: true })

  constructor(url: string) {
    this.#url = url
  }

  /** Asks for a stream. Rejects for an answer other than 200, one that breaks off, and one without text or usage. */
  async ask(path: string, body: object): Promise<Answer> {
    const startedMs = performance.now()
    const bytes = Buffer.from(
      JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
    )
    const response = await this.#post(path, bytes)
    let firstTokenMs: number | undefined
    let text = ''
    let usage: Chunk['usage']
    for await (const data of eventsOf(response)) {
      if (data === '[DONE]') continue
      const chunk = JSON.parse(data) as Chunk
      if (chunk.error !== undefined) throw new Error(`an answer of ${path} broke off: ${data}`)
      const piece = chunk.choices[0]?.text ?? chunk.choices[0]?.delta?.content ?? ''
      if (piece !== '') firstTokenMs ??= performance.now() - startedMs
      text += piece
      usage = chunk.usage ?? usage
    }
    if (firstTokenMs === undefined || usage === undefined || usage === null)
      throw new Error(`an answer of ${path} came without text or usage`)
    const worker = response.headers['x-router-worker']
    return {
      workerId: typeof worker === 'string' ? worker : undefined,
      firstTokenMs,
      text,
      promptTokens: usage.prompt_tokens,
      cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
    }
  }

  close(): void {
    this.#agent.destroy()
  }

  #post(path: string, bytes: Buffer): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': bytes.length }
      const sent = request(this.#url + path, { method: 'POST', agent: this.#agent, headers }, (response) => {
        if (response.statusCode === 200) resolve(response)
        else
          void textOf(response).then((text) => reject(new Error(`${response.statusCode}: ${text}`)), reject)
      })
      sent.on('error', reject)
      sent.end(bytes)
    })
  }
}

/** The data of each event of a stream. */
async function* eventsOf(response: IncomingMessage): AsyncGenerator<string> {
  let rest = ''
  for await (const part of response.setEncoding('utf8') as AsyncIterable<string>) {
    const events = (rest + part).split('\n\n')
    rest = events.pop()!
    for (const event of events) if (event.startsWith('data: ')) yield event.slice('data: '.length)
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const part of response.setEncoding('utf8') as AsyncIterable<string>) text += part
  return text
}
