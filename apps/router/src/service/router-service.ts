import { readFile } from 'node:fs/promises'
import type { LoadedRouterPolicy } from '@router/config'
import { type PromptReader, createPromptReader } from '@router/prompt'
import { ConfigError } from '@router/sdk'
import type { FastifyInstance } from 'fastify'
import { EndpointRules } from '../fleet/endpoint-rules.js'
import type { FleetWarning } from '../fleet/fleet-worker.js'
import type { Fleet } from '../fleet/fleet.js'
import { HealthCauses } from '../fleet/health-causes.js'
import { Access } from '../http/access.js'
import { type JsonRoute, addJsonRoutes } from '../http/json-routes.js'
import { RouterMetrics } from '../metrics/router-metrics.js'
import { debugRoutes } from '../observe/debug-routes.js'
import { DecisionRecords } from '../observe/decision-records.js'
import { EventLoopWatch, processDelays } from '../observe/event-loop-delay.js'
import { explainRoute } from '../observe/explain-route.js'
import { type RouterLog, logApiRequests } from '../observe/router-log.js'
import { OpenAiProxy } from '../proxy/openai-proxy.js'
import { PredictionCheck } from '../proxy/prediction-check.js'
import type { RequestFacts } from '../proxy/request-facts.js'
import { selectionRoutes } from '../selection-api/selection-routes.js'
import { inertSettings } from '../settings/inert-settings.js'
import type { ServeSettings } from '../settings/serve-settings.js'
import type { WorkerSources } from '../workers/sources/worker-discovery.js'
import { type RunningWorkers, startWorkers } from '../workers/start-workers.js'
import { type ServiceHost, createFleet, monotonicMs, randomSeed } from './create-fleet.js'
import { type Listener, accessOf, listen, overloadOf, serverOf } from './listener.js'
import { ServiceHealth, predictionFindings, tellWarning } from './service-health.js'
import { Tokenizers } from './tokenizers.js'

const tickMs = 1000
const mebibyte = 2 ** 20

export interface RouterOptions extends ServiceHost {
  readonly settings: ServeSettings
  readonly policy: LoadedRouterPolicy
  /** Workers beside those of the API. Default: none. */
  readonly sources?: WorkerSources | undefined
  /** What is served, 0 = a free port: `main` everything, `selection` the selection API alone. */
  readonly ports: { readonly main?: number | undefined; readonly selection?: number | undefined }
  /** Told of requests, and of what is not well. */
  readonly log?: RouterLog | undefined
  /** Told of every request of the proxy when it is over. Must not throw. */
  readonly onFinished?: ((facts: RequestFacts) => void) | undefined
}

/** A router that runs. */
export interface RunningRouter {
  /** Of the main listener, else of the selection listener. */
  readonly url: string
  readonly selectionUrl: string | undefined
  readonly fleet: Fleet
  readonly causes: HealthCauses
  readonly decisions: DecisionRecords
  /** Absent without a main listener, like the prompts that it reads. */
  readonly proxy: OpenAiProxy | undefined
  readonly reader: PromptReader | undefined
  /** Fields of request bodies that nobody knows, so far. */
  readonly unknownFields: () => number
  /** From now on it is not ready: whoever balances over routers goes elsewhere. It still serves. */
  drain(): void
  /** Cuts whatever is in flight. */
  abort(): void
  /** Takes no new connections, lets requests end, and closes everything; cuts what lasts longer than `graceMs`. */
  close(graceMs?: number): Promise<void>
}

/** What the main listener needs beside the fleet. */
interface Front {
  readonly proxy: OpenAiProxy
  readonly reader: PromptReader
  readonly workers: RunningWorkers
  readonly tokenizers: Tokenizers
}

/**
 * Starts a router: its fleet, the workers of its sources, the OpenAI API in front of them, the selection API. Errors: `ROUTER_CONFIG_INVALID`
 * for settings that cannot be, those of building the policy, those of the system for an address that is taken; nothing is left running then.
 */
