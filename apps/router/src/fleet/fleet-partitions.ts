import type { RouterCore } from '@router/core'
import { RouterError } from '@router/sdk'
import {
  FleetPartition,
  type PartitionName,
  type PartitionShape,
  compareNames,
  keyOf,
} from './fleet-partition.js'

/** The partitions of a fleet, and in which of them a request is booked. */
export class FleetPartitions {
  readonly #core: RouterCore
  readonly #maximum: number
  readonly #nowMs: () => number
  readonly #partitions = new Map<string, FleetPartition>()
  // Found last: the next request is likely to be for it, and comparing costs less than a key.
  #last: FleetPartition | undefined

  /**
   * @param maximum partitions at a time
   * @param nowMs monotonic
   */
  constructor(core: RouterCore, maximum: number, nowMs: () => number) {
    this.#core = core
    this.#maximum = maximum
    this.#nowMs = nowMs
  }

  /** By model, routing group and role. */
  list(): FleetPartition[] {
    return [...this.#partitions.values()].toSorted((a, b) => compareNames(a.name, b.name))
  }

  find(name: PartitionName): FleetPartition | undefined {
    const last = this.#last
    if (last !== undefined && compareNames(last.name, name) === 0) return last
    const found = this.#partitions.get(keyOf(name))
    if (found !== undefined) this.#last = found
    return found
  }

  /** The one of this name, made with this shape when there is none; `undefined` = there are too many. */
  obtain(name: PartitionName, shape: PartitionShape): FleetPartition | undefined {
    const known = this.find(name)
    if (known !== undefined || this.#partitions.size >= this.#maximum) return known
    const router = this.#core.router(name, shape.blockSize)
    const partition = new FleetPartition(name, shape, router, this.#nowMs)
    this.#partitions.set(keyOf(name), partition)
    return partition
  }

  /** One without workers is needed no more. */
  forget({ name }: FleetPartition): void {
    this.#core.remove(name)
    this.#partitions.delete(keyOf(name))
    this.#last = undefined
  }

  /** Error: `ROUTER_NOT_READY` when no worker of it takes requests. */
  ready(name: PartitionName): FleetPartition {
    const partition = this.find(name)
    if (partition?.isReady === true) return partition
    const { model, routingGroup, role } = name
    const message = `no worker for model '${model}', routing group '${routingGroup}' (${role}) takes requests`
    throw new RouterError('ROUTER_NOT_READY', message, { model, routingGroup, role })
  }

  /** Where a request is booked; `undefined` = nowhere (any more). Ids are those of the whole fleet. `O(partitions)`. */
  bookedIn(requestId: string): FleetPartition | undefined {
    for (const partition of this.#partitions.values())
      if (partition.router.ledger.has(requestId)) return partition
    return undefined
  }

  /** The same. Error: `ROUTER_NOT_FOUND`. */
  booked(requestId: string): FleetPartition {
    const partition = this.bookedIn(requestId)
    if (partition !== undefined) return partition
    throw new RouterError('ROUTER_NOT_FOUND', `no live booking has the id '${requestId}'`, { requestId })
  }

  /** Error: `ROUTER_DUPLICATE_REQUEST`. */
  checkUnbooked(requestId: string): void {
    if (this.bookedIn(requestId) === undefined) return
    const message = `request id '${requestId}' is booked already`
    throw new RouterError('ROUTER_DUPLICATE_REQUEST', message, { requestId })
  }

  /** See `PartitionRouter.tick`. */
  tick(): void {
    for (const { router } of this.#partitions.values()) router.tick()
  }
}
