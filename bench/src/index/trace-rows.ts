import { OverlapRows } from '@router/kv-index'
import type { FigureRow, Timed } from '../harness/figure.js'
import { createBlocks, emptyRun, expectSize } from './blocks.js'
import { createIndex } from './subject.js'
import { type TraceRequest, countOperations, playTrace, readTrace, replay } from './trace.js'

const ranks = 8

/** Replays the requests into an empty index, again and again. An operation is a block that is looked up, stored or removed. */
function timeReplay(requests: readonly TraceRequest[], blockSize: number, capacityBlocks: number): Timed {
  const turns = playTrace(requests, { blockSize, ranks, capacityBlocks })
  const { lookedUp, stored, removed } = countOperations(turns)
  const run = emptyRun(createBlocks(0))
  const target = new OverlapRows(ranks)
  let index = createIndex()
  return {
    perCall: lookedUp + stored + removed,
    body: () => {
      const refused = replay(index, turns, run, target)
      if (refused > 0) throw new Error(`${refused} stores and removals were not answered ok`)
      return index.currentSize
    },
    afterwards: () => {
      expectSize(index, stored - removed)
      index = createIndex()
    },
  }
}

const group = 'Mooncake conversation trace'

export const traceRows: readonly FigureRow[] = [
  {
    group,
    name: 'all requests, 512 tokens a block, 8 ranks of 8,192',
    unit: 'M block operations/s',
    reach: { atLeast: 18 },
    whyNot:
      'runs of a dozen blocks: the calls take the time, not the blocks; compare the row of 16-token blocks',
    setup: () => timeReplay(readTrace(), 512, 8192),
  },
  {
    group,
    name: '2,000 requests, 16 tokens a block, 8 ranks of 65,536',
    unit: 'M block operations/s',
    setup: () => timeReplay(readTrace().slice(0, 2000), 16, 65_536),
  },
]
