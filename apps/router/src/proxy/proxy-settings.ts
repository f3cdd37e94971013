import type { PromptReader } from '@router/prompt'
import type { Fleet } from '../fleet/fleet.js'
import type { Access } from '../http/access.js'
import type { OverloadAnswers } from '../http/answers.js'
import type { BodyLimits } from '../http/body-buffers.js'
import type { DecisionRecords } from '../observe/decision-records.js'
import type { RequestFacts } from './request-facts.js'
import type { UpstreamSettings } from './upstreams.js'
import type { WorkerWatch } from './worker-watch.js'

/** What the OpenAI proxy is made of. */
export interface ProxyOptions {
  readonly fleet: Fleet
  /** Reads prompts; the caller closes it. */
  readonly reader: PromptReader
  readonly access: Access
  readonly settings?: ProxySettings
  /** Judges workers by their requests; absent = nobody does. */
  readonly watch?: WorkerWatch | undefined
  /** Bearer key of a worker's engine, for workers of trusted sources; it takes the place of the client's. Default: none has one. */
  readonly apiKeyOf?: ((workerId: bigint) => string | undefined) | undefined
  /** Keeps how requests came to their ranks; absent = nobody does. */
  readonly decisions?: DecisionRecords | undefined
  /** Told of every request when it is over. Must not throw. */
  readonly onFinished?: ((facts: RequestFacts) => void) | undefined
  /** Monotonic, milliseconds. Default `performance.now`. */
  readonly nowMs?: (() => number) | undefined
}

/** How the proxy behaves; times are milliseconds. */
export interface ProxySettings {
  readonly upstreams?: UpstreamSettings | undefined
  readonly bodies?: BodyLimits | undefined
  /** Further tries of a request of which nothing was relayed. Default 2. */
  readonly retryLimit?: number | undefined
  /** From sending to the first byte of the answer's body. Default 600,000. */
  readonly firstByteTimeoutMs?: number | undefined
  /** Between bytes. Default 300,000. */
  readonly idleTimeoutMs?: number | undefined
  /** Streams that are silent for so long get a comment. Default 0: they do not. */
  readonly sseKeepAliveMs?: number | undefined
  /** Of a request as a whole, its retries included. Default 1,800,000. */
  readonly requestTimeoutMs?: number | undefined
  /** Answers say which worker gave them, and what it had of the prompt. Default false: an oracle on the prompts of others. */
  readonly tellsPlacement?: boolean | undefined
  /** Pins, ranks, priorities, classes and tenants of clients count. Default false. */
  readonly trustsRoutingHeaders?: boolean | undefined
  /** `nvext` counts. Default true. */
  readonly readsNvext?: boolean | undefined
  /** Streams are asked for their usage. Default true. */
  readonly injectsUsage?: boolean | undefined
  /** A client's `Authorization` is meant for engines. Default true; false where the router has keys of its own. */
  readonly passesAuthorization?: boolean | undefined
  /** Names by which models may be asked for, with those that engines know. */
  readonly modelAliases?: ReadonlyMap<string, string> | undefined
  /** Folder of the tokenizer of a model; absent = its prompts are matched by their content. */
  readonly tokenizerOf?: ((model: string) => string | undefined) | undefined
  readonly overload?: OverloadAnswers | undefined
}

/** Those with every default in place that each request needs. */
export interface RequestSettings {
  readonly retryLimit: number
  readonly firstByteTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly sseKeepAliveMs: number
  readonly requestTimeoutMs: number
  readonly tellsPlacement: boolean
  readonly trustsRoutingHeaders: boolean
  readonly readsNvext: boolean
  readonly injectsUsage: boolean
  readonly passesAuthorization: boolean
  readonly tokenizerOf: (model: string) => string | undefined
  readonly overload: OverloadAnswers
}

export function requestSettings(settings: ProxySettings): RequestSettings {
  return {
    retryLimit: settings.retryLimit ?? 2,
    firstByteTimeoutMs: settings.firstByteTimeoutMs ?? 600_000,
    idleTimeoutMs: settings.idleTimeoutMs ?? 300_000,
    sseKeepAliveMs: settings.sseKeepAliveMs ?? 0,
    requestTimeoutMs: settings.requestTimeoutMs ?? 1_800_000,
    tellsPlacement: settings.tellsPlacement ?? false,
    trustsRoutingHeaders: settings.trustsRoutingHeaders ?? false,
    readsNvext: settings.readsNvext ?? true,
    injectsUsage: settings.injectsUsage ?? true,
    passesAuthorization: settings.passesAuthorization ?? true,
    tokenizerOf: settings.tokenizerOf ?? (() => undefined),
    overload: settings.overload ?? { statusCode: 529, retryAfterSecs: 1 },
  }
}
