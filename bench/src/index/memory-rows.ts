import { type BlockIndex, DEVICE } from '@router/kv-index'
import type { ComputedFigure, FigureRow } from '../harness/figure.js'
import { keptBytes } from '../harness/memory.js'
import { createBlocks, emptyRun, expectSize, fillBlocks, pointRun, storeOrThrow } from './blocks.js'
import { createIndex } from './subject.js'

const million = 1_000_000
const group = 'memory'
const unit = 'bytes per holder-block'

interface Content {
  /** Blocks of a run that starts at the root. */
  readonly runBlocks: number
  readonly holders: number
}

/** Ranks over which holders change from run to run. */
const ranks = 64

/** Stores runs until there are so many different blocks; `from` of them are there already. */
function storeUpTo(index: BlockIndex, from: number, blocks: number, { runBlocks, holders }: Content): void {
  const scratch = createBlocks(runBlocks)
  const run = emptyRun(scratch)
  for (let first = from; first < blocks; first += runBlocks) {
    fillBlocks(scratch, first, runBlocks)
    pointRun(run, 0, runBlocks, -1)
    for (let holder = 0; holder < holders; holder++) {
      storeOrThrow(index, (first / runBlocks + holder) % ranks, DEVICE, run)
    }
  }
  expectSize(index, blocks * holders)
}

function bytesAtAMillion(content: Content): ComputedFigure {
  const before = keptBytes()
  const index = createIndex()
  storeUpTo(index, 0, million, content)
  const kept = keptBytes() - before
  return { value: kept / index.currentSize }
}

/** Arrays grow in steps, so the figure depends on how full they are. */
function bytesAtTheWorst(content: Content): ComputedFigure {
  const before = keptBytes()
  const index = createIndex()
  let worst = 0
  let worstBlocks = 0
  for (let blocks = million; blocks <= 2 * million; blocks += million / 10) {
    storeUpTo(index, blocks === million ? 0 : blocks - million / 10, blocks, content)
    const bytes = (keptBytes() - before) / index.currentSize
    if (bytes <= worst) continue
    worst = bytes
    worstBlocks = blocks
  }
  return { value: worst, note: `with ${worstBlocks.toLocaleString('en')} blocks` }
}

const longRuns: Content = { runBlocks: 500, holders: 1 }
const eightHolders: Content = { runBlocks: 500, holders: 8 }
const singleBlocks: Content = { runBlocks: 1, holders: 1 }

export const memoryRows: readonly FigureRow[] = [
  {
    group,
    name: '1 holder, runs of 500, a million blocks',
    unit,
    reach: { atMost: 42 },
    compute: () => bytesAtAMillion(longRuns),
  },
  {
    group,
    name: '8 holders, runs of 500, a million blocks',
    unit,
    reach: { atMost: 8 },
    compute: () => bytesAtAMillion(eightHolders),
  },
  {
    group,
    name: 'one-block chains, a million',
    unit,
    reach: { atMost: 110 },
    compute: () => bytesAtAMillion(singleBlocks),
  },
  {
    group,
    name: '1 holder, runs of 500, the worst of 1 to 2 million',
    unit,
    compute: () => bytesAtTheWorst(longRuns),
  },
  {
    group,
    name: 'one-block chains, the worst of 1 to 2 million',
    unit,
    compute: () => bytesAtTheWorst(singleBlocks),
  },
]
