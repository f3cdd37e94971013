import { type Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import type { PlannedRequest } from './planned-requests.js'

/** Characters that are kept of an answer that was not as it should be. */
const keptCharacters = 600

/** What a client saw. */
export interface Outcome {
  /** 0 = no answer. */
  readonly status: number
  /** `whole` = the answer ended as HTTP says; `cut` = the connection broke; `left` = the client went. */
  readonly ending: 'whole' | 'cut' | 'left'
  /** As the router told: `id.rank`. */
  readonly worker: string
  /** Events of a stream: all of them, those that are errors, and how often it said that it was done. */
  readonly events: number
  readonly errorEvents: number
  readonly doneEvents: number
  /** Nothing came behind the first of those, not even the beginning of an event. */
  readonly endsThere: boolean
  /** The end of an answer. */
  readonly tail: string
  /** JSON of an answer in one piece; `undefined` = it was none. */
  readonly json: unknown
  /** Of the connection. */
  readonly error: string | undefined
}

/** Asks a router, and goes when the plan says so. Never rejects. */
export function ask(url: string, plan: PlannedRequest, agent: Agent): Promise<Outcome> {
  return new Promise((resolve) => new AskedRequest(url, plan, agent, resolve))
}

class AskedRequest {
  readonly #plan: PlannedRequest
  readonly #sent: ClientRequest
  readonly #settle: (outcome: Outcome) => void
  readonly #timer: NodeJS.Timeout | undefined
  #answer: IncomingMessage | undefined
  #text = ''
  #events = 0
  #errorEvents = 0
  #doneEvents = 0
  #tail = ''
  #hasMore = false
  #hasLeft = false

  constructor(url: string, plan: PlannedRequest, agent: Agent, settle: (outcome: Outcome) => void) {
    this.#plan = plan
    this.#settle = settle
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(plan.body),
      'x-request-id': plan.id,
    }
    this.#sent = request(url + plan.path, { method: 'POST', headers, agent })
    this.#sent.on('response', (answer) => this.#read(answer))
    this.#sent.on('error', (error: NodeJS.ErrnoException) => this.#end('cut', error.code ?? error.message))
    this.#sent.end(plan.body)
    if (plan.leavesAfterMs !== undefined) this.#timer = setTimeout(() => this.#leave(), plan.leavesAfterMs)
  }

  #read(answer: IncomingMessage): void {
    this.#answer = answer
    answer.setEncoding('utf8')
    const isStream = answer.headers['content-type']?.startsWith('text/event-stream') === true
    answer.on('data', (chunk: string) => {
      this.#text += chunk
      this.#tail = (this.#tail + chunk).slice(-keptCharacters)
      if (isStream) this.#readEvents()
    })
    answer.on('end', () => this.#end('whole'))
    answer.on('error', (error: NodeJS.ErrnoException) => this.#end('cut', error.code ?? error.message))
    answer.on('close', () => this.#end('cut', 'closed'))
  }

  #readEvents(): void {
    const { leavesAfterEvents = Infinity } = this.#plan
    const events = this.#text.split('\n\n')
    this.#text = events.pop()!
    for (const event of events) {
      if (this.#errorEvents + this.#doneEvents > 0) this.#hasMore = true
      this.#events++
      if (event === 'data: [DONE]') this.#doneEvents++
      else if (event.startsWith('data: {"error"')) this.#errorEvents++
      if (this.#events >= leavesAfterEvents) this.#leave()
    }
  }

  #leave(): void {
    this.#hasLeft = true
    this.#sent.destroy()
    this.#end('left')
  }

  #end(ending: Outcome['ending'], error?: string): void {
    clearTimeout(this.#timer)
    const { statusCode = 0, headers = {} } = this.#answer ?? {}
    this.#settle({
      status: statusCode,
      ending: this.#hasLeft ? 'left' : ending,
      worker: String(headers['x-router-worker'] ?? ''),
      events: this.#events,
      errorEvents: this.#errorEvents,
      doneEvents: this.#doneEvents,
      endsThere: !this.#hasMore && this.#text === '',
      tail: this.#tail,
      json: this.#events > 0 ? undefined : jsonOf(this.#text),
      error,
    })
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
