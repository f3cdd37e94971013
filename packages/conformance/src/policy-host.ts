import {
  type InputScope,
  type PolicyScope,
  RequestFault,
  RouterError,
  type WorkerInputs,
  WyRand,
} from '@router/sdk'
import type { ViewRead } from './guarded-view.js'
import { handMadeContext } from './hand-made-context.js'
import { type HandMadeRow, type HandMadeView, handMadeView, workerInfosOf } from './hand-made-view.js'
import { type Outcome, outcomeOf } from './outcome.js'
import { type AnyPolicy, type ComponentCall, runComponents } from './run-components.js'
import { type Step, viewOf } from './steps.js'
import { type Subject, inputScopeOf, parametersOf } from './subject.js'
import { TestMemory } from './test-memory.js'

/** How a hand-made host builds and runs the policy object; everything has a default. */
export interface PolicyHostOptions {
  /** Seed of the streams of unseeded `scope.random()`. */
  readonly entropy?: bigint
  /** Positions of the random streams, in order of creation, taken over from another host. */
  readonly streamStates?: readonly bigint[]
  /** Reading of the monotonic clock when the object is built, milliseconds. */
  readonly clockOriginMs?: number
  /** Builds with every input that a patch could need. */
  readonly reservesRuntimeInputs?: boolean
  readonly memory?: TestMemory
  readonly checkViews?: boolean
  readonly onRead?: ((read: ViewRead) => void) | undefined
  readonly around?: (<T>(call: ComponentCall, run: () => T) => T) | undefined
  /** Wraps `create` and the hooks. */
  readonly aroundHook?: (<T>(hook: string, run: () => T) => T) | undefined
  /** Replaces the components that `create` returned. */
  readonly wrap?: (policy: AnyPolicy) => AnyPolicy
}

/** How one selection is presented. */
export interface SelectOptions {
  readonly query?: boolean
  readonly leftOvers?: readonly HandMadeRow[]
  readonly leftOverCost?: number
  readonly writesCanonicalRows?: boolean
}

/** The smallest host that honours the contract: one policy object, hand-made fleets in any row order, injected clock and entropy. */
export class PolicyHost {
  readonly policy: AnyPolicy
  readonly inputs: WorkerInputs
  readonly memory: TestMemory
  readonly #options: PolicyHostOptions
  readonly #streams: WyRand[] = []
  readonly #entropy: WyRand
  #nowMs: number
  #fleet = ''

  constructor(subject: Subject, options: PolicyHostOptions = {}) {
    this.#options = options
    this.memory = options.memory ?? memoryFor(subject)
    this.#entropy = new WyRand(options.entropy ?? 7n)
    this.#nowMs = options.clockOriginMs ?? 1000
    const inputScope = inputScopeOf(subject, options.reservesRuntimeInputs === true)
    const parameters = parametersOf(subject)
    this.inputs = subject.policy.inputs(parameters, inputScope)
    const created = this.#hook(
      'create',
      () => subject.policy.create(parameters, this.#scope(inputScope)) as AnyPolicy,
    )
    this.policy = options.wrap?.(created) ?? created
  }

  /** One selection. The clock advances by 100 ms before each tracked one. */
  select(step: Step, options: SelectOptions = {}): Outcome {
    const view = viewFor(step, options)
    this.#announce(step.fleet ?? step.rows)
    if (options.query !== true) this.#nowMs += 100
    for (const stream of this.#streams) stream.mark()
    try {
      return this.#run(view, step, options)
    } finally {
      if (options.query === true) for (const stream of this.#streams) stream.rewind()
    }
  }

  /** All steps, tracked. */
  selectAll(steps: readonly Step[]): Outcome[] {
    return steps.map((step) => this.select(step))
  }

  /** The positions of the random streams, which a host hands over beside the policy's own state. */
  get streams(): readonly bigint[] {
    return this.#streams.map((stream) => stream.state)
  }

  /** The monotonic clock, milliseconds. */
  get nowMs(): number {
    return this.#nowMs
  }

  /** Runs a hook the way a host does. */
  hook<T>(name: string, run: (policy: AnyPolicy) => T): T {
    return this.#hook(name, () => run(this.policy))
  }

  #run(view: HandMadeView, step: Step, options: SelectOptions): Outcome {
    const { checkViews = false, onRead, around } = this.#options
    const context = handMadeContext(view, { ...step.facts, queryOnly: options.query === true })
    const leftOverCost = options.leftOverCost
    const run = { inputs: this.inputs, memory: this.memory, checkViews, onRead, around, leftOverCost }
    try {
      return outcomeOf(view, runComponents(this.policy, view, context, run))
    } catch (error) {
      if (!RouterError.isInstance(error)) throw error
      if (error.code === 'ROUTER_ALL_ELIGIBLE_WORKERS_FILTERED') return { refused: error.code }
      if (RequestFault.isInstance(error.cause)) return { refused: error.cause.message }
      throw error
    }
  }

  #announce(rows: readonly HandMadeRow[]): void {
    const workers = workerInfosOf(rows)
    if (workers.length === 0) return
    const fleet = workers.map((worker) => `${worker.workerId}:${worker.dataParallelSize}`).join()
    if (fleet === this.#fleet) return
    this.#fleet = fleet
    this.#hook('onWorkersChanged', () => this.policy.onWorkersChanged?.(workers))
  }

  #hook<T>(name: string, run: () => T): T {
    return this.#options.aroundHook === undefined ? run() : this.#options.aroundHook(name, run)
  }

  #scope(inputScope: InputScope): PolicyScope {
    return {
      ...inputScope,
      model: 'model',
      routingGroup: 'default',
      memory: this.memory,
      nowMs: () => this.#nowMs,
      warnOnce: () => {},
      random: (seed) => {
        const restored = this.#options.streamStates?.[this.#streams.length]
        const stream = new WyRand(restored ?? seed ?? this.#entropy.next())
        this.#streams.push(stream)
        return stream
      },
    }
  }
}

const knownViews = new WeakMap<Step, HandMadeView>()

/** Components get copies, so a plain view of a step serves every host. */
function viewFor(step: Step, { leftOvers = [], writesCanonicalRows = false }: SelectOptions): HandMadeView {
  const isPlain = leftOvers.length === 0 && !writesCanonicalRows
  const known = knownViews.get(step)
  if (isPlain && known !== undefined) return known
  const { rows, options } = viewOf(step)
  const view = handMadeView(rows, { ...options, leftOvers, writesCanonicalRows })
  if (isPlain) knownViews.set(step, view)
  return view
}

const memories = new WeakMap<Subject, TestMemory>()

/** One memory for all hosts of a subject: engines reserve much address space for each. */
function memoryFor(subject: Subject): TestMemory {
  const known = memories.get(subject)
  if (known !== undefined) return known
  const memory = new TestMemory({ pages: 64 })
  memories.set(subject, memory)
  return memory
}
