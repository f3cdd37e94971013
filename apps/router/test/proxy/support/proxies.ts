import { type RequestListener, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type PromptReader, createPromptReader } from '@router/prompt'
import type { PolicyBundle } from '@router/sdk'
import { type MockEngine, type MockEngineOptions, startMockEngine } from 'router-mock-engine'
import { afterEach } from 'vitest'
import { shippedCatalog } from '../../../src/catalog.js'
import type { FleetSettings } from '../../../src/fleet/fleet-settings.js'
import { Fleet } from '../../../src/fleet/fleet.js'
import type { WorkerRegistration } from '../../../src/fleet/worker-registration.js'
import { Access, type AccessSettings } from '../../../src/http/access.js'
import { createHttpServer } from '../../../src/http/http-server.js'
import { OpenAiProxy } from '../../../src/proxy/openai-proxy.js'
import type { ProxySettings } from '../../../src/proxy/proxy-settings.js'
import type { RequestFacts } from '../../../src/proxy/request-facts.js'
import type { WorkerWatch } from '../../../src/proxy/worker-watch.js'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const end of cleanups.splice(0).toReversed()) await end()
})

/** Ends something after the test, before what was started earlier. */
export function afterTest(end: () => unknown): void {
  cleanups.push(end)
}

/** A simulated engine, ended after the test. */
export async function engineOf(options: MockEngineOptions = {}): Promise<MockEngine> {
  const engine = await startMockEngine({ speedup: 1000, recordRequests: 300, ...options })
  afterTest(() => engine.close())
  return engine
}

/** An upstream that does as it is told, ended after the test, or by `end` as if it were killed. */
export async function serverOf(
  answer: RequestListener,
): Promise<{ readonly url: string; readonly end: () => void }> {
  const server = createServer({ keepAliveTimeout: 0 }, answer).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const end = (): void => {
    server.closeAllConnections()
    server.close()
  }
  afterTest(end)
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, end }
}

/** A router in front of workers, on a port of its own. */
export interface ProxyHost {
  readonly url: string
  readonly port: number
  readonly fleet: Fleet
  readonly proxy: OpenAiProxy
  readonly reader: PromptReader
  /** What was told of requests, in the order of their ends. */
  readonly finished: RequestFacts[]
  /** Codes of what the fleet warned of. */
  readonly warnings: string[]
  /** Requests booked on any rank. */
  booked(): number
  /** Worker ids are 1, 2, ... in the order of the engines. */
  add(engine: { readonly url: string }, more?: Partial<WorkerRegistration>): bigint
}

export interface HostOptions {
  readonly proxy?: ProxySettings
  readonly fleet?: FleetSettings
  /** Default: the built-in one. */
  readonly policy?: PolicyBundle | undefined
  readonly access?: AccessSettings
  readonly watch?: WorkerWatch
  readonly apiKeyOf?: ((workerId: bigint) => string | undefined) | undefined
  /** Clock of the proxy. */
  readonly nowMs?: (() => number) | undefined
  /** For all workers. */
  readonly worker?: Partial<WorkerRegistration>
}

export async function proxyOf(
  engines: readonly { readonly url: string }[],
  options: HostOptions = {},
): Promise<ProxyHost> {
  let seed = 7n
  const warnings: string[] = []
  const fleet = new Fleet({
    policy: options.policy ?? shippedCatalog().resolve({}),
    clock: () => performance.now(),
    random: () => ++seed,
    settings: { usesKvEvents: false, ...options.fleet },
    onWarning: ({ code }) => warnings.push(code),
  })
  // However slow the machine: what is asked of a tokenizer comes.
  const reader = createPromptReader({ budgetMs: 60_000 })
  const finished: RequestFacts[] = []
  const proxy = new OpenAiProxy({
    fleet,
    reader,
    access: new Access('127.0.0.1', options.access),
    settings: { tellsPlacement: true, trustsRoutingHeaders: true, ...options.proxy },
    watch: options.watch,
    apiKeyOf: options.apiKeyOf,
    nowMs: options.nowMs,
    onFinished: (facts) => finished.push(facts),
  })
  const server = createHttpServer({
    host: '127.0.0.1',
    door: 'proxy',
    access: options.access,
    front: (request, response) => proxy.take(request, response),
  })
  await server.listen({ host: '127.0.0.1', port: 0 })
  afterTest(async () => {
    await proxy.close()
    server.server.closeAllConnections()
    await server.close()
    fleet.dispose()
    await reader.close()
  })
  const { port } = server.server.address() as AddressInfo
  let workers = 0n
  const host: ProxyHost = {
    url: `http://127.0.0.1:${port}`,
    port,
    fleet,
    proxy,
    reader,
    finished,
    warnings,
    booked: () => fleet.partitions.reduce((sum, { router }) => sum + router.ledger.live, 0),
    add: ({ url }, more = {}) => {
      const workerId = ++workers
      const given = {
        workerId,
        endpoint: url,
        modelName: 'mock-model',
        blockSize: 16,
        ...options.worker,
        ...more,
      }
      fleet.workers.upsert(given, 'trusted')
      return workerId
    },
  }
  for (const engine of engines) host.add(engine)
  return host
}

/** Fields of JSON that a test looks into. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any

/** An answer, read whole. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: Json
}

export interface AskOptions {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
}

/** Asks a router; a body that is no text is sent as JSON. */
export async function ask(
  { url }: { readonly url: string },
  path: string,
  body?: unknown,
  { method = body === undefined ? 'GET' : 'POST', headers = {}, signal }: AskOptions = {},
): Promise<Answer> {
  const isRaw = body === undefined || typeof body === 'string' || body instanceof Uint8Array
  const response = await fetch(url + path, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: isRaw ? (body as string) : JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  })
  const text = await response.text()
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    json = undefined
  }
  return { status: response.status, headers: response.headers, text, json }
}

export const chatPath = '/v1/chat/completions'

/** A chat with one question. */
export function chat(content: unknown, more: object = {}): object {
  return { model: 'mock-model', messages: [{ role: 'user', content }], ...more }
}

/** Data of the events of a stream, as JSON where they are. */
export function eventsOf(text: string): Json[] {
  return text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => {
      const data = /^data: (.*)$/mu.exec(event)?.[1] ?? ''
      return data.startsWith('{') ? JSON.parse(data) : data
    })
}
