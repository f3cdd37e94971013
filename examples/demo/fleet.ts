import {
  type RunningRouter,
  loadServePolicy,
  readServeSettings,
  readWorkerSources,
  startRouter,
} from '@router/app'
import { WyRand } from '@router/sdk'
import { type MockEngine, startMockEngine } from 'router-mock-engine'
import type { DemoPolicy } from './policies.js'

export interface DemoFleetOptions {
  readonly policy: DemoPolicy
  readonly engines: number
  /** Tokens. */
  readonly blockSize: number
  readonly blocksPerEngine: number
  readonly maxModelTokens: number
  readonly speedup: number
  /** Of the router's ties. */
  readonly seed: number
}

/** Engines with empty caches and a router in front of them. */
export interface DemoFleet {
  readonly router: RunningRouter
  close(): Promise<void>
}

/** Starts a fleet; ready when every engine serves. */
export async function startDemoFleet(options: DemoFleetOptions): Promise<DemoFleet> {
  const { policy, seed } = options
  const opened: (() => unknown)[] = []
  const close = async (): Promise<void> => {
    for (const end of opened.splice(0).toReversed()) await end()
  }
  try {
    const engines: MockEngine[] = []
    while (engines.length < options.engines) {
      const engine = await startEngine(options)
      opened.push(() => engine.close())
      engines.push(engine)
    }
    const flags = {
      ...policy.flags,
      'router-kv-events': String(policy.usesKvEvents),
      tokenizer: engines[0]!.modelFolder,
      // However slow the machine: prompts are tokenised.
      'tokenize-budget-ms': '60000',
    }
    const loaded = await loadServePolicy({ flags })
    const random = new WyRand(BigInt(seed))
    const router = await startRouter({
      settings: readServeSettings({ flags, policyFile: loaded.policyFile }),
      policy: loaded,
      sources: readWorkerSources({ worker: engines.map(workerText) }),
      ports: { main: 0 },
      random: () => random.next(),
    })
    opened.push(() => router.close())
    await allServe(router, engines.length)
    return { router, close }
  } catch (error) {
    await close()
    throw error
  }
}

function startEngine(options: DemoFleetOptions): Promise<MockEngine> {
  const { policy, blockSize, blocksPerEngine: blocksPerRank, maxModelTokens, speedup } = options
  const anyPort = 'tcp://127.0.0.1:0'
  return startMockEngine({
    blockSize,
    blocksPerRank,
    maxModelTokens,
    speedup,
    ...(policy.usesKvEvents && { events: { endpoint: anyPort, replayEndpoint: anyPort } }),
  })
}

/** An engine as `--worker` names it. */
function workerText({ url, kvEventsEndpoints: [events], replayEndpoints: [replay] }: MockEngine): string {
  return events === undefined ? url : `${url},kv_events_endpoint=${events},replay_endpoint=${replay}`
}

async function allServe({ fleet }: RunningRouter, count: number): Promise<void> {
  const endMs = performance.now() + 60_000
  while (fleet.workers.schedulable < count) {
    const { schedulable } = fleet.workers
    if (performance.now() > endMs) throw new Error(`${schedulable} of ${count} engines serve after a minute`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
