import type { HashWords } from './hash-words.js'
import type { HolderRegistry } from './holder-registry.js'
import type { LowerBlocks } from './lower-blocks.js'
import { BLOCK_MASK, BLOCK_SHIFT } from './pool/block-pool.js'
import { CUT, ENTRY_WORDS, LENGTH, LISTED, START } from './pool/edge-holders.js'
import { RECORD_MASK, RECORD_SHIFT } from './pool/record-chunks.js'
import type { Seats } from './seats.js'

/** With this many times more holders on an edge than seats, each seat is looked up among them. */
const SPARSE = 8

/**
 * Extends the matches of a faster tier by what a lower tier holds (host.md 3.4), in place: seats move on. Seats that stand at the
 * same block are walked together.
 */
export class LowerWalk {
  readonly #registry: HolderRegistry
  // Walks to do: edge, blocks of it already passed, blocks of the prompt before, first seat, end of seats.
  readonly #walks: number[] = []

  constructor(registry: HolderRegistry) {
    this.#registry = registry
  }

  /** Moves the seats on; ranks that have a row but no match yet enter where they hold block 0. `Seats.settle` ends the tier. */
  walk(tier: LowerBlocks, local: HashWords, count: number, seats: Seats, rowOfRank: Int32Array): void {
    seats.sort()
    const seated = seats.count
    for (let from = 0; from < seated;) {
      const to = seats.endOfPlace(from)
      this.#enter(tier, local, count, seats, from, to)
      from = to
    }
    this.#enterAtRoot(tier, local, seats, rowOfRank)
    this.#run(tier, local, count, seats)
  }

