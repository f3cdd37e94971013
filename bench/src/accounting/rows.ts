import type { FigureRow } from '../harness/figure.js'

/** Rows of the `accounting` bench, in the order they are printed. */
export const accountingRows: readonly FigureRow[] = []
