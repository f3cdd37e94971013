import { partitionsHealth } from '../fleet/fleet-health.js'
import { FleetWatch } from '../fleet/fleet-watch.js'
import type { FleetWarning } from '../fleet/fleet-worker.js'
import type { Fleet } from '../fleet/fleet.js'
import type { Finding, HealthCauses } from '../fleet/health-causes.js'
import type { JsonValue } from '../http/json-writer.js'
import type { PredictionCheck } from '../proxy/prediction-check.js'
import { causesJson, partitionsJson } from '../selection-api/health-json.js'

/** Whoever can say what is not well, by the name under which it is known. */
export type FindingSource = readonly [name: string, find: () => readonly Finding[]]

/**
 * What is not well with a service, from everybody who knows something of it, and how `GET /health` and `GET /ready` tell it. Causes that
 * events raised about a worker end when it leaves or restarts.
 */
export class ServiceHealth {
  readonly causes: HealthCauses
  readonly #fleet: Fleet
  readonly #sources: FindingSource[]
  readonly #startedMs = performance.now()
  readonly #check: PredictionCheck | undefined

  constructor(fleet: Fleet, nowMs: () => number, causes: HealthCauses, check?: PredictionCheck) {
    this.causes = causes
    this.#fleet = fleet
    this.#check = check
    const watch = new FleetWatch(fleet, nowMs)
    this.#sources = [['fleet', () => watch.look()]]
    const forget = (workerId: bigint): void => causes.clear(String(workerId))
    fleet.workers.listen({ onRemove: forget, onRestart: forget })
  }

  add(...source: FindingSource): void {
    this.#sources.push(source)
  }

  /** Asks everybody. `O(workers)`. */
  look(): void {
    for (const [name, find] of this.#sources) this.causes.found(name, find())
  }

  causesJson(): JsonValue[] {
    this.look()
    return causesJson(this.causes.list())
  }

  /** Body of `GET /health`. */
  json(): Readonly<Record<string, JsonValue | undefined>> {
    const causes = this.causesJson()
    return {
      status: causes.length === 0 ? 'ok' : 'degraded',
      version: __PACKAGE_VERSION__,
      uptime_secs: (performance.now() - this.#startedMs) / 1000,
      causes,
      partitions: partitionsJson(partitionsHealth(this.#fleet), this.#check?.sums()),
    }
  }
}

/** Tells warnings of a fleet: as a cause where events gave rise to them, until the worker goes or restarts. */
export function tellWarning(
  { code, message, workerId, dpRank }: FleetWarning,
  causes: HealthCauses,
  tell: (warning: FleetWarning) => void,
): void {
  if (code === 'block_size_mismatch' || code === 'hash_layout_mismatch')
    causes.raise({ code, scope: `${workerId}.${dpRank}`, detail: message })
  else tell({ code, message, workerId, dpRank })
}

/** What the check of predictions found. */
export function predictionFindings(check: PredictionCheck): Finding[] {
  return check.causes().map(({ code, model, workerId, requests }) => ({
    code,
    scope: workerId === undefined ? model : `${workerId} ${model}`,
    detail: `${workerId === undefined ? '' : `worker ${workerId}, `}model '${model}': as the last ${requests} requests show`,
  }))
}
