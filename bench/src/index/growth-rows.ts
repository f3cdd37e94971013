import { type BlockIndex, DEVICE, OverlapRows } from '@router/kv-index'
import type { ComputedFigure, FigureRow } from '../harness/figure.js'
import { createBlocks, emptyRun, expectSize, fillBlocks, pointRun, storeOrThrow } from './blocks.js'
import { createIndex } from './subject.js'

const finalBlocks = 10_000_000
const ranks = 8
/** A run in so many is followed by a lookup, a removal and a new store of an older one. */
const turnRuns = 16

type Call = 'store' | 'lookup' | 'remove'

/** Times calls on an index and remembers the longest. */
class LongestCall {
  #milliseconds = 0
  #call: Call = 'store'
  #blocks = 0
  readonly #index: BlockIndex

  constructor(index: BlockIndex) {
    this.#index = index
  }

  ended(call: Call, startedAt: number): void {
    const milliseconds = performance.now() - startedAt
    if (milliseconds <= this.#milliseconds) return
    this.#milliseconds = milliseconds
    this.#call = call
    this.#blocks = this.#index.currentSize
  }

  figure(): ComputedFigure {
    const note = `a ${this.#call}, with ${this.#blocks.toLocaleString('en')} blocks held afterwards`
    return { value: this.#milliseconds, note }
  }
}

/** Grows an empty index by runs from the root, every call timed alone, and answers with the longest. */
function longestCallWhileGrowing(runBlocks: number): ComputedFigure {
  const index = createIndex()
  const longest = new LongestCall(index)
  const scratch = createBlocks(runBlocks)
  const run = emptyRun(scratch)
  const target = new OverlapRows(ranks)
  const runs = finalBlocks / runBlocks
  const store = (number: number): void => {
    pointRun(run, 0, runBlocks, -1)
    const startedAt = performance.now()
    storeOrThrow(index, number % ranks, DEVICE, run)
    longest.ended('store', startedAt)
  }
  for (let number = 0; number < runs; number++) {
    fillBlocks(scratch, number * runBlocks, runBlocks)
    store(number)
    if (number % turnRuns !== 0) continue
    const older = Math.floor(number / 2)
    fillBlocks(scratch, older * runBlocks, runBlocks)
    const lookedUpAt = performance.now()
    index.lookup(scratch.local, runBlocks, target)
    longest.ended('lookup', lookedUpAt)
    if (target.count !== 1) throw new Error(`${target.count} ranks hold run ${older}`)
    const removedAt = performance.now()
    index.remove(older % ranks, DEVICE, scratch.engine, 0, runBlocks)
    longest.ended('remove', removedAt)
    store(older)
  }
  expectSize(index, finalBlocks)
  return longest.figure()
}

const group = 'longest call while growing to 10 M blocks'
const whyNot =
  'the call that doubles a shard of a table or opens a chunk, and whatever the machine did meanwhile: the rounds differ'
const common = { group, unit: 'ms', reach: { atMost: 5 }, whyNot } as const

export const growthRows: readonly FigureRow[] = [
  { ...common, name: '128-block events', compute: () => longestCallWhileGrowing(128) },
  { ...common, name: 'one-block events', compute: () => longestCallWhileGrowing(1) },
]
