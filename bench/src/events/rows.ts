import type { FigureRow } from '../harness/figure.js'

/** Rows of the `events` bench, in the order they are printed. */
export const eventsRows: readonly FigureRow[] = []
