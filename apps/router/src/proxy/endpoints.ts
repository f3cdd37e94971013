import type { PromptEndpoint } from '@router/prompt'

/** A path of the OpenAI API whose requests are routed. */
export interface ProxyEndpoint {
  readonly path: string
  /** How its prompt is read. */
  readonly prompt: PromptEndpoint
  /** Its streams report usage when asked by `stream_options`. */
  readonly reportsUsageOnDemand: boolean
}

function endpoint(path: string, prompt: PromptEndpoint, reportsUsageOnDemand = false): ProxyEndpoint {
  return { path, prompt, reportsUsageOnDemand }
}

/** Every path that takes a body and is routed (host.md 14.2), by itself. Nothing else of an engine is reached through the router. */
const routedEndpoints: ReadonlyMap<string, ProxyEndpoint> = new Map(
  [
    endpoint('/v1/chat/completions', 'chat', true),
    endpoint('/v1/completions', 'completions', true),
    endpoint('/v1/responses', 'responses'),
    endpoint('/v1/messages', 'messages'),
    endpoint('/v1/messages/count_tokens', 'count_tokens'),
    endpoint('/v1/embeddings', 'embeddings'),
    endpoint('/v1/rerank', 'rerank'),
    endpoint('/v1/score', 'score'),
    endpoint('/pooling', 'pooling'),
    endpoint('/tokenize', 'tokenize'),
    endpoint('/detokenize', 'detokenize'),
  ].map((one) => [one.path, one]),
)

/** What a path of the proxy asks for. */
export type ProxyTarget =
  | { readonly kind: 'routed'; readonly endpoint: ProxyEndpoint }
  | { readonly kind: 'models' }
  /** A response that some worker holds, by its id. */
  | { readonly kind: 'response'; readonly id: string; readonly isCancel: boolean }

const storedResponse = /^\/v1\/responses\/([^/]{1,256})(\/cancel)?$/

/** A path of the proxy. */
export interface FoundTarget {
  readonly target: ProxyTarget
  /** By which verbs. */
  readonly methods: readonly string[]
  /** The path, without an id in it. */
  readonly path: string
}

const toRead = ['GET', 'HEAD']
const toSend = ['POST']

/** What a path asks for; `undefined` = it is none of the proxy's. */
export function targetOf(path: string): FoundTarget | undefined {
  const endpoint = routedEndpoints.get(path)
  if (endpoint !== undefined) return { target: { kind: 'routed', endpoint }, methods: toSend, path }
  if (path === '/v1/models') return { target: { kind: 'models' }, methods: toRead, path }
  const [, id, cancel] = storedResponse.exec(path) ?? []
  if (id === undefined) return undefined
  const isCancel = cancel !== undefined
  const target = { kind: 'response', id, isCancel } as const
  return { target, methods: isCancel ? toSend : toRead, path: '/v1/responses' }
}