  /** Seats that stand at one block, by its name, go on to the blocks behind it. */
  #enter(tier: LowerBlocks, local: HashWords, count: number, seats: Seats, from: number, to: number): void {
    const position = seats.position[from]!
    if (position >= count) return
    const low = seats.nameLow[from]!
    const high = seats.nameHigh[from]!
    const known = tier.find(low, high)
    const edge = known < 0 ? 0 : tier.pool.ownerOf(known)
    let isTaken = false
    if (edge !== 0) {
      const passed = known - tier.records.get(edge + START) + 1
      const isInside = passed < tier.records.get(edge + LENGTH)
      if (isInside && tier.pool.hasLocal(known + 1, local[2 * position]! | 0, local[2 * position + 1]! | 0)) {
        this.#plan(edge, passed, position, from, to)
        isTaken = true
      }
    }
    this.#planHeads(tier, local, low, high, position, seats, from, to, isTaken)
  }

  /** Ranks without a match so far enter where they hold block 0. */
  #enterAtRoot(tier: LowerBlocks, local: HashWords, seats: Seats, rowOfRank: Int32Array): void {
    const { rankOf } = this.#registry
    let isSecond = false
    let edge = tier.head(false, 0, 0, local[0]! | 0, local[1]! | 0)
    for (; edge !== 0; edge = tier.nextHead(false, 0, 0, local[0]! | 0, local[1]! | 0)) {
      const from = seats.count
      const first = tier.holders.first(edge)
      for (let index = 0; index < tier.records.get(edge + LISTED); index++) {
        const holder = tier.records.get(first + index * ENTRY_WORDS)
        const rank = rankOf[holder]!
        const row = rank < 0 ? -1 : (rowOfRank[rank] ?? -1)
        if (row >= 0 && !seats.hasEntered(row)) seats.add(row, holder, 0, 0, 0)
      }
      if (seats.count > from) this.#plan(edge, 0, 0, from, seats.count)
      if (isSecond) seats.noteNewcomers()
      isSecond = true
    }
  }

  #run(tier: LowerBlocks, local: HashWords, count: number, seats: Seats): void {
    const walks = this.#walks
    while (walks.length > 0) {
      const to = walks.pop()!
      const from = walks.pop()!
      const base = walks.pop()!
      const passed = walks.pop()!
      this.#pass(tier, local, count, seats, walks.pop()!, passed, base, from, to)
    }
  }

  #plan(edge: number, passed: number, base: number, from: number, to: number): void {
    this.#walks.push(edge, passed, base, from, to)
  }

  /** Along one edge: every seat moves on by what its holder has there; those that reach the end go on to what follows. */
  #pass(
    tier: LowerBlocks,
    local: HashWords,
    count: number,
    seats: Seats,
    edge: number,
    passed: number,
    base: number,
    from: number,
    to: number,
  ): void {
    const start = tier.records.get(edge + START)
    const length = tier.records.get(edge + LENGTH)
    const matched = this.#matching(tier, start + passed, Math.min(length - passed, count - base), local, base)
    const names = tier.pool.engine[start >>> BLOCK_SHIFT]!
    const listed = tier.records.get(edge + LISTED)
    const first = tier.holders.first(edge)
    const words = tier.records.chunks[first >>> RECORD_SHIFT]!
    const end = (first & RECORD_MASK) + listed * ENTRY_WORDS
    const isSparse = listed > (to - from) * SPARSE
    const { holder: holders, position: positions, nameLow, nameHigh } = seats
    let entry = first & RECORD_MASK
    let before = -1
    let whole = from
    for (let seat = from; seat < to; seat++) {
      // Seats mostly come in the order of holders, as entries do: then one goes along with the other.
      const holder = holders[seat]!
      let cut = 0
      if (isSparse || holder < before) {
        const found = tier.holders.find(edge, holder)
        if (found >= 0) cut = tier.records.get(found + CUT)
      } else {
        while (entry < end && words[entry]! < holder) entry += ENTRY_WORDS
        if (entry < end && words[entry] === holder) cut = words[entry + CUT]!
        before = holder
      }
      const blocks = cut - passed < matched ? cut - passed : matched
      if (blocks <= 0) continue
      const last = 2 * ((start + passed + blocks - 1) & BLOCK_MASK)
      positions[seat] = base + blocks
      nameLow[seat] = names[last]!
      nameHigh[seat] = names[last + 1]!
      if (blocks === matched) seats.swap(whole++, seat)
    }
    // Who stopped inside the edge may go on under another name.
    for (let seat = whole; seat < to; seat++) {
      if (seats.position[seat]! > base) this.#goOn(tier, local, count, seats, seat, seat + 1)
    }
    if (whole > from) this.#goOn(tier, local, count, seats, from, whole)
  }

  /** Seats at one place go on along what follows its name. */
  #goOn(tier: LowerBlocks, local: HashWords, count: number, seats: Seats, from: number, to: number): void {
    const position = seats.position[from]!
    if (position >= count) return
    this.#planHeads(
      tier,
      local,
      seats.nameLow[from]!,
      seats.nameHigh[from]!,
      position,
      seats,
      from,
      to,
      false,
    )
  }

  /** Plans a walk of the seats along every edge that follows a name: the seats themselves on one, copies on the others. */
  #planHeads(
    tier: LowerBlocks,
    local: HashWords,
    low: number,
    high: number,
    base: number,
    seats: Seats,
    from: number,
    to: number,
    isTaken: boolean,
  ): void {
    const contentLow = local[2 * base]! | 0
    const contentHigh = local[2 * base + 1]! | 0
    let isFirst = !isTaken
    let edge = tier.head(true, low, high, contentLow, contentHigh)
    for (; edge !== 0; edge = tier.nextHead(true, low, high, contentLow, contentHigh)) {
      if (isFirst) this.#plan(edge, 0, base, from, to)
      else this.#plan(edge, 0, base, seats.count, seats.copy(from, to))
      isFirst = false
    }
  }

  #matching(tier: LowerBlocks, position: number, limit: number, local: HashWords, base: number): number {
    const words = tier.pool.local[position >>> BLOCK_SHIFT]!
    const shift = 2 * (position & BLOCK_MASK) - 2 * base
    const end = 2 * (base + limit)
    let at = 2 * base
    while (
      at < end &&
      words[at + shift] === (local[at]! | 0) &&
      words[at + shift + 1] === (local[at + 1]! | 0)
    )
      at += 2
    return (at >> 1) - base
  }
}
