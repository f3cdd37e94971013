import { type InputScope, type PolicyMemory, type PolicyScope, type ScratchRegion, WyRand } from '@router/sdk'
import type { ColumnMemory } from './column-memory.js'
import type { WarningGate } from './warnings.js'

/** The host services of one policy object, and what the host needs to undo around a query. */
export class HostScope {
  readonly streams: WyRand[] = []
  /** Seed of each stream, in order of creation, for decision records. */
  readonly seeds: bigint[] = []
  readonly scratch: ScratchRegion[] = []
  readonly scope: PolicyScope

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
    const memory: PolicyMemory = {
      webAssemblyMemory: services.memory.webAssemblyMemory,
      allocate: (bytes) => {
        const region = services.memory.allocate(bytes)
        this.scratch.push(region)
        return region
      },
    }
    this.scope = {
      ...inputs,
      ...place,
      memory,
      nowMs: services.nowMs,
      random: (seed = services.entropy()) => {
        const stream = new WyRand(seed)
        this.streams.push(stream)
        this.seeds.push(seed)
        return stream
      },
      warnOnce: (code, workerId, dpRank) => services.warnings.once(code, code, workerId, dpRank),
    }
  }

  markStreams(): void {
    for (let index = 0; index < this.streams.length; index++) this.streams[index]!.mark()
  }

  rewindStreams(): void {
    for (let index = 0; index < this.streams.length; index++) this.streams[index]!.rewind()
  }
}
