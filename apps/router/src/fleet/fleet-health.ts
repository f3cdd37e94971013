import { type FleetPartition, conflictOf, keyOf, placeOf } from './fleet-partition.js'
import type { Fleet } from './fleet.js'
import type { Finding } from './health-causes.js'
import { type WorkerRegistration, ranksOf } from './worker-registration.js'

/** How one partition does. */
export interface PartitionHealth {
  readonly partition: FleetPartition
  /** Complete workers. */
  readonly workers: number
  readonly schedulable: number
  /** Whether engines tell what ranks hold, or it is believed. */
  readonly mode: 'exact' | 'approximate' | 'mixed'
  /** Nothing of what engines told is missing. */
  readonly isComplete: boolean
  /** Event sockets by state. */
  readonly ranks: Readonly<Record<'connecting' | 'live' | 'recovering' | 'rebuilding' | 'failed', number>>
  /** Device blocks that the index holds. */
  readonly blocks: number
}

/** Every partition. `O(workers)`. */
export function partitionsHealth(fleet: Fleet): PartitionHealth[] {
  const workers = fleet.workers.list()
  return fleet.partitions.map((partition) => {
    const { table } = partition.router.partition
    const own = table.workers.map(({ workerId }) => workerId)
    const ids = new Set(own)
    const reports = own.flatMap((workerId) => fleet.workers.eventReports(workerId))
    const told = own.filter((workerId) => fleet.workers.eventReports(workerId).length > 0).length
    const ranks = { connecting: 0, live: 0, recovering: 0, rebuilding: 0, failed: 0 }
    for (const { state } of reports) ranks[state]++
    return {
      partition,
      workers: own.length,
      schedulable: workers.filter(
        ({ registration, lifecycle }) => lifecycle === 'schedulable' && ids.has(registration.workerId),
      ).length,
      mode: told === 0 ? 'approximate' : told === own.length ? 'exact' : 'mixed',
      isComplete: ranks.live === reports.length,
      ranks,
      blocks: partition.router.index.currentSize,
    }
  })
}

/** What is not well with workers, their events and their facts, as far as the fleet sees it. `O(workers)`. */
export function fleetFindings(fleet: Fleet): Finding[] {
  const findings: Finding[] = []
  if (fleet.workers.schedulable === 0)
    findings.push({ code: 'no_workers', scope: 'router', detail: 'no worker takes requests' })
  const shapes = new Map(fleet.partitions.map(({ name, shape }) => [keyOf(name), shape]))
  for (const { registration, lifecycle } of fleet.workers.list()) {
    const { workerId, totalKvBlocks, maxNumBatchedTokens } = registration
    const scope = String(workerId)
    if (lifecycle === 'incomplete') {
      const shape = shapes.get(keyOf(placeOf(registration)))
      const why = shape && registration.blockSize ? conflictOf(registration, shape) : undefined
      if (why !== undefined)
        findings.push({ code: 'config_conflict', scope, detail: `worker ${scope} is left out: ${why}` })
      continue
    }
    const reports = fleet.workers.eventReports(workerId)
    for (const { socketRank, causes } of reports) {
      for (const code of causes)
        findings.push({
          code,
          scope: `${scope}.${socketRank}`,
          detail: `worker ${scope}, rank ${socketRank}, ${eventAddress(registration, socketRank)}: ${eventTroubles[code]}`,
        })
    }
    if (reports.length === 0 && fleet.settings.usesKvEvents !== false) {
      const detail = `worker ${scope} has no event endpoint: what its ${ranksOf(registration).count} rank(s) hold is believed`
      findings.push({ code: 'approximate_mode', scope, detail })
    }
    const limits = fleet.settings.busyThresholds ?? {}
    const needsBlocks = limits.activeDecodeBlocks !== undefined && !totalKvBlocks
    const needsBatch = limits.activePrefillTokensFraction !== undefined && !maxNumBatchedTokens
    if (needsBlocks || needsBatch) {
      const what = needsBlocks ? 'total_kv_blocks' : 'max_num_batched_tokens'
      const detail = `worker ${scope} does not say ${what}, which a busy threshold needs`
      findings.push({ code: 'capacity_unknown', scope, detail })
    }
  }
  return findings
}

type SocketCause = ReturnType<Fleet['workers']['eventReports']>[number]['causes'][number]

const eventTroubles: Readonly<Record<SocketCause, string>> = {
  kv_events_disconnected:
    'it cannot be reached, or broke off, three times in a row; it is tried again and again',
  index_started_empty: 'what the engine held before the router listened is unknown',
  index_rebuilding: 'some were lost; what the rank holds is being learned anew',
}

/** What the record says of the events of a rank; a base address is that of its first rank. */
function eventAddress(registration: WorkerRegistration, rank: number): string {
  const { kvEventsEndpoint, kvEventsEndpoints, replayEndpoint } = registration
  const address = kvEventsEndpoints?.get(rank) ?? kvEventsEndpoint
  return `events at ${address}, ${replayEndpoint === undefined ? 'no replay endpoint' : `replay at ${replayEndpoint}`}`
}
