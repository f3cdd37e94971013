import { type BlockIndex, DEVICE } from '@router/kv-index'
import type { FigureRow, Timed } from '../harness/figure.js'
import { type Blocks, blocksFrom, emptyRun, expectSize, pointRun, storeOrThrow } from './blocks.js'
import { createIndex } from './subject.js'

const eventBlocks = 128
const ranks = 8
/** With the blocks of each, 1,048,576 live blocks. */
const liveEvents = 8192
/** Stored or removed by one timed call. */
const turnEvents = 1024
const group = 'ingest at 1 M live blocks'

/** Events of 128 blocks, of which a window lives in the index; they come round again when all had their turn. */
interface Ring {
  readonly index: BlockIndex
  /** Stores the next events of the ring. */
  readonly storeNext: () => number
  /** Removes the oldest. */
  readonly removeOldest: () => number
}

interface RingOptions {
  /** Events that continue one another; the first of them starts at the root. */
  readonly chainEvents?: number
  /** In which order an event names the blocks that it removes. */
  readonly removesTailFirst?: boolean
}

function createRing({ chainEvents = 1, removesTailFirst = true }: RingOptions = {}): Ring {
  const index = createIndex()
  const events = liveEvents + turnEvents
  const blocks = blocksFrom(0, events * eventBlocks)
  const removed = removesTailFirst ? reversedEvents(blocks, events, chainEvents) : blocks.engine
  const run = emptyRun(blocks)
  const rankOf = (event: number): number => Math.floor(event / chainEvents) % ranks
  let stored = 0
  let oldest = 0
  const storeOne = (): void => {
    const start = stored * eventBlocks
    pointRun(run, start, eventBlocks, stored % chainEvents === 0 ? -1 : start - 1)
    storeOrThrow(index, rankOf(stored), DEVICE, run)
    stored = (stored + 1) % events
  }
  for (let event = 0; event < liveEvents; event++) storeOne()
  expectSize(index, liveEvents * eventBlocks)
  return {
    index,
    storeNext: () => {
      for (let event = 0; event < turnEvents; event++) storeOne()
      return stored
    },
    removeOldest: () => {
      for (let event = 0; event < turnEvents; event++) {
        const outcome = index.remove(rankOf(oldest), DEVICE, removed, oldest * eventBlocks, eventBlocks)
        if (outcome !== 'ok') throw new Error(`a removal was answered ${outcome}`)
        oldest = (oldest + 1) % events
      }
      return oldest
    },
  }
}

/** The engine hashes of every chain from its last block to its first, as an engine evicts. */
function reversedEvents({ engine }: Blocks, events: number, chainEvents: number): Uint32Array {
  const reversed = new Uint32Array(engine.length)
  const blocks = chainEvents * eventBlocks
  for (let first = 0; first < events * eventBlocks; first += blocks) {
    for (let block = 0; block < blocks; block++) {
      reversed.set(
        engine.subarray(2 * (first + block), 2 * (first + block) + 2),
        2 * (first + blocks - 1 - block),
      )
    }
  }
  return reversed
}

function timeStores(options?: RingOptions): Timed {
  const { index, storeNext, removeOldest } = createRing(options)
  return {
    perCall: turnEvents * eventBlocks,
    body: storeNext,
    afterwards: () => {
      expectSize(index, (liveEvents + turnEvents) * eventBlocks)
      removeOldest()
    },
  }
}

function timeRemovals(options?: RingOptions): Timed {
  const { index, storeNext, removeOldest } = createRing(options)
  return {
    perCall: turnEvents * eventBlocks,
    body: removeOldest,
    afterwards: () => {
      expectSize(index, (liveEvents - turnEvents) * eventBlocks)
      storeNext()
    },
  }
}

