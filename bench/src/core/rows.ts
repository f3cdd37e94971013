import type { FigureRow } from '../harness/figure.js'

/** Rows of the `core` bench, in the order they are printed. */
export const coreRows: readonly FigureRow[] = []
