import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { createServedEngine } from '../engine/served-engine.js'
import type { ServedEngine } from '../engine/serving.js'
import { MockEngineError } from '../errors.js'
import { builtInModel, modelFolderPath } from '../model/built-in-model.js'
import { loadModelFolder } from '../model/model-folder.js'
import { ReplyWriter } from '../model/reply-writer.js'
import { type MockEngineOptions, type MockEngineSettings, mockEngineSettings } from '../options.js'
import { type Fault, parseFault } from './fault-schema.js'
import { type FaultReport, Faults } from './faults.js'
import { createHttpServer } from './http-server.js'
import { EngineMetrics } from './metrics.js'
import { ServedModels } from './models.js'
import { type RecordedRequest, RequestLog } from './request-log.js'
import { ResponseStore } from './response-store.js'
import type { ServerHost } from './server-host.js'
import { type MockEngineStats, StatsCounter } from './stats.js'

/** A simulated server that runs in this process. */
export interface MockEngine {
  /** `http://127.0.0.1:40123`, without a path. */
  readonly url: string
  readonly port: number
  /** The name that requests ask for. */
  readonly model: string
  /** Where the KV events of each rank are published, in the order of ranks; empty = events are off. */
  readonly kvEventsEndpoints: readonly string[]
  /** Where missed events of each rank can be asked for; empty = nowhere. */
  readonly replayEndpoints: readonly string[]
  /** The folder of its tokenizer and chat template, in Hugging Face's form. */
  readonly modelFolder: string
  /** Fulfilled when it is over. */
  readonly ended: Promise<'closed' | 'crashed'>
  /** As `GET /stats`. */
  stats(): MockEngineStats
  /** The last requests byte by byte, oldest first; as many as `recordRequests` says. */
  requests(): readonly RecordedRequest[]
  /** As `POST /admin/faults`. Throws an error that says what is accepted. */
  addFault(fault: Fault): FaultReport
  faults(): readonly FaultReport[]
  /** Ends one fault, or all. */
  removeFaults(id?: string): void
  /** As `POST /admin/restart`: an empty cache, sequence numbers from 0; streams that run end with an error. */
  restart(facts?: { readonly blockSize?: number; readonly blocksPerRank?: number }): Promise<void>
  /** Cuts all connections and ends. */
  crash(): void
  /** Takes no more connections, waits for the requests that run, and ends. */
  drain(): Promise<void>
  /** Cuts all connections and ends. Idempotent. */
  close(): Promise<void>
}

/**
 * Starts a simulated vLLM or SGLang server in this process; several may run at once. Errors: `MOCK_ENGINE_OPTION_INVALID`,
 * `MOCK_ENGINE_MODEL_INVALID`, `MOCK_ENGINE_ENDPOINT_INVALID`, `MOCK_ENGINE_LISTEN_FAILED`.
 */
export async function startMockEngine(options: MockEngineOptions = {}): Promise<MockEngine> {
  const settings = mockEngineSettings(options)
  const model =
    settings.modelFolder === undefined ? builtInModel() : await loadModelFolder(settings.modelFolder)
  const engine = await createServedEngine({ ...settings.engineOptions, model })
  const running = new RunningEngine(engine, settings)
  try {
    await running.listen(settings.host, settings.port)
  } catch (error) {
    await running.close()
    throw error
  }
  return running
}

class RunningEngine implements MockEngine {
  readonly ended: Promise<'closed' | 'crashed'>
  readonly modelFolder: string
  readonly #engine: ServedEngine
  readonly #host: ServerHost
  readonly #app: FastifyInstance
  #markEnded!: (how: 'closed' | 'crashed') => void
  #how: 'closed' | 'crashed' = 'closed'
  #closing: Promise<void> | undefined
  #isDraining = false
  #url = ''
  #port = 0

