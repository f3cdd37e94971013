import type { BlockIndex, BlockRun, HashWords } from '@router/kv-index'

/** Blocks with their two hashes, many chains one after another. */
export interface Blocks {
  readonly engine: HashWords
  readonly local: HashWords
}

/** Scatters 32-bit numbers one to one (the finaliser of MurmurHash3). */
function scatter(number: number): number {
  let word = Math.imul(number ^ (number >>> 16), 0x85eb_ca6b)
  word = Math.imul(word ^ (word >>> 13), 0xc2b2_ae35)
  return word ^ (word >>> 16)
}

/** Hashes of the blocks numbered from `first` on into the start of the arrays; below 2^32, different numbers have different hashes. */
export function fillBlocks({ engine, local }: Blocks, first: number, count: number): void {
  for (let index = 0; index < count; index++) {
    const number = first + index
    engine[2 * index] = scatter(number)
    engine[2 * index + 1] = scatter(number ^ 0x5bd1_e995)
    local[2 * index] = scatter(number ^ 0x27d4_eb2f)
    local[2 * index + 1] = scatter(number ^ 0x1656_67b1)
  }
}

/** Room for so many blocks. */
export function createBlocks(count: number): Blocks {
  return { engine: new Uint32Array(2 * count), local: new Uint32Array(2 * count) }
}

/** The blocks numbered from `first` on. */
export function blocksFrom(first: number, count: number): Blocks {
  const blocks = createBlocks(count)
  fillBlocks(blocks, first, count)
  return blocks
}

/** A store that rows point at one run after another. */
export function emptyRun({ engine, local }: Blocks): BlockRun {
  return { hasParent: false, parentLow: 0, parentHigh: 0, engine, local, start: 0, count: 0 }
}

/** Points the run at blocks `start` to `start + count`, behind block `parent` of the same arrays, or at the root when it is negative. */
export function pointRun(run: BlockRun, start: number, count: number, parent: number): BlockRun {
  run.start = start
  run.count = count
  run.hasParent = parent >= 0
  run.parentLow = parent >= 0 ? run.engine[2 * parent]! : 0
  run.parentHigh = parent >= 0 ? run.engine[2 * parent + 1]! : 0
  return run
}

/** Stores, and throws when the index does not say `ok`. For set-ups; what is timed does not check. */
export function storeOrThrow(index: BlockIndex, rank: number, tier: number, run: BlockRun): void {
  const outcome = index.store(rank, tier, run)
  if (outcome !== 'ok')
    throw new Error(`storing ${run.count} blocks for rank ${rank} was answered ${outcome}`)
}

/** Throws when the index does not hold so many entries on the device tier. */
export function expectSize(index: BlockIndex, expected: number): void {
  if (index.currentSize === expected) return
  throw new Error(`the index holds ${index.currentSize} device entries instead of ${expected}`)
}

/** The numbers below `count` in an order that looks random and is always the same. */
export function shuffled(count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, index) => index).sort((a, b) => scatter(a) - scatter(b))
}
