import { RouterError } from '@router/sdk'
import type { EngineModel } from '../fleet/engine-facts.js'
import type { FleetWorkers } from '../fleet/fleet-workers.js'
import { HttpError } from '../http/http-error.js'
import type { JsonValue } from '../http/json-writer.js'
import { quoted } from '../quoted.js'

/** What a name in a request stands for. */
export interface ServedModel {
  /** Model of the partition. */
  readonly partition: string
  /** Adapter that the name is of; absent = the model itself. */
  readonly loraName: string | undefined
  /** What engines call it. */
  readonly engineName: string
  /** Workers that serve this name, where not all of the partition do. */
  readonly workerIds: readonly bigint[] | undefined
}

interface Entry {
  readonly model: EngineModel
  readonly partition: string
  readonly workerIds: bigint[]
}

/** What is known of the fleet's models is as old as this at most, milliseconds. */
const freshMs = 1000
/** An unknown name makes it look again, but not more often. */
const lookAgainMs = 50

/** The names that requests may ask for: the union over the workers that take requests (host.md 14.2). */
export class ServedModels {
  readonly #workers: FleetWorkers
  readonly #aliases: ReadonlyMap<string, string>
  readonly #nowMs: () => number
  readonly #maximumNames: number
  // For models of which no engine says when they were made.
  readonly #startedSeconds = Math.floor(Date.now() / 1000)
  #entries = new Map<string, Entry>()
  // Every name that some worker offered; those that nobody offers any more are forgotten first.
  readonly #offered = new Set<string>()
  // Nobody says what there is, and somebody may come who does.
  #isStarting = true
  #isListedWhole = new Set<string>()
  #readMs = -Infinity

  /**
   * @param aliases names by which models may be asked for, with the names that engines know
   * @param maximumNames names of all engines together; further ones are unknown
   */
  constructor(
    workers: FleetWorkers,
    aliases: ReadonlyMap<string, string>,
    nowMs: () => number,
    maximumNames = 65_536,
  ) {
    this.#workers = workers
    this.#aliases = aliases
    this.#nowMs = nowMs
    this.#maximumNames = maximumNames
  }

  /** Names that are remembered, those of workers that take no requests or have left among them. */
  get size(): number {
    return this.#offered.size
  }

  /**
   * Errors: `ROUTER_NOT_READY` for a name whose workers all take no requests now, and for any while no worker that is there has told its
   * models; `not_found` for one that no worker ever offered, `bad_request` for none where there is not exactly one model.
   */
  resolve(name: string | undefined): ServedModel {
    this.#refresh(freshMs)
    if (name === undefined) return this.#only()
    const engineName = this.#aliases.get(name) ?? name
    let entry = this.#entries.get(engineName)
    if (entry === undefined) {
      this.#refresh(lookAgainMs)
      entry = this.#entries.get(engineName)
    }
    if (entry !== undefined) return this.#served(entry)
    if (this.#offered.has(engineName) || this.#isStarting) throw notReady(name)
    throw new HttpError('not_found', `the model ${quoted(name)} does not exist`)
  }

  /** As `GET /v1/models` lists them. */
  list(): JsonValue {
    this.#refresh(lookAgainMs)
    const data = [...this.#entries.values()].map(({ model }) => this.#listed(model, model.id))
    for (const [alias, name] of this.#aliases) {
      const entry = this.#entries.get(name)
      if (entry !== undefined && !this.#entries.has(alias))
        data.push(this.#listed({ ...entry.model, root: entry.model.root ?? name }, alias))
    }
    return { object: 'list', data }
  }

  #listed({ root, parent, maxModelLen, createdSeconds, ownedBy }: EngineModel, id: string): JsonValue {
    return {
      id,
      object: 'model',
      created: createdSeconds ?? this.#startedSeconds,
      owned_by: ownedBy ?? 'router',
      root: root ?? id,
      parent: parent ?? null,
      max_model_len: maxModelLen,
    }
  }

  #only(): ServedModel {
    const models = [...this.#entries.values()].filter(({ model }) => model.parent === undefined)
    const partitions = new Set(models.map(({ partition }) => partition))
    if (partitions.size === 1) return this.#served(models[0]!)
    if (models.length === 0 && (this.#offered.size > 0 || this.#isStarting)) throw notReady(undefined)
    const names = models.slice(0, 10).map(({ model }) => model.id)
    const message = `field 'model' is missing; accepted: ${names.join(', ') || 'none, there are no models'}`
    throw new HttpError('bad_request', message)
  }

  #served({ model, partition, workerIds }: Entry): ServedModel {
    return {
      partition,
      loraName: model.parent === undefined ? undefined : model.id,
      engineName: model.id,
      workerIds: this.#isListedWhole.has(model.id) ? undefined : workerIds,
    }
  }

  #offer(name: string): void {
    this.#offered.delete(name)
    this.#offered.add(name)
    if (this.#offered.size > this.#maximumNames) this.#offered.delete(this.#offered.values().next().value!)
  }

  #refresh(olderThanMs: number): void {
    const nowMs = this.#nowMs()
    if (nowMs - this.#readMs < olderThanMs) return
    this.#readMs = nowMs
    const entries = new Map<string, Entry>()
    const workersOf = new Map<string, number>()
    let hasUnasked = false
    let hasAsked = false
    for (const { registration, facts, lifecycle, origin } of this.#workers.list()) {
      const { workerId, modelName: partition = 'default', role = 'aggregated' } = registration
      if (role !== 'aggregated') continue
      const isOpen = this.#workers.takesRequests(lifecycle)
      if (isOpen) workersOf.set(partition, (workersOf.get(partition) ?? 0) + 1)
      // Those of the selection listener are never contacted.
      if (origin === 'selection') continue
      if (registration.modelName === undefined && facts === undefined) {
        hasUnasked = true
        continue
      }
      hasAsked = true
      const told = facts?.models ?? []
      const models = told.some(({ id }) => id === partition) ? told : [{ id: partition }, ...told]
      for (const model of models) {
        this.#offer(model.id)
        if (!isOpen) continue
        const known = entries.get(model.id)
        // A name is of one partition: of that which is called so, or of the first.
        if (known === undefined || (known.partition !== partition && model.id === partition)) {
          if (entries.size < this.#maximumNames || known !== undefined)
            entries.set(model.id, { model, partition, workerIds: [workerId] })
        } else if (known.partition === partition && !known.workerIds.includes(workerId))
          known.workerIds.push(workerId)
      }
    }
    this.#entries = entries
    this.#isStarting = entries.size === 0 && (hasUnasked || !hasAsked)
    this.#isListedWhole = new Set(
      [...entries].flatMap(([name, { partition, workerIds }]) =>
        workerIds.length === workersOf.get(partition) ? name : [],
      ),
    )
  }
}

function notReady(model: string | undefined): RouterError {
  const which = model === undefined ? '' : ` for model ${quoted(model)}`
  return new RouterError('ROUTER_NOT_READY', `no worker${which} takes requests now`, { model })
}