/** One more rank stores what eight others hold. */
function timeKnownStores(): Timed {
  const index = createIndex()
  const events = liveEvents / ranks
  const blocks = blocksFrom(0, events * eventBlocks)
  const removed = reversedEvents(blocks, events, 1)
  const run = emptyRun(blocks)
  const storeAll = (rank: number): number => {
    for (let event = 0; event < events; event++) {
      storeOrThrow(index, rank, DEVICE, pointRun(run, event * eventBlocks, eventBlocks, -1))
    }
    return run.start
  }
  for (let rank = 0; rank < ranks; rank++) storeAll(rank)
  return {
    perCall: events * eventBlocks,
    body: () => storeAll(ranks),
    afterwards: () => {
      expectSize(index, events * eventBlocks * (ranks + 1))
      index.remove(ranks, DEVICE, removed, 0, events * eventBlocks)
    },
  }
}

/** Blocks that each sequence grows by in one timed call. */
const grownBlocks = 32

/** Sequences that all grow by a block at a time, as decoding makes them grow, and lose their last blocks one by one. */
function createGrowing() {
  const { index } = createRing()
  const sequences = turnEvents
  const first = (liveEvents + turnEvents) * eventBlocks
  const blocks = blocksFrom(first, sequences * (1 + grownBlocks))
  const run = emptyRun(blocks)
  const startOf = (sequence: number): number => sequence * (1 + grownBlocks)
  for (let sequence = 0; sequence < sequences; sequence++) {
    storeOrThrow(index, sequence % ranks, DEVICE, pointRun(run, startOf(sequence), 1, -1))
  }
  const size = index.currentSize
  const grow = (): number => {
    for (let block = 1; block <= grownBlocks; block++) {
      for (let sequence = 0; sequence < sequences; sequence++) {
        const at = startOf(sequence) + block
        storeOrThrow(index, sequence % ranks, DEVICE, pointRun(run, at, 1, at - 1))
      }
    }
    return run.start
  }
  const shrink = (): number => {
    let missing = 0
    for (let block = grownBlocks; block > 0; block--) {
      for (let sequence = 0; sequence < sequences; sequence++) {
        const at = startOf(sequence) + block
        if (index.remove(sequence % ranks, DEVICE, blocks.engine, at, 1) !== 'ok') missing++
      }
    }
    return missing
  }
  const events = sequences * grownBlocks
  return { index, size, grow, shrink, events }
}

function timeOneBlockStores(): Timed {
  const { index, size, grow, shrink, events } = createGrowing()
  return {
    perCall: events,
    body: grow,
    afterwards: () => {
      expectSize(index, size + events)
      shrink()
    },
  }
}

function timeOneBlockRemovals(): Timed {
  const { index, size, grow, shrink, events } = createGrowing()
  grow()
  return {
    perCall: events,
    body: shrink,
    afterwards: () => {
      expectSize(index, size)
      grow()
    },
  }
}

const whyNot =
  'each block is a line of its own in the table of names and waits for memory; a bare loop (see the lookups) says how fast the machine is'
const stored = { group, unit: 'M blocks/s', reach: { atLeast: 10 }, whyNot } as const
const removed = { group, unit: 'M blocks/s', reach: { atLeast: 15 }, whyNot } as const
const oneBlock = { group, unit: 'M events/s', reach: { atLeast: 1.2 }, whyNot } as const

export const ingestRows: readonly FigureRow[] = [
  { ...stored, name: '128-block events stored at the root', setup: () => timeStores() },
  {
    ...stored,
    name: '128-block events stored, 3 of 4 behind a parent',
    setup: () => timeStores({ chainEvents: 4 }),
  },
  { group, unit: 'M blocks/s', name: '128-block events stored by a ninth rank', setup: timeKnownStores },
  { ...removed, name: '128-block events removed, last block first', setup: () => timeRemovals() },
  {
    ...removed,
    name: '128-block events removed, first block first',
    setup: () => timeRemovals({ removesTailFirst: false }),
  },
  { ...oneBlock, name: 'one-block events stored', setup: timeOneBlockStores },
  { ...oneBlock, name: 'one-block events removed', setup: timeOneBlockRemovals },
]
