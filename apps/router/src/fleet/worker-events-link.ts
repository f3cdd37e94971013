import { lookup } from 'node:dns/promises'
import type { PartitionRouter } from '@router/core'
import { type BatchReader, type EventWarning, type IncarnationCause, WorkerEvents } from '@router/kv-events'
import { EventSocket } from '@router/kv-events/zeromq'
import type { EndpointRules } from './endpoint-rules.js'
import type { FleetPartition } from './fleet-partition.js'
import type { FleetSettings } from './fleet-settings.js'
import type { RankEndpoints } from './rank-endpoints.js'
import type { StrayRanks } from './stray-ranks.js'

/** What links of one fleet share. */
export interface EventServices {
  readonly reader: BatchReader
  readonly nowMs: () => number
  readonly rules: EndpointRules
  readonly settings: Pick<FleetSettings, 'rebuildHorizonMs'>
  /** Addresses of a host name; default: the resolver of the system. */
  readonly resolve?: ((name: string) => Promise<readonly string[]>) | undefined
  /** A batch that had just come is in; when its engine made it, seconds since 1970. */
  readonly onApplied?: ((ts: number) => void) | undefined
}

/** What a link tells its fleet. */
export interface EventListener {
  readonly onIncarnation: (cause: IncarnationCause) => void
  readonly onWarning: (warning: EventWarning) => void
  /** A host name leads where workers may not be. */
  readonly onRefused: (why: string) => void
}

interface RankSocket {
  readonly endpoints: RankEndpoints
  /** Absent while host names are being resolved. */
  socket?: EventSocket
  isClosed: boolean
}

/**
 * The event sockets of one worker, kept as its record says: a rank whose addresses stay keeps its socket and its cache, another one begins
 * anew.
 */
export class WorkerEventsLink {
  readonly events: WorkerEvents
  readonly #router: PartitionRouter
  readonly #strays: StrayRanks
  readonly #workerId: bigint
  readonly #services: EventServices
  readonly #listener: EventListener
  readonly #sockets = new Map<number, RankSocket>()

  constructor(
    { router, strays, shape: { isEagle } }: FleetPartition,
    workerId: bigint,
    services: EventServices,
    listener: EventListener,
  ) {
    this.#router = router
    this.#strays = strays
    this.#workerId = workerId
    this.#services = services
    this.#listener = listener
    this.events = new WorkerEvents({
      index: strays,
      reader: services.reader,
      isEagle,
      slotOf: (dpRank) => router.findSlot(workerId, dpRank) ?? strays.slotOf(workerId, dpRank),
      onIncarnation: (_count, cause) => listener.onIncarnation(cause),
      onWarning: listener.onWarning,
      onApplied: services.onApplied,
      rebuildHorizonMs: services.settings.rebuildHorizonMs,
    })
  }

  /** The record says these addresses now. Call it after the router knows the ranks. */
  follow(wanted: ReadonlyMap<number, RankEndpoints>): void {
    // Whoever told of strays may be the one that is gone.
    let hasLost = false
    for (const [rank, socket] of this.#sockets) {
      const next = wanted.get(rank)
      if (next !== undefined && isSame(next, socket.endpoints)) continue
      this.#drop(rank, socket)
      hasLost = true
      this.events.removeRank(rank)
      // What the rank holds is told by another source, or by none.
      if (next !== undefined) this.#router.setCacheKnown(this.#workerId, rank, false)
    }
    for (const [rank, endpoints] of wanted) if (!this.#sockets.has(rank)) this.#open(rank, endpoints)
    for (const rank of this.#strays.ranksOf(this.#workerId)) {
      const isOfRecord = this.#router.findSlot(this.#workerId, rank) !== undefined
      if (!isOfRecord && !hasLost) continue
      this.events.removeRank(rank)
      this.#strays.forget(this.#workerId, rank)
    }
  }

  /** The worker is gone, or has no events any more. */
  close(): void {
    for (const [rank, socket] of this.#sockets) this.#drop(rank, socket)
    this.events.close()
    for (const rank of this.#strays.ranksOf(this.#workerId)) this.#strays.forget(this.#workerId, rank)
  }

  #open(rank: number, endpoints: RankEndpoints): void {
    const entry: RankSocket = { endpoints, isClosed: false }
    this.#sockets.set(rank, entry)
    if (endpoints.hostNames.length === 0) this.#connect(rank, entry, endpoints)
    else void this.#openResolved(rank, entry)
  }

  async #openResolved(rank: number, entry: RankSocket): Promise<void> {
    const { rules, resolve = resolveName } = this.#services
    let { events, replay } = entry.endpoints
    for (const name of entry.endpoints.hostNames) {
      const addresses = await resolve(name).catch(() => [])
      if (entry.isClosed) return
      const why =
        addresses.length === 0
          ? `host '${name}' has no address`
          : addresses
              .map((address) => rules.refusalOf(address, name))
              .find((refusal) => refusal !== undefined)
      if (why !== undefined) {
        this.#listener.onRefused(why)
        return
      }
      // Connects to the address that was judged, whatever the name means later.
      const address = addresses[0]!.includes(':') ? `[${addresses[0]}]` : addresses[0]!
      events = withHost(events, name, address)
      replay = replay === undefined ? undefined : withHost(replay, name, address)
    }
    this.#connect(rank, entry, { ...entry.endpoints, events, replay })
  }

  #connect(rank: number, entry: RankSocket, { events, replay, bind }: RankEndpoints): void {
    try {
      entry.socket = new EventSocket(this.events, {
        socketRank: rank,
        endpointOffset: 0,
        endpoint: events,
        replayEndpoint: replay,
        bind,
        nowMs: this.#services.nowMs,
      })
    } catch (error) {
      // Later: whoever follows the record now is in the middle of it.
      queueMicrotask(() => {
        if (!entry.isClosed) this.#listener.onRefused((error as Error).message)
      })
    }
  }

  #drop(rank: number, entry: RankSocket): void {
    entry.isClosed = true
    void entry.socket?.close()
    this.#sockets.delete(rank)
  }
}

async function resolveName(name: string): Promise<readonly string[]> {
  const found = await lookup(name, { all: true })
  return found.map(({ address }) => address)
}

function withHost(url: string, name: string, address: string): string {
  const [, host, port] = /^tcp:\/\/(.+):(\d+)$/.exec(url) ?? []
  return host?.toLowerCase() === name ? `tcp://${address}:${port}` : url
}

function isSame(one: RankEndpoints, other: RankEndpoints): boolean {
  return one.events === other.events && one.replay === other.replay && one.bind === other.bind
}