  constructor(engine: ServedEngine, settings: MockEngineSettings) {
    this.#engine = engine
    this.modelFolder = settings.modelFolder ?? modelFolderPath
    this.ended = new Promise((resolve) => {
      this.#markEnded = resolve
    })
    const cachesPrefixes = settings.engineOptions.cachesPrefixes ?? true
    const root = settings.modelFolder ?? settings.models[0]!
    const stats = new StatsCounter()
    const metrics = new EngineMetrics(engine, {
      modelName: settings.models[0]!,
      cachesPrefixes,
      adapters: settings.adapters.length,
    })
    const faults = new Faults(engine, settings.seed)
    this.#host = {
      engine,
      stats,
      metrics,
      faults,
      settings: {
        replyTokens: settings.replyTokens,
        cachesPrefixes,
        showsCachedTokens: settings.promptTokensDetails,
        embeddingDimensions: settings.embeddingDimensions,
        imageTokens: settings.imageTokens,
        maxLogprobs: settings.maxLogprobs,
        setsRequestIdHeader: settings.requestIdHeaders,
        events: settings.engineOptions.events,
      },
      writer: new ReplyWriter(engine.model),
      models: new ServedModels(settings.models, root, settings.adapters),
      log: new RequestLog(settings.recordRequests),
      responses: new ResponseStore(),
      crash: () => this.crash(),
      restart: async ({ blockSize, blocksPerRank }) => {
        await engine.restart({
          ...(blockSize === undefined ? {} : { blockSize }),
          ...(blocksPerRank === undefined ? {} : { blocksPerRank }),
        })
        stats.restarts++
        metrics.reset()
      },
    }
    for (const fault of settings.faults) faults.add(fault)
    this.#app = createHttpServer(this.#host, settings.keepAliveMs)
    this.#app.server.on('request', (_request, response) => {
      response.once('close', () => {
        if (this.#isDraining) setImmediate(() => this.#app.server.closeIdleConnections())
      })
    })
  }

  get url(): string {
    return this.#url
  }
  get port(): number {
    return this.#port
  }
  get model(): string {
    return this.#host.models.main
  }
  get kvEventsEndpoints(): readonly string[] {
    return this.#engine.eventSockets.map(({ endpoint }) => endpoint)
  }
  get replayEndpoints(): readonly string[] {
    return this.#engine.eventSockets.flatMap(({ replayEndpoint }) => replayEndpoint ?? [])
  }

  async listen(host: string, port: number): Promise<void> {
    try {
      await this.#app.listen({ host, port })
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      const why = code === 'EADDRINUSE' ? `port ${port} of ${host} is in use by another program` : message
      throw new MockEngineError('MOCK_ENGINE_LISTEN_FAILED', `cannot listen: ${why}`, { cause: error })
    }
    this.#port = (this.#app.server.address() as AddressInfo).port
    this.#url = `http://${reachableHost(host)}:${this.#port}`
  }

  stats(): MockEngineStats {
    return this.#host.stats.report(this.#engine.facts())
  }

  requests(): readonly RecordedRequest[] {
    return this.#host.log.list()
  }

  addFault(fault: Fault): FaultReport {
    return this.#host.faults.add(parseFault(fault))
  }

  faults(): readonly FaultReport[] {
    return this.#host.faults.list()
  }

  removeFaults(id?: string): void {
    this.#host.faults.remove(id)
  }

  restart(facts: { readonly blockSize?: number; readonly blocksPerRank?: number } = {}): Promise<void> {
    return this.#host.restart(facts)
  }

  crash(): void {
    this.#how = 'crashed'
    void this.close()
  }

  async drain(): Promise<void> {
    this.#isDraining = true
    await this.#app.close()
    await this.close()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#app.server.closeAllConnections()
    this.#host.responses.close()
    const closed = this.#app.close()
    this.#app.server.closeAllConnections()
    await closed
    await this.#engine.close()
    this.#markEnded(this.#how)
  }
}

/** How others on this machine call the host that a server listens on. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
