import { z } from 'zod'
import { blockSize, caption, count, plain, plainInteger, rowName } from './common.js'
import { type IndexBlock, blockContent, checkAlphabet, indexBlock } from './rust-index.js'

/** Local hashes from block 0. */
const path = z.array(indexBlock)

/** Blocks of a rank or a request, incarnations, attempts: a safe integer >= 0. */
const whole = plainInteger(z.int().min(0))

/** Blocks that left the index, in order, each by its path. Left out = none did. */
const evicted = z.array(path.min(1, 'expected a path of at least one block')).optional()
const evictions = z.strictObject({ evicted })

/** Every rank with a match. */
const query = z.strictObject({
  op: z.literal('query'),
  path,
  expect: z.record(rowName, count).optional(),
})

const capacityStep = z.discriminatedUnion('op', [
  z.strictObject({
    op: z.literal('setCapacity'),
    rank: rowName,
    incarnation: whole,
    /** Blocks; `null` = not advertised. */
    capacity: whole.nullable(),
    expect: evictions.optional(),
  }),
  z.strictObject({
    op: z.literal('acquire'),
    rank: rowName,
    attempt: whole,
    path,
    privateBlocks: whole,
    expect: z.strictObject({ mode: z.enum(['lru', 'ttl', 'ignored']), evicted }).optional(),
  }),
  z
    .strictObject({
      op: z.literal('materialize'),
      rank: rowName,
      attempt: whole,
      path,
      /** Blocks of the path that are not new. */
      from: whole,
      privateBlocks: whole,
      expect: evictions.optional(),
    })
    .refine(({ from, path: blocks }) => from <= blocks.length, {
      path: ['from'],
      message: 'expected at most the blocks of the path',
    }),
  z.strictObject({
    op: z.literal('release'),
    rank: rowName,
    attempt: whole,
    expect: evictions.optional(),
  }),
  z.strictObject({ op: z.literal('resetRank'), rank: rowName }),
  z.strictObject({
    op: z.literal('stats'),
    expect: z
      .strictObject({
        ranks: whole,
        fallbackRanks: whole,
        fallbackActivations: whole,
        leases: whole,
        private: whole,
        active: whole,
        inactive: whole,
        resident: whole,
        overCapacity: whole,
        evictedTotal: whole,
      })
      .optional(),
  }),
  query,
])

const lifetimeStep = z.discriminatedUnion('op', [
  z.strictObject({ op: z.literal('route'), rank: rowName, path }),
  /** The clock moves on. */
  z.strictObject({ op: z.literal('advance'), ms: plain(z.number().min(0)) }),
  query,
])

const outer = { ...caption, blockSize, alphabet: z.array(blockContent).min(1).optional() }

/** A line of kind `approximate-lru`: decisions about ranks whose capacity is known, and what is then believed to be where. */
export const approximateLruLine = z
  .strictObject({ kind: z.literal('approximate-lru'), ...outer, steps: z.array(capacityStep).min(1) })
  .superRefine((line, context) => checkAlphabet(line, line.steps.map(pathsOfCapacityStep), context))
export type ApproximateLruLine = z.output<typeof approximateLruLine>

/** A line of kind `approximate-ttl`: decisions, and what is then believed to be where, for `ttlMs`. */
export const approximateTtlLine = z
  .strictObject({
    kind: z.literal('approximate-ttl'),
    ...outer,
    ttlMs: plain(z.number().positive()),
    steps: z.array(lifetimeStep).min(1),
  })
  .superRefine((line, context) => checkAlphabet(line, line.steps.map(pathsOfLifetimeStep), context))
export type ApproximateTtlLine = z.output<typeof approximateTtlLine>

function pathsOfCapacityStep(step: z.output<typeof capacityStep>): (readonly IndexBlock[])[] {
  const paths = 'path' in step ? [step.path] : []
  if (step.op === 'query' || step.op === 'stats' || step.op === 'resetRank') return paths
  return [...paths, ...(step.expect?.evicted ?? [])]
}

function pathsOfLifetimeStep(step: z.output<typeof lifetimeStep>): (readonly IndexBlock[])[] {
  return step.op === 'advance' ? [] : [step.path]
}
