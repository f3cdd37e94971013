import { z } from 'zod'

// Building blocks of the shapes. Every object is strict: an unknown field is an error at any level.

const u64Limit = 1n << 64n

// One past the largest rank would not fit a u32, and ranks are given as first rank and count.
const largestRank = 0xffff_fffe

/** Entries of one list, ranks of one case, selections of one case: at most so many. */
export const listLimit = 65_536

function isU64Text(text: string): boolean {
  return text.length <= 20 && /^(?:0|[1-9]\d*)$/.test(text) && BigInt(text) < u64Limit
}

function isRowName(name: string): boolean {
  const [workerId = '', dpRank = '', ...more] = name.slice(0, 32).split('.')
  return (
    name.length < 32 &&
    more.length === 0 &&
    isU64Text(workerId) &&
    isU64Text(dpRank) &&
    Number(dpRank) <= largestRank
  )
}

/** An unsigned 64-bit integer as a decimal string: worker ids, hashes, keys, seeds, outputs of the random stream. */
export const u64Text = z.string().refine(isU64Text, 'expected a u64 as a decimal string')

/** A row by worker and rank, for example `41.0`. */
export const rowName = z.string().refine(isRowName, 'expected a row as workerId.dpRank, a u64 and a u32')

/**
 * A plain number. `parseJson` keeps an integer beyond 2^53 - 1 as a bigint; here its digits are the text of a double, as
 * languages print doubles up to 1e21, and mean the double that they round to.
 */
export function plain<S extends z.ZodType<number>>(schema: S) {
  return z.preprocess((value) => (typeof value === 'bigint' ? Number(value) : value), schema)
}

/** A plain number that counts: -0 is 0. */
export function plainInteger<S extends z.ZodType<number>>(schema: S) {
  return z.preprocess(
    (value) => (typeof value === 'bigint' || typeof value === 'number' ? Number(value) + 0 : value),
    schema,
  )
}

/** A count or an index: an integer >= 0, as a double. */
export const count = plainInteger(z.number().min(0).refine(Number.isInteger, 'expected an integer'))

/** Tokens of a request that a host takes: a safe integer >= 0. */
export const promptTokens = plainInteger(z.int().min(0))

/** Tokens per block: a safe integer >= 1. */
export const blockSize = plainInteger(z.int().min(1))

/** A finite double. */
export const double = plain(z.number())

/** Relative or absolute: `|a - b| <= tolerance * max(1, |a|, |b|)`; 0 = the same bits. */
export const tolerance = plain(z.number().min(0))

/** A u64 among raw parameters, as a string or an integer; one beyond 2^53 - 1 stays exact. */
export const u64Parameter = z.union([u64Text, z.int().min(0), z.bigint().min(0n).lt(u64Limit)])

/** What serves: see `label` and `plainDecode` for older lines. */
export const role = z.enum(['aggregated', 'prefill', 'decode', 'encode'])

/** An unsigned 32-bit integer. */
export const u32 = plainInteger(z.int().min(0).max(0xffff_ffff))

/** Position of a block in a request. */
export const blockPosition = plainInteger(z.int().min(0).max(0xffff_ffff))

/** A data-parallel rank: a u32, without the largest. */
export const dpRank = plainInteger(z.int().min(0).max(largestRank))

/** Whether `[start, end)` ranges are sorted and disjoint; empty ones may stand anywhere. */
export function areDisjoint(ranges: readonly (readonly [number, number])[]): boolean {
  let reached = 0
  return ranges.every(([start, end]) => {
    if (start === end) return true
    const isNext = start >= reached && start < end
    reached = end
    return isNext
  })
}

/** Message of ranges that `areDisjoint` refuses. */
export const disjointExpected = 'expected sorted, disjoint [start, end) ranges'

/** Half-open ranges of block positions that a shared cache holds, sorted and disjoint; `null` = nobody looked. */
export const sharedHits = z
  .array(z.tuple([blockPosition, blockPosition]))
  .refine(areDisjoint, { abort: true, message: disjointExpected })
  .nullable()

/**
 * Where the numbers come from: `test` a test of the upstream project, `pr` the text of a pull request, `ours` the formula,
 * `rust` the released router, `rust-branch` unreleased code, `rust+affinity` the release plus the affinity term.
 */
export const source = z.enum(['test', 'pr', 'ours', 'rust', 'rust-branch', 'rust+affinity'])

/** Fields that any line may carry and that nothing is computed from. */
export const caption = {
  /** Name of the case, unique in its file. */
  id: z.string().min(1).optional(),
  /** What the case is about, in words. */
  note: z.string().optional(),
  source: source.optional(),
}

/** The request of a policy case. */
export const request = z.strictObject({
  /** Tokens. */
  promptTokens,
  /** Tokens per block. */
  blockSize,
  tracksPrefillTokens: z.boolean(),
  /** Whether any tier map was non-empty for this request, on any rank. */
  hasTierMatches: z.boolean(),
  sharedHits,
  /** Chained hashes of the complete blocks. */
  prefixHashes: z.array(u64Text).optional(),
  /** Tokens. */
  expectedOutputTokens: count.optional(),
  policyClass: z.string().optional(),
})

/** One candidate row. `null` = unknown, and for `load` no projection. */
export const row = z
  .strictObject({
    workerId: u64Text,
    dpRank,
    /** Blocks; the five cache values are `null` together when the cache state is unknown. */
    deviceOverlapBlocks: double.nullable(),
    hostOverlapBlocks: double.nullable(),
    diskOverlapBlocks: double.nullable(),
    estimateBlocks: double.nullable(),
    /** Tokens. */
    estimateTokens: double.nullable(),
    load: z
      .strictObject({
        /** Tokens still in prefill on the rank, this request excluded. */
        activePrefillTokens: double,
        /** Blocks, those that this request adds included. */
        decodeCostBlocks: double,
        /** This request excluded. */
        activeRequests: double,
      })
      .nullable(),
    /** Blocks of the rank; `null` or 0 = not advertised. */
    totalKvBlocks: count.nullable(),
    /** Of the request's preferred taints; `null` in every row = they do not apply. */
    taintMultiplier: double.nullable(),
    /** Milliseconds. */
    prefillBacklogMs: double.nullable(),
  })
  .refine(hasWholeCache, 'expected the five cache values to be null together')

function hasWholeCache(candidate: {
  readonly deviceOverlapBlocks: number | null
  readonly hostOverlapBlocks: number | null
  readonly diskOverlapBlocks: number | null
  readonly estimateBlocks: number | null
  readonly estimateTokens: number | null
}): boolean {
  const { deviceOverlapBlocks, hostOverlapBlocks, diskOverlapBlocks, estimateBlocks, estimateTokens } =
    candidate
  const values = [deviceOverlapBlocks, hostOverlapBlocks, diskOverlapBlocks, estimateBlocks, estimateTokens]
  return values.every((value) => value === null) || !values.includes(null)
}

/** Candidate rows of a case, each rank once. */
export const rows = z
  .array(row)
  .min(1)
  .refine(
    (all) => new Set(all.map((one) => `${one.workerId}.${one.dpRank}`)).size === all.length,
    'expected each rank once',
  )

export type VectorRequest = z.output<typeof request>
export type VectorRow = z.output<typeof row>
export type VectorSource = z.output<typeof source>
