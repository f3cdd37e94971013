import type { FigureRow } from '../harness/figure.js'
import { growthRows } from './growth-rows.js'
import { hashingRows } from './hashing.js'
import { ingestRows } from './ingest-rows.js'
import { lookupRows } from './lookup-rows.js'
import { memoryRows } from './memory-rows.js'
import { traceRows } from './trace-rows.js'

/** Rows of the `index` bench, in the order they are printed. */
export const indexRows: readonly FigureRow[] = [
  ...lookupRows,
  ...ingestRows,
  ...traceRows,
  ...growthRows,
  ...memoryRows,
  ...hashingRows,
]
