import { randomUUID } from 'node:crypto'
import type { PromptReader } from '@router/prompt'
import type { Fleet } from '../fleet/fleet.js'
import type { Access } from '../http/access.js'
import { BodyBuffers } from '../http/body-buffers.js'
import type { DecisionRecords } from '../observe/decision-records.js'
import { type ProxyOptions, type RequestSettings, requestSettings } from './proxy-settings.js'
import type { RequestFacts } from './request-facts.js'
import { ResponseOwners } from './response-owners.js'
import { RetryBudget } from './retry-budget.js'
import { ServedModels } from './served-models.js'
import { Upstreams } from './upstreams.js'
import type { WorkerWatch } from './worker-watch.js'

/** Where requests are: their prompts are read, they wait for a worker, an engine has not begun to answer, an answer is relayed. */
export const requestStages = ['preprocess', 'route', 'dispatch', 'relay'] as const

/** One of `requestStages`. */
export type RequestStage = (typeof requestStages)[number]

/** A request that is not over. */
export interface LiveRequest {
  readonly stage: RequestStage
  /** Ends what is too late. */
  check(nowMs: number): void
  /** Ends it from the router's side. */
  abort(): void
  /** A worker has left the fleet: whatever it was answering breaks off. */
  workerGone(workerId: bigint): void
}

/** What all requests of a proxy share. */
export class ProxyState {
  readonly fleet: Fleet
  readonly access: Access
  readonly reader: PromptReader
  readonly settings: RequestSettings
  readonly models: ServedModels
  readonly upstreams: Upstreams
  readonly bodies: BodyBuffers
  readonly owners = new ResponseOwners()
  readonly budget = new RetryBudget()
  /** Requests that are not over. */
  readonly live = new Set<LiveRequest>()
  readonly watch: WorkerWatch | undefined
  readonly decisions: DecisionRecords | undefined
  readonly apiKeyOf: (workerId: bigint) => string | undefined
  readonly onFinished: ((facts: RequestFacts) => void) | undefined
  readonly nowMs: () => number
  // Nobody else has ids that begin so.
  readonly #idPrefix = `proxy-${randomUUID()}-`
  #ids = 0

  constructor(options: ProxyOptions) {
    const {
      fleet,
      access,
      reader,
      settings = {},
      watch,
      apiKeyOf,
      onFinished,
      nowMs = () => performance.now(),
    } = options
    this.fleet = fleet
    this.access = access
    this.reader = reader
    this.settings = requestSettings(settings)
    this.models = new ServedModels(fleet.workers, settings.modelAliases ?? new Map(), nowMs)
    this.upstreams = new Upstreams(settings.upstreams)
    this.bodies = new BodyBuffers(settings.bodies)
    this.watch = watch
    this.decisions = options.decisions
    this.apiKeyOf = apiKeyOf ?? (() => undefined)
    this.onFinished = onFinished
    this.nowMs = nowMs
  }

  /** An id that no other request of this process has or gets. */
  readonly nextInnerId = (): string => this.#idPrefix + ++this.#ids
}

/** @param attempt that is under way */
export function stageOf(
  isRead: boolean,
  attempt: { readonly firstByteMs: number } | undefined,
): RequestStage {
  if (attempt !== undefined) return Number.isNaN(attempt.firstByteMs) ? 'dispatch' : 'relay'
  return isRead ? 'route' : 'preprocess'
}
