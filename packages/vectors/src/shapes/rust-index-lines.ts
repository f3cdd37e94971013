import { z } from 'zod'
import { approximateLruLine, approximateTtlLine } from './rust-index-approximate.js'
import { indexEventsLine } from './rust-index.js'

/** A line of `rust-index.jsonl`. */
export const rustIndexLine = z.discriminatedUnion('kind', [
  indexEventsLine,
  approximateLruLine,
  approximateTtlLine,
])
export type RustIndexLine = z.output<typeof rustIndexLine>
