import type { FigureRow } from '../harness/figure.js'

/** Rows of the `index` bench, in the order they are printed. */
export const indexRows: readonly FigureRow[] = []
