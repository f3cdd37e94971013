import type { CandidateGroups } from '@router/sdk'
import type { Column, ColumnMemory, ColumnType, ViewOfType } from './column-memory.js'

/** Columns of each group, by name and type. `identity` is what every component sees, `reuse` only the host. */
const schema = {
  identity: { workerIdHigh: 'uint32', workerIdLow: 'uint32', dpRank: 'uint32' },
  cache: {
    deviceOverlapBlocks: 'float64',
    hostOverlapBlocks: 'float64',
    diskOverlapBlocks: 'float64',
    estimateBlocks: 'float64',
    estimateTokens: 'float64',
    isAvailable: 'uint8',
  },
  /** Device, host and disk overlap of a row in one sum: read for the largest over all rows, at every tracked selection. */
  reuse: { rawBlocks: 'float64' },
  load: {
    activePrefillTokens: 'float64',
    decodeCostBlocks: 'float64',
    activeRequests: 'float64',
    isAvailable: 'uint8',
  },
  preferredTaint: { multiplier: 'float64' },
  capacity: { totalKvBlocks: 'float64', maxNumBatchedTokens: 'float64' },
  occupancy: { reservations: 'uint32', deviceKind: 'uint8', cacheHits: 'uint32' },
  prefillTime: { backlogMs: 'float64' },
} as const

/** A group of candidate columns, or the identity columns. */
export type GroupName = keyof typeof schema
const groupNames = Object.keys(schema) as GroupName[]

type GroupColumns<G extends GroupName> = {
  readonly [K in keyof (typeof schema)[G]]: Column<ViewOfType[(typeof schema)[G][K] & keyof ViewOfType]>
}

/** The column views of one group, re-pointed in place when the memory moves. */
export type GroupView<G extends GroupName> = G extends keyof CandidateGroups
  ? { -readonly [K in keyof CandidateGroups[G]]: CandidateGroups[G][K] }
  : { -readonly [K in keyof GroupColumns<G>]: ViewOfType[(typeof schema)[G][K] & keyof ViewOfType] }

/** One set of row-aligned columns: the worker table's own, or the gathered rows of a selection. */
export class ColumnSet {
  readonly groups: { readonly [G in GroupName]?: GroupColumns<G> }
  /** Live views by group; `undefined` for groups this set does not hold. */
  readonly views: { readonly [G in GroupName]?: GroupView<G> }
  readonly #memory: ColumnMemory
  readonly #stop: () => void

  constructor(memory: ColumnMemory, groups: readonly GroupName[]) {
    this.#memory = memory
    const columns: Record<string, Record<string, Column>> = {}
    const views: Record<string, object> = {}
    const types = groups.flatMap((group) => Object.values(schema[group]) as ColumnType[])
    const added = memory.columns(types)
    let next = 0
    for (const group of groups) {
      columns[group] = Object.fromEntries(Object.keys(schema[group]).map((name) => [name, added[next++]!]))
      // The flags exist from the start, so that the shape of a view never changes.
      views[group] =
        group === 'cache'
          ? { allAvailable: true, hasTierMatches: false, sharedHits: undefined }
          : group === 'load'
            ? { allAvailable: true }
            : group === 'preferredTaint'
              ? { applies: false }
              : {}
    }
    this.groups = columns as never
    this.views = views as never
    this.#rebind()
    this.#stop = memory.onMove(() => this.#rebind())
  }

  #rebind(): void {
    for (const [group, columns] of Object.entries(this.groups)) {
      const view = this.views[group as GroupName] as unknown as Record<string, unknown>
      for (const [name, column] of Object.entries(columns as Record<string, Column>)) view[name] = column.view
    }
  }

  /** Groups that this set holds. */
  names(): readonly GroupName[] {
    return groupNames.filter((group) => this.groups[group] !== undefined)
  }

  columnsOf(group: GroupName): readonly Column[] {
    return Object.values(this.groups[group] ?? {}) as Column[]
  }

  all(): readonly Column[] {
    return groupNames.flatMap((group) => this.columnsOf(group))
  }

  release(): void {
    this.#stop()
    this.#memory.release({ columns: this.all() })
  }
}
