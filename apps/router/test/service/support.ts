import { type MockEngine, type MockEngineOptions, startMockEngine } from 'router-mock-engine'
import { loadServePolicy } from '../../src/serve-policy.js'
import { type RouterOptions, type RunningRouter, startRouter } from '../../src/service/router-service.js'
import { readServeSettings } from '../../src/settings/serve-settings.js'
import { readWorkerSources } from '../../src/workers/sources/read-worker-sources.js'
import { afterTest } from '../proxy/support/proxies.js'
import { until } from '../until.js'

/** A router as an operator starts it, ended after the test. @param flags of `router serve`, without dashes */
export async function routerOf(
  engines: readonly { readonly url: string }[],
  flags: Readonly<Record<string, string>> = {},
  more: Partial<RouterOptions> = {},
): Promise<RunningRouter> {
  const policy = await loadServePolicy({})
  const router = await startRouter({
    settings: readServeSettings({ flags, policyFile: policy.policyFile }),
    policy,
    sources: readWorkerSources({ worker: engines.map(({ url }) => url) }),
    ports: { main: 0 },
    ...more,
  })
  afterTest(() => router.close())
  await until('every worker serves', () => router.fleet.workers.schedulable === engines.length)
  return router
}

/** A simulated engine that tells what it holds, ended after the test. */
export async function toldEngine(options: MockEngineOptions = {}): Promise<MockEngine> {
  const engine = await startMockEngine({
    speedup: 1000,
    events: { endpoint: 'tcp://127.0.0.1:0', replayEndpoint: 'tcp://127.0.0.1:0' },
    ...options,
  })
  afterTest(() => engine.close())
  return engine
}
