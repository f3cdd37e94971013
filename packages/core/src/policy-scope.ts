import { type InputScope, type PolicyMemory, type PolicyScope, type ScratchRegion, WyRand } from '@router/sdk'
import type { Column, ColumnMemory } from './column-memory.js'
import type { WarningGate } from './warnings.js'

/** The host services of one policy object, and what the host needs to undo around a query. */
export class HostScope {
  readonly streams: WyRand[] = []
  /** Seed of each stream, in order of creation, for decision records. */
  readonly seeds: bigint[] = []
  readonly scope: PolicyScope
  readonly #memory: ColumnMemory
  readonly #scratch: ScratchRegion[] = []
  readonly #columns: Column[] = []
  #isSealed = false

  constructor(
    inputs: InputScope,
    place: { readonly model: string; readonly routingGroup: string },
    services: {
      readonly memory: ColumnMemory
      readonly entropy: () => bigint
      readonly nowMs: () => number
      readonly warnings: WarningGate
    },
  ) {
    this.#memory = services.memory
    this.scope = {
      ...inputs,
      ...place,
      memory: this.#policyMemory(),
      nowMs: services.nowMs,
      random: (seed) => this.#openStream(seed ?? services.entropy()),
      warnOnce: (code, workerId, dpRank) => services.warnings.once(code, undefined, workerId, dpRank),
    }
  }

  /** After `create`: a stream opened later would be unbounded state. */
  seal(): void {
    this.#isSealed = true
  }

  markStreams(): void {
    for (let index = 0; index < this.streams.length; index++) this.streams[index]!.mark()
  }

  rewindStreams(): void {
    for (let index = 0; index < this.streams.length; index++) this.streams[index]!.rewind()
  }

  release(): void {
    this.#memory.release({ columns: this.#columns, scratch: this.#scratch })
  }

  #openStream(seed: bigint): WyRand {
    if (this.#isSealed) throw new TypeError('random streams are opened in create, not per selection')
    const stream = new WyRand(seed)
    this.streams.push(stream)
    this.seeds.push(seed)
    return stream
  }

  #policyMemory(): PolicyMemory {
    const memory = this.#memory
    return {
      webAssemblyMemory: memory.webAssemblyMemory,
      allocate: (bytes) => {
        const region = memory.allocate(bytes)
        this.#scratch.push(region)
        return region
      },
      allocateColumn: () => {
        const column = memory.column('float64')
        this.#columns.push(column)
        return {
          get byteOffset() {
            return column.offset
          },
          get float64() {
            return column.view
          },
        }
      },
    }
  }
}
