import type { PartitionName } from '../../src/fleet/fleet-partition.js'
import type { FleetPrompt, RequestTerms, Selection } from '../../src/fleet/fleet-request.js'
import type { FleetSettings } from '../../src/fleet/fleet-settings.js'
import type { FleetWarning } from '../../src/fleet/fleet-worker.js'
import { Fleet, type FleetOptions } from '../../src/fleet/fleet.js'
import type { WorkerRegistration } from '../../src/fleet/worker-registration.js'
import { loadServePolicy } from '../../src/serve-policy.js'

export const everybody: PartitionName = { model: 'default', routingGroup: 'default', role: 'aggregated' }

/** A fleet with a clock of its own, blocks of four tokens, and prompts as words: a letter is a block. */
export interface TestFleet {
  readonly fleet: Fleet
  readonly clock: { ms: number }
  readonly warnings: FleetWarning[]
  add(workerId: number | bigint, more?: Partial<WorkerRegistration>): ReturnType<Fleet['workers']['upsert']>
  select(word: string, terms?: RequestTerms, selectionId?: string): Selection
  reserve(requestId: string, word: string, terms?: RequestTerms): Selection
  /** Active requests by rank. */
  requests(): Record<string, number>
  /** Device blocks of a word by rank. */
  cached(word: string): Record<string, number>
}

const { bundle } = await loadServePolicy({})

/** Four tokens a letter. */
export function promptOf(word: string): FleetPrompt {
  return {
    tokens: [...word].flatMap((letter) => [0, 1, 2, 3].map((at) => 1000 * letter.codePointAt(0)! + at)),
  }
}

export function testFleet(
  settings: FleetSettings = { usesKvEvents: false },
  more: Partial<FleetOptions> = {},
): TestFleet {
  const clock = { ms: 0 }
  const warnings: FleetWarning[] = []
  let seed = 0n
  const fleet = new Fleet({
    policy: bundle,
    clock: () => clock.ms,
    random: () => ++seed,
    settings,
    onWarning: (warning) => warnings.push(warning),
    ...more,
  })
  return {
    fleet,
    clock,
    warnings,
    add: (workerId, rest = {}) =>
      fleet.workers.upsert({
        workerId: BigInt(workerId),
        endpoint: `http://w${workerId}`,
        blockSize: 4,
        ...rest,
      }),
    select: (word, terms = {}, selectionId) =>
      fleet.select(everybody, { prompt: promptOf(word), terms }, selectionId),
    reserve: (requestId, word, terms = {}) =>
      fleet.reserve(everybody, { prompt: promptOf(word), terms }, { requestId }),
    requests: () =>
      Object.fromEntries(
        fleet.partitions.flatMap((partition) =>
          fleet
            .loads(partition)
            .map(({ workerId, dpRank, activeRequests }) => [`${workerId}.${dpRank}`, activeRequests]),
        ),
      ),
    cached: (word) =>
      Object.fromEntries(
        fleet
          .overlaps(everybody, { prompt: promptOf(word) })
          .ranks.map(({ workerId, dpRank, deviceBlocks }) => [`${workerId}.${dpRank}`, deviceBlocks]),
      ),
  }
}

/** Code of what a call throws. */
export function codeOf(call: () => unknown): string | undefined {
  try {
    call()
    return undefined
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}
