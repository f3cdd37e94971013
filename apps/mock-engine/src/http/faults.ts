import { seededRandom } from '../engine/seeded-random.js'
import type { ServedEngine } from '../engine/serving.js'
import { ApiError, notFound } from './api-error.js'
import { type Fault, type RequestFault, isRequestFault } from './fault-schema.js'

/** Faults that may be active at once. */
export const faultLimit = 100

interface ActiveFault {
  readonly id: string
  readonly fault: Fault
  remaining: number
  applied: number
  readonly random: () => number
}

/** A fault as `GET /admin/faults` shows it; `remaining` is null where nothing ends it. */
export interface FaultReport {
  readonly id: string
  readonly fault: Fault
  readonly applied: number
  readonly remaining: number | null
}

/** The faults that are active, in the order in which they were asked for. At most `faultLimit`; one that is used up is dropped. */
export class Faults {
  readonly #engine: ServedEngine
  readonly #seed: number
  #active: ActiveFault[] = []
  #made = 0

  /** `seed` decides which requests a fraction meets. */
  constructor(engine: ServedEngine, seed: number) {
    this.#engine = engine
    this.#seed = seed
  }

  /** Throws an `ApiError` of status 409 where there are `faultLimit` already. */
  add(fault: Fault): FaultReport {
    return this.addAll([fault])[0]!
  }

  /** All of them, or none: throws an `ApiError` of status 409 where more than `faultLimit` would be active. */
  addAll(faults: readonly Fault[]): FaultReport[] {
    const active = this.#active.length
    if (active + faults.length > faultLimit)
      throw new ApiError(
        409,
        'Conflict',
        `${active} faults are active and ${faults.length} would come, the most are ${faultLimit}; delete some`,
      )
    return faults.map((fault) => this.#add(fault))
  }

  #add(fault: Fault): FaultReport {
    this.#made++
    const times = isRequestFault(fault) ? fault.times : undefined
    const active = {
      id: `fault-${this.#made}`,
      fault,
      remaining: times ?? Infinity,
      applied: 0,
      random: seededRandom(this.#seed + this.#made),
    }
    this.#active.push(active)
    this.#applyToEngine()
    return reportOf(active)
  }

  list(): readonly FaultReport[] {
    return this.#active.map(reportOf)
  }

  /** Ends one fault, or all. Throws an `ApiError` of status 404 for an id that is not active. */
  remove(id?: string): void {
    if (id !== undefined && !this.#active.some((active) => active.id === id))
      throw notFound(`no fault '${id}' is active`)
    this.#active = id === undefined ? [] : this.#active.filter((active) => active.id !== id)
    this.#applyToEngine()
  }

  /** The first fault that meets a request, counted as applied; undefined = none. O(faults). */
  take(request: {
    readonly path: string
    readonly model: string | undefined
    readonly isGeneration: boolean
  }): RequestFault | undefined {
    for (const active of this.#active) {
      const { fault } = active
      if (!isRequestFault(fault)) continue
      if (fault.path === undefined ? !request.isGeneration : fault.path !== request.path) continue
      if (fault.model !== undefined && fault.model !== request.model) continue
      if (fault.fraction !== undefined && active.random() >= fault.fraction) continue
      active.applied++
      if (--active.remaining === 0) this.#active = this.#active.filter((other) => other !== active)
      return fault
    }
    return undefined
  }

  /** What `/health` answers with. */
  get healthStatus(): number {
    return this.#active.some(({ fault }) => fault.kind === 'health_lies' && fault.says === 503) ? 503 : 200
  }

  /** Tells the engine what holds of it as a whole, restarts included. */
  #applyToEngine(): void {
    const faults = this.#active.map(({ fault }) => fault)
    this.#engine.setHang(faults.some((fault) => fault.kind === 'health_lies' && fault.says === 200))
    this.#engine.setSlowness(
      Math.max(1, ...faults.map((fault) => (fault.kind === 'slow_engine' ? fault.factor : 1))),
    )
    this.#engine.setEventFault({
      silent: faults.some((fault) => fault.kind === 'silent_events'),
      lossFraction: Math.max(
        0,
        ...faults.map((fault) => (fault.kind === 'lost_events' ? fault.fraction : 0)),
      ),
    })
  }
}

function reportOf({ id, fault, applied, remaining }: ActiveFault): FaultReport {
  return { id, fault, applied, remaining: remaining === Infinity ? null : remaining }
}
