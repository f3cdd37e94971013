import type { FigureRow } from '../harness/figure.js'
import { timeIndexing, timePipeline, timeReading } from './bodies.js'
import type { PayloadShape } from './payloads.js'

const long: PayloadShape = { payloads: 1024, eventsPerPayload: 1, blocksPerEvent: 128 }
const mixed: PayloadShape = { payloads: 1024, eventsPerPayload: 16, blocksPerEvent: 8 }
const short: PayloadShape = { payloads: 512, eventsPerPayload: 64, blocksPerEvent: 1 }

const toIndex = { group: 'bytes to index at 1 M live blocks', unit: 'M blocks/s' } as const
const alone = { group: 'reading alone: decode, filter, convert, hash', unit: 'M blocks/s' } as const

/** Rows of the `events` bench, in the order they are printed. */
export const eventsRows: readonly FigureRow[] = [
  {
    ...toIndex,
    name: 'direct reader, 128-block events',
    reach: { atLeast: 7 },
    whyNot:
      'about half is reading (see below), the rest is the index of a million blocks, which waits for memory',
    setup: () => timeIndexing(long, true),
  },
  {
    ...toIndex,
    name: 'through msgpackr, 128-block events',
    reach: { atLeast: 3 },
    whyNot: 'msgpackr itself takes most of it: see reading alone',
    setup: () => timeIndexing(long, false),
  },
  { ...toIndex, name: 'whole pipeline, 128-block events', setup: () => timePipeline(long) },
  { ...toIndex, name: 'direct reader, 16 events of 8 blocks', setup: () => timeIndexing(mixed, true) },
  { ...toIndex, name: 'direct reader, 64 events of a block', setup: () => timeIndexing(short, true) },
  { ...toIndex, name: 'whole pipeline, 64 events of a block', setup: () => timePipeline(short) },
  {
    ...alone,
    name: 'direct reader, 128-block events',
    countsBytes: true,
    setup: () => timeReading(long, true),
  },
  { ...alone, name: 'through msgpackr, 128-block events', setup: () => timeReading(long, false) },
  {
    ...alone,
    name: 'direct reader, 64 events of a block',
    countsBytes: true,
    setup: () => timeReading(short, true),
  },
]
