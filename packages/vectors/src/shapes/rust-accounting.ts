import { z } from 'zod'
import { caption, count, double, dpRank, listLimit, plain, plainInteger, rowName, u64Text } from './common.js'
import { indexBlock } from './rust-index.js'

const natural = plainInteger(z.int().min(0))

/** Local hashes of blocks from the left; the tracking hash of each is the chained one. */
const path = z.array(indexBlock)

// Far beyond any case, and no sum of them is endless.
const milliseconds = plain(z.number().min(0).max(1e15))
const requestId = z.string()
const rankRange = {
  worker: u64Text,
  startRank: dpRank,
  ranks: plainInteger(z.int().min(1).max(4096)),
}
const isWithinU32 = ({ startRank, ranks }: { startRank: number; ranks: number }): boolean =>
  startRank + ranks <= 0xffff_ffff
const withinU32 = 'expected every rank within u32'

const rankLoad = z.strictObject({
  activeBlocks: count,
  activePrefillTokens: count,
  activeRequests: count,
  /** Of a request with the path of the probe. */
  additionalBlocks: count,
  /** Absent = 0, `null` = unknown. */
  modeledRemainingMs: double.nullable().optional(),
})

const releaseOutcome = z.enum(['applied', 'no_change']).optional()

const step = z.discriminatedUnion('op', [
  z.strictObject({
    op: z.literal('add'),
    id: requestId,
    rank: rowName,
    /** `null` = no hashes. */
    path: path.nullable(),
    /** Effective ones. */
    prefillTokens: natural,
    durationMs: milliseconds.optional(),
    tracksPrefill: z.boolean().optional(),
    lora: z.string().optional(),
    expect: z.enum(['ok', 'duplicate_request', 'worker_not_found']).optional(),
  }),
  z.strictObject({ op: z.literal('prefillComplete'), id: requestId, expect: releaseOutcome }),
  z.strictObject({ op: z.literal('free'), id: requestId, expect: releaseOutcome }),
  z.strictObject({
    op: z.literal('output'),
    id: requestId,
    fraction: plain(z.number().min(0).max(1)).optional(),
    expect: z.enum(['ok', 'request_not_found']).optional(),
  }),
  z.strictObject({
    op: z.literal('removeWorker'),
    worker: u64Text,
    expect: z.enum(['ok', 'worker_not_found']).optional(),
  }),
  z
    .strictObject({ op: z.literal('upsertWorker'), ...rankRange, expect: z.literal('ok').optional() })
    .refine(isWithinU32, withinU32),
  z.strictObject({ op: z.literal('advance'), ms: milliseconds }),
  z.strictObject({ op: z.literal('sweep') }),
  z.strictObject({ op: z.literal('loras'), expect: z.record(z.string(), count).optional() }),
  z.strictObject({ op: z.literal('probe'), path, expect: z.record(rowName, rankLoad).optional() }),
])

const workers = z
  .array(z.strictObject(rankRange).refine(isWithinU32, withinU32))
  .refine((all) => new Set(all.map(({ worker }) => worker)).size === all.length, 'expected each worker once')

/** A line of `rust-accounting.jsonl`: bookings of one partition and role, and what is in flight after them. */
export const rustAccountingLine = z
  .strictObject({
    ...caption,
    blockSize: plainInteger(z.int().min(1)),
    /** Seconds, absolute age; `null` = bookings never expire. */
    expirySecs: plain(z.number().gt(0)).nullable(),
    workers,
    steps: z.array(step).min(1),
  })
  .refine(
    (line) => {
      const changes = line.steps.flatMap((one) => (one.op === 'upsertWorker' ? [one] : []))
      return [...line.workers, ...changes].reduce((sum, { ranks }) => sum + ranks, 0) <= listLimit
    },
    { path: ['workers'], message: `expected at most ${listLimit} ranks over all steps` },
  )

/** A line as `rustAccountingLine` reads it. */
export type RustAccountingLine = z.output<typeof rustAccountingLine>
