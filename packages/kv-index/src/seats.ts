import type { OverlapTarget } from './block-index.js'

/**
 * Where the match of each row ends, while lower tiers extend it; struct of arrays. A row has one seat, and more only where one content
 * has several names (twins): then the seats that got furthest count.
 */
export class Seats {
  count = 0
  row: Int32Array = new Int32Array(16)
  holder: Int32Array = new Int32Array(16)
  /** Blocks of the prompt matched. */
  position: Int32Array = new Int32Array(16)
  /** Engine hash of the last of them. */
  nameLow: Int32Array = new Int32Array(16)
  nameHigh: Int32Array = new Int32Array(16)
  // The columns as they were before the last sort.
  #spare: [Int32Array, Int32Array, Int32Array] = [new Int32Array(16), new Int32Array(16), new Int32Array(16)]
  #spareNames: [Int32Array, Int32Array] = [new Int32Array(16), new Int32Array(16)]
  #order = new Float64Array(16)
  // Whether no row has two seats.
  #isPlain = true
  // By row: where it stood before the current tier, how far its seats got in it. Valid where `#stamps` says so.
  #entered = new Int32Array(16)
  #furthest = new Int32Array(16)
  #stamps = new Uint32Array(16)
  #stamp = 0

  /** Empties the table, for columns of `rows` rows. */
  reset(rows: number): void {
    this.count = 0
    this.#isPlain = true
    this.#stamp = this.#stamp === 0xffff_ffff ? 1 : this.#stamp + 1
    if (this.#stamps.length >= rows) return
    this.#furthest = new Int32Array(rows)
    this.#entered = new Int32Array(rows)
    this.#stamps = new Uint32Array(rows)
  }

  add(row: number, holder: number, position: number, nameLow: number, nameHigh: number): void {
    const seat = this.count++
    if (seat === this.row.length) this.#grow()
    this.row[seat] = row
    this.holder[seat] = holder
    this.position[seat] = position
    this.nameLow[seat] = nameLow
    this.nameHigh[seat] = nameHigh
  }

  /** Adds a seat of a row that matched before the first tier. */
  enter(row: number, holder: number, position: number, nameLow: number, nameHigh: number): void {
    if (this.hasEntered(row)) this.#isPlain = false
    this.#stamps[row] = this.#stamp
    this.#entered[row] = position
    this.add(row, holder, position, nameLow, nameHigh)
  }

  /** Whether the row had a match before the current tier. */
  hasEntered(row: number): boolean {
    return this.#stamps[row] === this.#stamp
  }

  swap(a: number, b: number): void {
    if (a === b) return
    swap(this.row, a, b)
    swap(this.holder, a, b)
    swap(this.position, a, b)
    swap(this.nameLow, a, b)
    swap(this.nameHigh, a, b)
  }

  /** Appends copies of some seats; the new count. */
  copy(from: number, to: number): number {
    this.#isPlain = false
    for (let seat = from; seat < to; seat++) {
      this.add(
        this.row[seat]!,
        this.holder[seat]!,
        this.position[seat]!,
        this.nameLow[seat]!,
        this.nameHigh[seat]!,
      )
    }
    return this.count
  }

  /** Brings seats at the same place together, as far as their positions tell. Allocates nothing. */
  sort(): void {
    if (this.count < 2 || this.endOfPlace(0) === this.count) return
    for (let seat = 0; seat < this.count; seat++) this.#order[seat] = this.position[seat]! * 2 ** 20 + seat
    shellSort(this.#order, this.count)
    const { row, holder, position, nameLow, nameHigh } = this
    const [rows, holders, positions] = this.#spare
    const [lows, highs] = this.#spareNames
    for (let to = 0; to < this.count; to++) {
      const from = this.#order[to]! % 2 ** 20
      rows[to] = row[from]!
      holders[to] = holder[from]!
      positions[to] = position[from]!
      lows[to] = nameLow[from]!
      highs[to] = nameHigh[from]!
    }
    this.row = rows
    this.holder = holders
    this.position = positions
    this.nameLow = lows
    this.nameHigh = highs
    this.#spare = [row, holder, position]
    this.#spareNames = [nameLow, nameHigh]
  }

  /** End of the seats at the place of seat `from`. */
  endOfPlace(from: number): number {
    let to = from + 1
    while (
      to < this.count &&
      this.position[from] === this.position[to] &&
      this.nameLow[from] === this.nameLow[to] &&
      this.nameHigh[from] === this.nameHigh[to]
    )
      to++
    return to
  }

  /** Newcomers of a tier are added by several edges: a row may be among them twice. */
  noteNewcomers(): void {
    this.#isPlain = false
  }

  /** Ends a tier: writes by how much it extended each row, lists rows without a match before, keeps the furthest seats. */
  settle(column: Float64Array, target: OverlapTarget): void {
    if (!this.#isPlain) this.#keepFurthest()
    const { row: rows, position: positions } = this
    const entered = this.#entered
    const stamps = this.#stamps
    const stamp = this.#stamp
    for (let seat = 0; seat < this.count; seat++) {
      const row = rows[seat]!
      if (stamps[row] !== stamp) {
        stamps[row] = stamp
        entered[row] = 0
        target.rows[target.count++] = row
      }
      const position = positions[seat]!
      // A second seat of the row finds the difference written and adds nothing.
      if (position > entered[row]!) column[row] = position - entered[row]!
      entered[row] = position
    }
  }

  /** Drops the seats of a row that got less far than another one. */
  #keepFurthest(): void {
    for (let seat = 0; seat < this.count; seat++) this.#furthest[this.row[seat]!] = 0
    for (let seat = 0; seat < this.count; seat++) {
      const row = this.row[seat]!
      if (this.position[seat]! > this.#furthest[row]!) this.#furthest[row] = this.position[seat]!
    }
    let kept = 0
    for (let seat = 0; seat < this.count; seat++) {
      if (this.position[seat] === this.#furthest[this.row[seat]!]!) this.swap(kept++, seat)
    }
    this.count = kept
  }

  #grow(): void {
    const length = 2 * this.row.length
    this.row = longer(this.row, new Int32Array(length))
    this.holder = longer(this.holder, new Int32Array(length))
    this.position = longer(this.position, new Int32Array(length))
    this.nameLow = longer(this.nameLow, new Int32Array(length))
    this.nameHigh = longer(this.nameHigh, new Int32Array(length))
    this.#spare = [new Int32Array(length), new Int32Array(length), new Int32Array(length)]
    this.#spareNames = [new Int32Array(length), new Int32Array(length)]
    this.#order = new Float64Array(length)
  }
}

function swap(column: Int32Array, a: number, b: number): void {
  const kept = column[a]!
  column[a] = column[b]!
  column[b] = kept
}

function longer(old: Int32Array, grown: Int32Array): Int32Array {
  grown.set(old)
  return grown
}

function shellSort(values: Float64Array, count: number): void {
  for (let gap = count >> 1; gap > 0; gap >>= 1) {
    for (let index = gap; index < count; index++) {
      const value = values[index]!
      let to = index
      for (; to >= gap && values[to - gap]! > value; to -= gap) values[to] = values[to - gap]!
      values[to] = value
    }
  }
}
