import { FILTER_REASONS, NOOP_REASONS } from '@router/kv-events'
import { fleetFindings } from './fleet-health.js'
import type { Fleet } from './fleet.js'
import type { Finding } from './health-causes.js'
import type { DeliveredSelection } from './selection-measures.js'

/** How long something counts as of now. */
const recentMs = 60_000
const hourMs = 3_600_000
/** Bookings an hour, of which one may expire. */
const bookingsPerExpiry = 1000

const knownDrops: ReadonlySet<string> = new Set([...FILTER_REASONS, ...NOOP_REASONS])

/** A number that grows, and when it last did. */
interface Watched {
  readonly value: bigint | number | undefined
  readonly changedMs: number
}

/** When a rank was asked, since its last batch, for what it was not known to hold. */
interface Asked {
  readonly firstMs: number
  lastMs: number
}

interface Sample {
  readonly atMs: number
  readonly booked: number
  readonly expired: number
}

/**
 * What is not well with a fleet, also what only time shows: events that stopped, events that nobody can read, bookings that nobody frees.
 * Look every few seconds; what is remembered of workers goes with them.
 */
export class FleetWatch {
  readonly #fleet: Fleet
  readonly #nowMs: () => number
  #cursors = new Map<string, Watched['value']>()
  // By worker and rank; since the last look also of ranks without a socket.
  readonly #asked = new Map<bigint, Map<number, Asked>>()
  #undecodable = new Map<string, Watched>()
  // The last hour, a sample a minute.
  readonly #samples: Sample[] = []

  /** @param nowMs monotonic */
  constructor(fleet: Fleet, nowMs: () => number) {
    this.#fleet = fleet
    this.#nowMs = nowMs
    fleet.listen((selection) => this.#ask(selection))
  }

  /** Everything that holds now. `O(workers)`. */
  look(): Finding[] {
    const nowMs = this.#nowMs()
    const sum = (count: 'booked' | 'expired'): number =>
      this.#fleet.partitions.reduce((total, { router }) => total + router.ledger[count], 0)
    const [booked, expired] = [sum('booked'), sum('expired')]
    return [
      ...fleetFindings(this.#fleet),
      ...this.#silentSockets(nowMs),
      ...this.#unreadable(nowMs),
      ...this.#expiries({ atMs: nowMs, booked, expired }),
    ]
  }

  /** A request that its engine has something to tell of: blocks that its rank is not known to hold. */
  #ask({ partition, workerId, dpRank, measures }: DeliveredSelection): void {
    const { promptTokens, overlapBlocks = 0 } = measures
    if (Math.floor(promptTokens / partition.shape.blockSize) <= overlapBlocks) return
    const nowMs = this.#nowMs()
    let ranks = this.#asked.get(workerId)
    if (ranks === undefined) this.#asked.set(workerId, (ranks = new Map()))
    const asked = ranks.get(dpRank)
    if (asked === undefined) ranks.set(dpRank, { firstMs: nowMs, lastMs: nowMs })
    else asked.lastMs = nowMs
  }

  /** Sockets of ranks that are asked for what they do not hold, without a batch. */
  #silentSockets(nowMs: number): Finding[] {
    const findings: Finding[] = []
    const cursors = new Map<string, Watched['value']>()
    const told = new Set<bigint>()
    for (const { registration } of this.#fleet.workers.list()) {
      const { workerId } = registration
      for (const { socketRank, cursor } of this.#fleet.workers.eventReports(workerId)) {
        told.add(workerId)
        const scope = `${workerId}.${socketRank}`
        cursors.set(scope, cursor)
        if (this.#cursors.get(scope) !== cursor) this.#asked.get(workerId)?.delete(socketRank)
        const asked = this.#asked.get(workerId)?.get(socketRank)
        if (asked === undefined || nowMs - asked.firstMs < recentMs || nowMs - asked.lastMs >= recentMs)
          continue
        const detail = `worker ${workerId}, rank ${socketRank}: no batch for 60 s while requests come`
        findings.push({ code: 'kv_events_silent', scope, detail })
      }
    }
    for (const workerId of this.#asked.keys()) if (!told.has(workerId)) this.#asked.delete(workerId)
    this.#cursors = cursors
    return findings
  }

  #unreadable(nowMs: number): Finding[] {
    const findings: Finding[] = []
    const counts = new Map<string, Watched>()
    for (const { registration } of this.#fleet.workers.list()) {
      const dropped = this.#fleet.workers.eventCounters(registration.workerId)?.dropped
      if (dropped === undefined) continue
      const scope = String(registration.workerId)
      const count = Object.entries(dropped).reduce(
        (total, [reason, events]) => total + (knownDrops.has(reason) ? 0 : events),
        0,
      )
      const known = watched(this.#undecodable.get(scope) ?? { value: 0, changedMs: -Infinity }, count, nowMs)
      counts.set(scope, known)
      if (nowMs - known.changedMs >= recentMs) continue
      const detail = `${count} events of worker ${scope} could not be read, the last one within 60 s`
      findings.push({ code: 'undecodable_events', scope, detail })
    }
    this.#undecodable = counts
    return findings
  }

  /** More than one in a thousand of the last hour's bookings expired. */
  #expiries(now: Sample): Finding[] {
    const samples = this.#samples
    while (samples.length > 1 && now.atMs - samples[1]!.atMs >= hourMs) samples.shift()
    const first = samples[0] ?? { atMs: now.atMs, booked: 0, expired: 0 }
    const isNew = samples.length === 0 || now.atMs - samples.at(-1)!.atMs >= recentMs
    if (isNew) samples.push(samples.length === 0 ? first : now)
    const expired = now.expired - first.expired
    const booked = now.booked - first.booked
    if (expired * bookingsPerExpiry <= booked) return []
    const detail = `${expired} of ${booked} bookings of the last hour expired: nobody freed them`
    return [{ code: 'expired_bookings', scope: 'router', detail }]
  }
}

function watched(known: Watched, value: Watched['value'], nowMs: number): Watched {
  return known.value === value ? known : { value, changedMs: nowMs }
}
