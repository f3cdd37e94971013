import { type MockEngine, type MockEngineOptions, modelFolderPath, startMockEngine } from 'router-mock-engine'
import { afterAll } from 'vitest'
import type { RequestFacts } from '../../src/proxy/request-facts.js'
import { loadServePolicy } from '../../src/serve-policy.js'
import { type RunningRouter, startRouter } from '../../src/service/router-service.js'
import { readServeSettings } from '../../src/settings/serve-settings.js'
import { parseWorkerFlag } from '../../src/workers/sources/worker-flags.js'
import { until } from '../until.js'

/** A router as it is served, in front of simulated engines; all is ended after the tests of the file. */
export interface StartedRouter {
  readonly url: string
  readonly router: RunningRouter
  readonly engines: readonly MockEngine[]
  /** What was told of requests, in the order of their ends. */
  readonly finished: readonly RequestFacts[]
  /** Requests booked on any rank. */
  booked(): number
  /** Requests that the engines stopped because their clients had gone. */
  stopped(): number
}

export interface StartedRouterOptions {
  /** By variable. */
  readonly settings?: Readonly<Record<string, string>>
  /** Default: two. */
  readonly engines?: readonly MockEngineOptions[]
  /** What the flag of each worker says beside its URL, as in `block_size=16`. */
  readonly workerFields?: string
}

/** Starts engines, and a router with the tokenizer of the engines, with both listeners; resolves when all workers serve. */
export async function startedRouter({
  settings = {},
  engines: engineOptions = [{}, {}],
  workerFields,
}: StartedRouterOptions = {}): Promise<StartedRouter> {
  const engines = await Promise.all(
    engineOptions.map((options) => startMockEngine({ speedup: 1000, ...options })),
  )
  const finished: RequestFacts[] = []
  const environment = {
    ROUTER_TOKENIZER: modelFolderPath,
    // However slow the machine: what is asked of a tokenizer comes.
    ROUTER_TOKENIZE_BUDGET_MS: '60000',
    ...settings,
  }
  const flagOf = (url: string): string => (workerFields === undefined ? url : `${url},${workerFields}`)
  let seed = 0n
  const router = await startRouter({
    settings: readServeSettings({ environment }),
    policy: await loadServePolicy({ environment }),
    sources: { flags: engines.map(({ url }) => parseWorkerFlag(flagOf(url))) },
    ports: { main: 0, selection: 0 },
    random: () => ++seed,
    onFinished: (facts) => finished.push(facts),
  })
  afterAll(async () => {
    await router.close()
    await Promise.all(engines.map((engine) => engine.close()))
  })
  await until('all serve', () => router.fleet.workers.schedulable === engines.length)
  return {
    url: router.url,
    router,
    engines,
    finished,
    booked: () => router.fleet.partitions.reduce((sum, partition) => sum + partition.router.ledger.live, 0),
    stopped: () =>
      engines.reduce(
        (sum, engine) => sum + Object.values(engine.stats().aborts).reduce((a, b) => a + b, 0),
        0,
      ),
  }
}
