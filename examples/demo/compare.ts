import { startDemoFleet } from './fleet.js'
import { type Measured, measure } from './measure.js'
import { play } from './play.js'
import type { DemoPolicy } from './policies.js'
import { type Ceiling, ceilingOf } from './prepare.js'
import { ratesOf } from './router-rates.js'
import { type Workload, requestsOf } from './workload.js'

/** How a workload is played. */
export interface CompareOptions {
  readonly policies: readonly DemoPolicy[]
  readonly engines: number
  /** Of the engines and of those who ask. */
  readonly speedup: number
  readonly seed: number
  /** Told of each step, how many requests it has, and each request that is over. */
  readonly onStep?: (step: string, requests: number) => void
  readonly onRequest?: () => void
}

/** A workload, its ceiling, and each policy on it. */
export interface Comparison {
  readonly workload: string
  readonly description: string
  readonly requests: number
  readonly speedup: number
  readonly ceiling: Ceiling
  readonly blockSize: number
  readonly blocksPerEngine: number
  readonly policies: readonly Measured[]
}

/**
 * Plays a workload once per policy, each time with engines and a router that know nothing yet. Together the pools of the engines have room
 * for the distinct blocks of all prompts once: who scatters prefixes loses them.
 */
export async function compare(workload: Workload, options: CompareOptions): Promise<Comparison> {
  const { engines, speedup, seed, onStep, onRequest } = options
  const { name, description, blockSize, maxModelTokens } = workload
  const requests = requestsOf(workload)
  onStep?.('ceiling', requests)
  const ceiling = await ceilingOf(workload, onRequest)
  // A pool holds one request at least.
  const blocksPerEngine = Math.max(
    Math.ceil(ceiling.distinctBlocks / engines),
    Math.ceil(maxModelTokens / blockSize),
  )
  const policies: Measured[] = []
  for (const policy of options.policies) {
    onStep?.(policy.name, requests)
    const fleet = await startDemoFleet({
      policy,
      engines,
      blockSize,
      blocksPerEngine,
      maxModelTokens,
      speedup,
      seed,
    })
    try {
      const played = await play(workload, fleet.router.url, speedup, onRequest)
      const rates = await ratesOf(fleet.router.url)
      policies.push(measure(policy, played, rates, ceiling, engines))
    } finally {
      await fleet.close()
    }
  }
  return { workload: name, description, requests, speedup, ceiling, blockSize, blocksPerEngine, policies }
}
