import type { PolicyMemory, ScratchRegion, WasmMemory } from '@router/sdk'

interface GrowableMemory extends WasmMemory {
  grow(pages: number): number
}
interface WebAssemblyNamespace {
  readonly Memory: new (descriptor: { initial: number }) => GrowableMemory
}

const pageBytes = 65_536
const alignment = 64

class TestScratch implements ScratchRegion {
  byteOffset: number
  doubles: number
  readonly #memory: TestMemory

  constructor(memory: TestMemory, byteOffset: number, doubles: number) {
    this.#memory = memory
    this.byteOffset = byteOffset
    this.doubles = doubles
  }

  get float64(): Float64Array {
    return new Float64Array(this.#memory.buffer, this.byteOffset, this.doubles)
  }
}

/**
 * The column memory of a hand-made host: scratch space of policies below, the columns of the running selection above. A policy
 * built on it sees its columns at offsets of this buffer, as in the live host, so that SIMD kernels run too.
 */
export class TestMemory implements PolicyMemory {
  readonly #webAssemblyMemory: GrowableMemory | undefined
  #plain: ArrayBuffer
  #scratchBytes = 0
  #top = 0
  #wasRead = false
  #rows = 8
  readonly #rowColumns: TestScratch[] = []

  /** With `webAssembly` false, or where there is none, columns lie in a plain buffer. */
  constructor(options: { readonly webAssembly?: boolean; readonly pages?: number } = {}) {
    const { webAssembly = true, pages = 16 } = options
    const namespace = (globalThis as { WebAssembly?: WebAssemblyNamespace }).WebAssembly
    if (webAssembly && namespace !== undefined) {
      this.#webAssemblyMemory = new namespace.Memory({ initial: pages })
    }
    this.#plain = new ArrayBuffer(this.#webAssemblyMemory === undefined ? pages * pageBytes : 0)
  }

  /** Where everything lies; replaced by every growth. */
  get buffer(): ArrayBuffer {
    return this.#webAssemblyMemory?.buffer ?? this.#plain
  }

  /** Whether a policy asked for the WebAssembly memory, so that its absence may choose another kernel. */
  get wasRead(): boolean {
    return this.#wasRead
  }

  /** `undefined` for a plain buffer. */
  get webAssemblyMemory(): WasmMemory | undefined {
    this.#wasRead = true
    return this.#webAssemblyMemory
  }

  /** Zeroed scratch space, rounded up to whole doubles. */
  allocate(bytes: number): ScratchRegion {
    return this.#newScratch(Math.ceil(bytes / 8))
  }

  /** One double per row; grows with `reserveRows`. */
  allocateColumn(): ScratchRegion {
    const column = this.#newScratch(this.#rows)
    this.#rowColumns.push(column)
    return column
  }

  /** Makes room for a fleet of `rows` in every column that a policy reserved; contents stay. Call it between selections. */
  reserveRows(rows: number): void {
    if (rows <= this.#rows) return
    this.#rows = rows
    for (const column of this.#rowColumns) {
      const moved = this.#newScratch(rows)
      moved.float64.set(column.float64)
      column.byteOffset = moved.byteOffset
      column.doubles = rows
    }
  }

  #newScratch(doubles: number): TestScratch {
    const byteOffset = this.#scratchBytes
    this.#scratchBytes = align(byteOffset + doubles * 8)
    this.#reserve(this.#scratchBytes)
    const scratch = new TestScratch(this, byteOffset, doubles)
    scratch.float64.fill(0)
    return scratch
  }

  /** Forgets the columns of the last selection. */
  releaseColumns(): void {
    this.#top = this.#scratchBytes
  }

  /** Makes room for `bytes` of columns, so that `place` does not move what was placed before. */
  reserveColumns(bytes: number): void {
    this.#reserve(this.#top + bytes)
  }

  /** Copies a column into the buffer. */
  place<T extends Float64Array | Uint32Array | Uint8Array>(column: T): T {
    const constructor = column.constructor as new (
      buffer: ArrayBuffer,
      byteOffset: number,
      length: number,
    ) => T
    const placed = new constructor(this.buffer, this.#top, column.length)
    placed.set(column)
    this.#top = align(this.#top + column.byteLength)
    return placed
  }

  /** Moves every view, as a host does when its fleet outgrows the buffer. */
  grow(pages = 1): void {
    if (this.#webAssemblyMemory !== undefined) {
      this.#webAssemblyMemory.grow(pages)
      return
    }
    const old = new Uint8Array(this.#plain)
    this.#plain = new ArrayBuffer(old.byteLength + pages * pageBytes)
    new Uint8Array(this.#plain).set(old)
    old.fill(0xff)
  }

  #reserve(bytes: number): void {
    const missing = bytes - this.buffer.byteLength
    if (missing > 0) this.grow(Math.ceil(missing / pageBytes))
  }
}

function align(bytes: number): number {
  return Math.ceil(bytes / alignment) * alignment
}
