import { z } from 'zod'
import { blockSize, caption, count, double, rowName, u32, u64Text } from './common.js'

/** Ranks of one line: at most so many, as in an index. */
const rankLimit = 32_768

/** Slower tiers in the order in which they extend a match. */
export const lowerTiers = ['host_pinned', 'disk', 'external'] as const
const tier = z.enum(['device', ...lowerTiers])

/** A local hash as u64; with an alphabet the index of one of its entries. */
export const indexBlock = z.union([
  z.int().min(0),
  z
    .bigint()
    .min(0n)
    .lt(1n << 64n),
])

/** Local hashes from block 0. Names a block, the last, by the chained hash. */
const path = z.array(indexBlock)
const named = path.min(1, 'expected a path of at least one block')

/** Content of one block, whose local hash the indexes stand for. */
export const blockContent = z.strictObject({
  tokens: z.array(u32),
  lora: z.string().optional(),
  salt: z.string().optional(),
})

/** A number, or an inclusive range where layouts may differ. */
function orRange<S extends z.ZodType<number>>(schema: S) {
  const range = z
    .tuple([schema, schema])
    .refine((ends) => Number(ends[0]) <= Number(ends[1]), 'expected [low, high]')
  return z.union([schema, range])
}

/** One of these, or any of a list. */
function orAny<S extends z.ZodType<string>>(schema: S) {
  return z.union([schema, z.array(schema).min(1)])
}

const blocksOfRanks = z.record(rowName, orRange(count))
const storeOutcome = z.enum(['ok', 'duplicate_store', 'parent_not_found', 'invalid_sequence'])
const removeOutcome = z.enum(['ok', 'block_not_found'])

const eventSteps = z.discriminatedUnion('op', [
  z.strictObject({
    op: z.literal('store'),
    rank: rowName,
    /** Default device. */
    tier: tier.optional(),
    /** Empty = root. */
    parent: path,
    /** Continue `parent`. */
    blocks: path,
    /** The parent named is the last block itself. */
    selfParent: z.boolean().optional(),
    expect: orAny(storeOutcome).optional(),
  }),
  z.strictObject({
    op: z.literal('remove'),
    rank: rowName,
    tier: tier.optional(),
    /** Blocks, in the order of the event. */
    paths: z.array(named),
    expect: orAny(removeOutcome).optional(),
  }),
  z.strictObject({ op: z.literal('clear'), rank: rowName }),
  z.strictObject({ op: z.literal('removeRank'), rank: rowName }),
  z.strictObject({ op: z.literal('removeWorker'), worker: u64Text }),
  z.strictObject({
    op: z.literal('query'),
    path,
    expect: z
      .strictObject({
        /** Blocks of ranks that hold block 0. */
        device: blocksOfRanks,
        /** Blocks beyond the faster tiers; ranks without any are left out. */
        host_pinned: blocksOfRanks.optional(),
        disk: blocksOfRanks.optional(),
        external: blocksOfRanks.optional(),
        /** Of every rank with a match, where some lower tier adds something. */
        effectiveBlocks: z.record(rowName, orRange(double)).optional(),
        /** Tokens. */
        cachedTokens: blocksOfRanks.optional(),
      })
      .optional(),
  }),
  z.strictObject({ op: z.literal('size'), expect: orRange(count).optional() }),
])

/** A line of kind `events`: what engines told, and what the exact index makes of it. */
export const indexEventsLine = z
  .strictObject({
    kind: z.literal('events'),
    ...caption,
    blockSize,
    alphabet: z.array(blockContent).min(1).optional(),
    steps: z.array(eventSteps).min(1),
  })
  .superRefine((line, context) => {
    checkAlphabet(line, line.steps.map(pathsOf), context)
    const ranks = new Set(line.steps.flatMap((step) => ('rank' in step ? [step.rank] : [])))
    if (ranks.size > rankLimit)
      context.addIssue({ code: 'custom', path: ['steps'], message: `expected at most ${rankLimit} ranks` })
    for (const [index, step] of line.steps.entries()) {
      if (step.op === 'store' && step.selfParent === true && step.blocks.length === 0)
        context.addIssue({
          code: 'custom',
          path: ['steps', index, 'blocks'],
          message: 'expected the block that is its own parent',
        })
    }
  })
export type IndexEventsLine = z.output<typeof indexEventsLine>
export type IndexEventsStep = IndexEventsLine['steps'][number]
export type IndexBlock = z.output<typeof indexBlock>
export type BlockContent = z.output<typeof blockContent>

/** Contents are as long as a block, and the paths of each step name contents that there are. */
export function checkAlphabet(
  line: { readonly blockSize: number; readonly alphabet?: readonly BlockContent[] | undefined },
  pathsOfSteps: readonly (readonly (readonly IndexBlock[])[])[],
  context: z.RefinementCtx,
): void {
  const { blockSize: size, alphabet } = line
  if (alphabet === undefined) return
  for (const [index, { tokens }] of alphabet.entries()) {
    if (tokens.length !== size)
      context.addIssue({
        code: 'custom',
        path: ['alphabet', index, 'tokens'],
        message: `expected ${size} tokens`,
      })
  }
  for (const [index, paths] of pathsOfSteps.entries()) {
    if (paths.flat().some((entry) => entry >= alphabet.length))
      context.addIssue({
        code: 'custom',
        path: ['steps', index],
        message: `expected indexes below ${alphabet.length}`,
      })
  }
}

function pathsOf(step: IndexEventsStep): (readonly IndexBlock[])[] {
  if (step.op === 'store') return [step.parent, step.blocks]
  if (step.op === 'remove') return step.paths
  return step.op === 'query' ? [step.path] : []
}
