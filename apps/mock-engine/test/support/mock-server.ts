import { afterAll } from 'vitest'
import { type MockEngine, type MockEngineOptions, startMockEngine } from '../../src/index.js'

/** Fields of JSON that a test looks into. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any

/** An answer, read whole. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** What the text says as JSON; undefined where it is none. */
  readonly json: Json
}

/** A server for the tests of one file, a thousand times faster than real time unless told otherwise; closed after them. */
export async function serverForTests(options: MockEngineOptions = {}): Promise<MockEngine> {
  const engine = await startMockEngine({ speedup: 1000, ...options })
  afterAll(() => engine.close())
  return engine
}

/** Asks a server; a body that is not text is sent as JSON. */
export async function ask(
  engine: Pick<MockEngine, 'url'>,
  path: string,
  body?: unknown,
  init: { method?: string; headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Answer> {
  const sent = body === undefined || typeof body === 'string' || body instanceof Uint8Array
  const response = await fetch(engine.url + path, {
    method: init.method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { 'content-type': 'application/json', ...init.headers },
    ...(body === undefined ? {} : { body: sent ? (body as string) : JSON.stringify(body) }),
    ...(init.signal === undefined ? {} : { signal: init.signal }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: parsed(text) }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Data of the events of a stream, as JSON where they are; `[DONE]` as it is. */
export function eventsOf(text: string): Json[] {
  return text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => {
      const data = /^data: (.*)$/mu.exec(event)![1]!
      return parsed(data) ?? data
    })
}

/** A chat request with one question. */
export function chat(content: unknown, more: object = {}): object {
  return { model: 'mock-model', messages: [{ role: 'user', content }], ...more }
}

/** Waits until something holds; the message names what never did. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const endMs = Date.now() + 30_000; Date.now() < endMs;) {
    if (await holds()) return
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  throw new Error(`never: ${what}`)
}
