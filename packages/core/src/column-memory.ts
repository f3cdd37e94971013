import type { ScratchRegion } from '@router/sdk'
import type { WebAssemblyMemory } from './web-assembly.js'
import { newWebAssemblyMemory } from './web-assembly.js'

type ColumnView = Float64Array | Uint32Array | Uint8Array
/** Types of column views. */
export type ViewOfType = { float64: Float64Array; uint32: Uint32Array; uint8: Uint8Array }
export type ColumnType = keyof ViewOfType

const bytesPerEntry = { float64: 8, uint32: 4, uint8: 1 } as const
// Columns of equal size would share their cache sets; a growing stagger keeps a loop over ten of them out of conflicts.
const stagger = 192
const pageBytes = 65_536

/** One column: `view` moves when the memory grows, so read it at the start of each use and never keep it. */
export class Column<V extends ColumnView = ColumnView> {
  view!: V
  /** Bytes from the start of the buffer; asking a typed array for it is ten times as dear. */
  offset = 0
  /** Bytes per entry. */
  readonly width: number
  readonly type: ColumnType
  constructor(type: ColumnType) {
    this.type = type
    this.width = bytesPerEntry[type]
  }
}

class Scratch implements ScratchRegion {
  float64 = new Float64Array(0)
  readonly doubles: number
  constructor(doubles: number) {
    this.doubles = doubles
  }
  get byteOffset(): number {
    return this.float64.byteOffset
  }
}

/**
 * All columns, costs and scratch space of a worker table and its policies, at offsets of one buffer: a plain loop over such
 * columns is faster than over separate arrays, and a WebAssembly kernel reads them in place.
 */
export class ColumnMemory {
  readonly webAssemblyMemory: WebAssemblyMemory | undefined
  /** Rows that every column can hold. */
  capacity = 16
  /** The whole buffer, three ways; columns lie in it at their offsets. Moves like they do. */
  doubles = new Float64Array(0)
  words = new Uint32Array(0)
  bytes = new Uint8Array(0)
  #buffer: ArrayBuffer
  #columns: Column[] = []
  #scratch: Scratch[] = []
  readonly #listeners = new Set<() => void>()

  constructor(useWebAssembly: boolean) {
    this.webAssemblyMemory = useWebAssembly ? newWebAssemblyMemory() : undefined
    this.#buffer = this.webAssemblyMemory?.buffer ?? new ArrayBuffer(pageBytes)
  }

  /** Adds a zeroed column. Cold: moves every view. */
  column<T extends ColumnType>(type: T): Column<ViewOfType[T]> {
    return this.columns([type])[0] as never
  }

  /** Adds zeroed columns. Cold: moves every view, once. */
  columns(types: readonly ColumnType[]): readonly Column[] {
    const added = types.map((type) => new Column(type))
    this.#columns.push(...added)
    this.#layOut(this.capacity)
    return added
  }

  /** Reserves zeroed scratch space. Cold: moves every view. */
  allocate(bytes: number): ScratchRegion {
    const scratch = new Scratch(Math.ceil(bytes / 8))
    this.#scratch.push(scratch)
    this.#layOut(this.capacity)
    return scratch
  }

  /** Calls `listener` whenever views moved; returns how to stop. */
  onMove(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Gives columns and scratch regions back. */
  release(owned: { columns?: readonly Column[]; scratch?: readonly ScratchRegion[] }): void {
    this.#columns = this.#columns.filter((column) => !owned.columns?.includes(column))
    this.#scratch = this.#scratch.filter((scratch) => !owned.scratch?.includes(scratch))
    this.#layOut(this.capacity)
  }

  /** Makes room for `rows`; contents stay. */
  reserve(rows: number): void {
    if (rows <= this.capacity) return
    let capacity = this.capacity
    while (capacity < rows) capacity *= 2
    this.#layOut(capacity)
  }

  #layOut(capacity: number): void {
    const columns = this.#columns.map((column) => column.view?.slice())
    const scratch = this.#scratch.map((region) => region.float64.slice())
    const scratchDoubles = this.#scratch.reduce((sum, region) => sum + region.doubles, 0)
    const columnBytes = this.#columns.reduce(
      (sum, column) => sum + padded(bytesPerEntry[column.type] * capacity),
      0,
    )
    this.#resize(scratchDoubles * 8 + stagger + columnBytes)
    this.doubles = new Float64Array(this.#buffer)
    this.words = new Uint32Array(this.#buffer)
    this.bytes = new Uint8Array(this.#buffer)
    let offset = 0
    for (const [index, region] of this.#scratch.entries()) {
      region.float64 = new Float64Array(this.#buffer, offset, region.doubles)
      region.float64.fill(0)
      region.float64.set(scratch[index]!)
      offset += region.doubles * 8
    }
    offset = Math.ceil(offset / 64) * 64
    for (const [index, column] of this.#columns.entries()) {
      const view = viewOf(column.type, this.#buffer, offset, capacity)
      view.fill(0)
      if (columns[index] !== undefined) view.set(columns[index])
      column.view = view
      column.offset = offset
      offset += padded(bytesPerEntry[column.type] * capacity)
    }
    this.capacity = capacity
    for (const listener of this.#listeners) listener()
  }

  #resize(bytes: number): void {
    if (bytes <= this.#buffer.byteLength) return
    const pages = Math.ceil((bytes - this.#buffer.byteLength) / pageBytes)
    if (this.webAssemblyMemory === undefined) {
      this.#buffer = new ArrayBuffer(this.#buffer.byteLength + pages * pageBytes)
    } else {
      this.webAssemblyMemory.grow(pages)
      this.#buffer = this.webAssemblyMemory.buffer
    }
  }
}

function padded(bytes: number): number {
  return Math.ceil(bytes / 64) * 64 + stagger
}

function viewOf(type: ColumnType, buffer: ArrayBuffer, offset: number, length: number): ColumnView {
  if (type === 'float64') return new Float64Array(buffer, offset, length)
  return type === 'uint32' ? new Uint32Array(buffer, offset, length) : new Uint8Array(buffer, offset, length)
}