export async function startRouter(options: RouterOptions): Promise<RunningRouter> {
  const { settings, ports, log } = options
  const opened: (() => unknown)[] = []
  const closeAll = async (): Promise<void> => {
    for (const close of opened.splice(0).toReversed()) await close()
  }
  try {
    const parts = openParts(options, opened)
    const { fleet, causes, health, decisions, metrics, clock } = parts
    const front = ports.main === undefined ? undefined : await openFront(options, parts, opened)
    let isDraining = false
    let unknownFields = 0
    const onUnknownKeys = (count: number): void => void (unknownFields += count)
    const routesFor = (origin: 'api' | 'selection'): JsonRoute[] => [
      ...selectionRoutes({
        fleet,
        origin,
        busyFacts: { decode: settings.decodeBusyThreshold, prefill: settings.prefillBusyThreshold },
        decisions,
        causes: () => health.causesJson(),
        health: () => health.json(),
        minimumWorkers: settings.minInitialWorkers,
        isDraining: () => isDraining,
      }),
      ...metrics.routes(),
    ]
    const listeners: Listener[] = []
    const open = async (server: FastifyInstance, port: number): Promise<void> => {
      const listener = await listen(server, settings.host, port)
      listeners.push(listener)
      opened.push(() => listener.close(0))
    }
    const ticking = setInterval(() => {
      fleet.tick()
      health.look()
      metrics.tick()
    }, tickMs).unref()
    opened.push(() => clearInterval(ticking))
    if (front !== undefined) {
      const server = serverOf(settings, {
        door: 'proxy',
        front: (request, response) => front.proxy.take(request, response),
      })
      if (log !== undefined) logApiRequests(server, log)
      const debugging = [
        ...debugRoutes({ fleet, decisions, nowMs: clock }),
        explainRoute({ fleet, proxy: front.proxy }),
      ]
      addJsonRoutes(server, [...routesFor('api'), ...debugging], { door: 'selection', onUnknownKeys })
      await open(server, ports.main!)
    }
    if (ports.selection !== undefined) {
      const server = serverOf(settings, { door: 'selection' })
      if (log !== undefined) logApiRequests(server, log)
      addJsonRoutes(server, routesFor('selection'), { onUnknownKeys })
      await open(server, ports.selection)
    }
    if (listeners.length === 0) throw new TypeError('a router needs a port: main, selection, or both')
    let closing: Promise<void> | undefined
    return {
      url: listeners[0]!.url,
      selectionUrl: ports.selection === undefined ? undefined : listeners.at(-1)!.url,
      fleet,
      causes,
      decisions,
      proxy: front?.proxy,
      reader: front?.reader,
      unknownFields: () => unknownFields,
      drain: () => {
        isDraining = true
      },
      abort: () => front?.proxy.abortAll(),
      close: (graceMs = 0) => {
        isDraining = true
        closing ??= Promise.all(listeners.map((listener) => listener.close(graceMs))).then(closeAll)
        return closing
      },
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}

/** What every listener needs. */
interface Parts {
  readonly fleet: Fleet
  readonly causes: HealthCauses
  readonly check: PredictionCheck
  readonly health: ServiceHealth
  readonly decisions: DecisionRecords
  readonly metrics: RouterMetrics
  readonly warn: (warning: FleetWarning) => void
  readonly clock: () => number
}

/** Fleet, and whoever watches it. What is opened is added to `opened`. */
function openParts(options: RouterOptions, opened: (() => unknown)[]): Parts {
  const { settings, policy, ports, log, clock = monotonicMs, random = randomSeed } = options
  const tell = ({ code, message }: FleetWarning): void => {
    log?.warn(message, { code })
    options.onWarning?.({ code, message })
  }
  const causes = new HealthCauses(Date.now, (finding) => {
    log?.cause(finding)
    options.onWarning?.({ code: finding.code, message: finding.detail })
  })
  const warn = (warning: FleetWarning): void => tellWarning(warning, causes, tell)
  const hasMain = ports.main !== undefined
  const fleet = createFleet(settings, policy, { ...options, onWarning: warn }, hasMain)
  opened.push(() => fleet.dispose())
  const check = new PredictionCheck()
  const health = new ServiceHealth(fleet, clock, causes, check)
  for (const finding of inertSettings(settings, policy, hasMain)) causes.raise(finding)
  const { decisionRecordsPerSecond: perSecond } = settings
  const decisions = new DecisionRecords(fleet, { nowMs: clock, perSecond })
  const metrics = new RouterMetrics({
    fleet,
    causes,
    mode: settings.mode,
    routerId: random().toString(16).padStart(16, '0'),
    prefix: settings.metricsPrefix,
    nowMs: clock,
    sizes: () => ({
      decisions: decisions.size,
      decisions_bytes: decisions.bytes,
      prediction_windows: check.size,
    }),
  })
  opened.push(() => metrics.close())
  const delays = processDelays()
  opened.push(() => delays.close())
  const eventLoop = new EventLoopWatch(delays, clock)
  health.add('event loop', () => eventLoop.findings())
  return { fleet, causes, check, health, decisions, metrics, warn, clock }
}

/** Everything that contacts engines. What is opened is added to `opened`. */
async function openFront(
  { settings, sources = {}, log, onFinished }: RouterOptions,
  { fleet, check, decisions, metrics, health, warn, clock }: Parts,
  opened: (() => unknown)[],
): Promise<Front> {
  const reader = createPromptReader({
    budgetMs: settings.tokenizeBudgetMs,
    nowMs: clock,
    onWarning: warn,
  })
  opened.push(() => reader.close())
  const chatTemplate = await templateOf(settings)
  const tokenizers = await Tokenizers.create({ ...settings, chatTemplate }, fleet.workers, clock).catch(
    refuseTokenizer,
  )
  opened.push(() => tokenizers.close())
  await Promise.all(tokenizers.named.map((folder) => reader.load(folder))).catch(refuseTokenizer)
  const workers = await startWorkers({
    fleet,
    sources,
    allowedHosts: settings.workerAllow,
    nowMs: clock,
    settings: { inhibitedMs: 1000 * settings.inhibitedSecs },
    onWarning: warn,
  })
  opened.push(() => workers.close())
  health.add('workers', () => workers.findings())
  health.add('predictions', () => predictionFindings(check))
  const proxy = new OpenAiProxy({
    fleet,
    reader,
    nowMs: clock,
    access: new Access(settings.host, accessOf(settings)),
    watch: workers.keeper,
    decisions,
    apiKeyOf: workers.apiKeyOf,
    onFinished: (facts) => {
      check.add(facts)
      metrics.finished(facts)
      log?.request(facts)
      onFinished?.(facts)
    },
    settings: {
      tellsPlacement: settings.tellsPlacement,
      trustsRoutingHeaders: settings.trustsRoutingHeaders,
      readsNvext: settings.readsNvext,
      injectsUsage: settings.injectsUsage,
      passesAuthorization: settings.apiKeys.length === 0,
      retryLimit: settings.retryLimit,
      firstByteTimeoutMs: 1000 * settings.firstByteTimeoutSecs,
      idleTimeoutMs: 1000 * settings.idleTimeoutSecs,
      sseKeepAliveMs: settings.sseKeepAliveMs,
      requestTimeoutMs: 1000 * settings.requestTimeoutSecs,
      tokenizerOf: (model) => tokenizers.folderOf(model),
      modelAliases: settings.modelAliases,
      overload: overloadOf(settings),
      upstreams: {
        rules: new EndpointRules(settings.workerAllow),
        connectTimeoutMs: 1000 * settings.connectTimeoutSecs,
        keepAliveMs: 1000 * settings.upstreamKeepAliveSecs,
      },
      bodies: {
        bodyBytes: settings.bodyLimitMb * mebibyte,
        allBytes: settings.bufferLimitMb * mebibyte,
      },
    },
  })
  opened.push(() => proxy.close())
  metrics.attach({
    proxy,
    reader,
    sizes: () => ({ kept_workers: workers.keeper.size, tokenizer_models: tokenizers.size }),
  })
  return { proxy, reader, workers, tokenizers }
}

/** Error: `ROUTER_CONFIG_INVALID` for a file that cannot be read. */
async function templateOf({ chatTemplate }: ServeSettings): Promise<Buffer | undefined> {
  if (chatTemplate === undefined) return undefined
  return readFile(chatTemplate).catch((error: unknown) =>
    refuse('--chat-template', error, 'a file with a Jinja template'),
  )
}

function refuseTokenizer(error: unknown): never {
  return refuse(
    '--tokenizer',
    error,
    'a folder with tokenizer.json, tokenizer_config.json and a chat template',
  )
}

function refuse(flag: string, error: unknown, accepted: string): never {
  const message = `${flag}: ${(error as Error).message}; accepted: ${accepted}`
  throw new ConfigError('ROUTER_CONFIG_INVALID', message, [
    { code: 'ROUTER_CONFIG_INVALID', message, path: [flag], accepted },
  ])
}
