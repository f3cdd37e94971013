import type { FigureRow } from '../harness/figure.js'
import { promptBodyRows } from './body-rows.js'
import { promptReaderRows } from './reader-rows.js'
import { promptTokenizerRows } from './tokenizer-rows.js'

/** Rows of the `prompt` bench, in the order they are printed. */
export const promptRows: readonly FigureRow[] = [
  ...promptTokenizerRows,
  ...promptBodyRows,
  ...promptReaderRows,
]
