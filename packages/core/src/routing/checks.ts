import { type BlockRun, type HashWords, type PromptBlocks, TIERS } from '@router/kv-index'
import { bad, checkCount } from '../load/booking-checks.js'

/** Tokens of an output; what is more is no count but a fault, and would take its time. */
const longestOutput = 2 ** 24

/** Blocks of a prompt that somebody else hashed. Error: `ROUTER_BAD_REQUEST`. `O(1)`. */
export function checkBlocks(blocks: PromptBlocks): void {
  if (typeof blocks !== 'object' || blocks === null) throw bad('blocks', blocks, 'hashed blocks or tokens')
  const { local, sequence, count } = blocks
  checkWords('blocks.local', local)
  checkWords('blocks.sequence', sequence)
  const present = Math.min(local.length, sequence.length) >> 1
  if (!Number.isInteger(count) || count < 0 || count > present)
    throw bad('blocks.count', count, `an integer from 0 to ${present}, the hashes given`)
}

/** Blocks that an engine is said to have stored. Error: `ROUTER_BAD_REQUEST`. `O(1)`. */
export function checkRun(run: BlockRun): void {
  if (typeof run !== 'object' || run === null) throw bad('run', run, 'a run of blocks')
  const { engine, local, start, count } = run
  checkWords('engine', engine)
  checkWords('local', local)
  const present = Math.min(engine.length, local.length) >> 1
  checkCount('start', start)
  checkCount('count', count)
  if (start + count > present)
    throw bad('start + count', start + count, `at most ${present}, the hashes given`)
}

/** Error: `ROUTER_BAD_REQUEST`. */
export function checkTier(tier: number): void {
  if (TIERS[tier] === undefined)
    throw bad('tier', tier, `an integer from 0 to ${TIERS.length - 1}: ${TIERS.join(', ')}`)
}

/** Error: `ROUTER_BAD_REQUEST`. */
export function checkWords(name: string, words: HashWords): void {
  if (!(words instanceof Uint32Array)) throw bad(name, words, 'a Uint32Array of hash halves')
}

/** Error: `ROUTER_BAD_REQUEST`. */
export function checkGenerated(tokens: number): void {
  checkCount('generatedTokens', tokens)
  if (tokens > longestOutput) throw bad('generatedTokens', tokens, `at most ${longestOutput}`)
}

/** What books and output weights need of a request. Error: `ROUTER_BAD_REQUEST`. */
export function checkExpectedOutput(tokens: number | undefined): void {
  if (tokens !== undefined) checkCount('expectedOutputTokens', tokens)
}
