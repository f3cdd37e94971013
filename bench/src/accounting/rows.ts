import type { FigureRow } from '../harness/figure.js'
import { columnRows } from './column-rows.js'
import { lifeRows } from './life-rows.js'

/** Rows of the `accounting` bench, in the order they are printed. */
export const accountingRows: readonly FigureRow[] = [...lifeRows, ...columnRows]
