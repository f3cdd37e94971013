import { BlockHasher, BlockHashes, type BlockRun, type StoreOutcome } from '@router/kv-index'
import { defaultPolicy } from '@router/policy-default'
import { PolicyCatalog, type PolicyDefinition, type WorkerRole } from '@router/sdk'
import { expect } from 'vitest'
import {
  type PartitionRouter,
  type PromptRequest,
  type ReservedRequest,
  type RoutedWorker,
  type RouterCore,
  type RouterCoreConfig,
  type SelectionResult,
  copyResult,
  createRouterCore,
} from '../../src/index.js'
import { nameOf } from './hosts.js'
import { tinyPolicy } from './policies.js'

/** What a rank's columns say; `undefined` = its cache state is unknown. */
export interface CacheRow {
  readonly device: number
  readonly host: number
  readonly disk: number
  readonly blocks: number
  readonly tokens: number
  readonly raw: number
}

type Rest = Partial<Omit<ReservedRequest, 'tokens' | 'blocks' | 'requestId'>>

/** A router over a fleet of its own; prompts are words, one letter a block, and ranks are named `worker.rank`. */
export interface RoutingHost {
  readonly core: RouterCore
  readonly router: PartitionRouter
  readonly clock: { ms: number }
  /** Blocks of the word from `from` on, as the rank's engine announces them. */
  store(
    rank: string,
    word: string,
    options?: { readonly from?: number; readonly tier?: number },
  ): StoreOutcome
  /** The last block of the word. */
  remove(rank: string, word: string, tier?: number): string
  clear(rank: string): void
  select(word: string, rest?: Rest): SelectionResult
  reserve(requestId: string, word: string, rest?: Rest): SelectionResult
  /** Cache columns of every rank for a prompt, found equal in the dense copy of eligible ranks where that is kept. */
  cache(word: string, rest?: Rest): Record<string, CacheRow | undefined>
  /** Device blocks by rank. */
  device(word: string, rest?: Rest): Record<string, number | undefined>
}

export interface RoutingOptions {
  readonly config?: RouterCoreConfig
  /** Default: workers 1, 2 and 3 with events, which hold nothing. */
  readonly workers?: readonly RoutedWorker[]
  readonly policy?: PolicyDefinition
  readonly role?: WorkerRole
  readonly webAssembly?: boolean
}

export const blockSize = 4

/** Workers with events. */
export const told = (...ids: number[]): RoutedWorker[] =>
  ids.map((id) => ({ workerId: BigInt(id), hasEvents: true }))
/** Workers without. */
export const believed = (...ids: number[]): RoutedWorker[] => ids.map((id) => ({ workerId: BigInt(id) }))

/** Tokens of a word: four a letter, and one for each dot. */
export function tokensOf(word: string, size = blockSize): number[] {
  return [...word].flatMap((letter) =>
    letter === '.' ? [7] : Array.from({ length: size }, (_, at) => 1000 * letter.codePointAt(0)! + at),
  )
}

const hasher = new BlockHasher()

/** Blocks of a word. */
export function hashed(word: string, size = blockSize): BlockHashes {
  const blocks = new BlockHashes()
  hasher.hash(tokensOf(word, size), { blockSize: size }, blocks)
  return blocks
}

/** Blocks of a word as the engine of a worker names them: every engine has names of its own. */
export function engineRun(workerId: bigint, word: string, from: number, size = blockSize): BlockRun {
  const { local, sequence, count } = hashed(word, size)
  const engine = sequence.map((half) => half ^ (Number(workerId) * 0x9e37_79b1))
  const hasParent = from > 0
  const [parentLow, parentHigh] = hasParent ? [engine[2 * from - 2]!, engine[2 * from - 1]!] : [0, 0]
  return { hasParent, parentLow, parentHigh, engine, local, start: from, count: count - from }
}

export function rankOf(name: string): [workerId: bigint, dpRank: number] {
  const [id = '', dpRank = '0'] = name.split('.')
  return [BigInt(id), Number(dpRank)]
}

/** A core over the default policy, or this one for every role. */
export function coreOf(
  { config, policy = defaultPolicy, webAssembly = true }: RoutingOptions,
  clock: { ms: number },
) {
  let seed = 41n
  return createRouterCore({
    policy: new PolicyCatalog().withDefault(policy).resolve({}),
    clock: () => clock.ms,
    random: () => ++seed,
    webAssembly,
    config: { blockSize, ...config },
  })
}

export function routingHost(options: RoutingOptions = {}): RoutingHost {
  const clock = { ms: 0 }
  const core = coreOf(options, clock)
  const router = core.router({ role: options.role ?? 'aggregated' })
  for (const worker of options.workers ?? told(1, 2, 3)) router.upsertWorker(worker)
  if (options.workers === undefined) for (const worker of [1n, 2n, 3n]) router.cleared(worker, 0)
  const prompt = (word: string, rest: Rest = {}): PromptRequest => ({
    ...rest,
    tokens: tokensOf(word, router.blockSize),
  })
  const host: RoutingHost = {
    core,
    router,
    clock,
    store: (rank, word, { from = 0, tier } = {}) => {
      const [workerId, dpRank] = rankOf(rank)
      return router.stored(workerId, dpRank, engineRun(workerId, word, from, router.blockSize), tier)
    },
    remove: (rank, word, tier) => {
      const [workerId, dpRank] = rankOf(rank)
      const { engine, count } = engineRun(workerId, word, 0, router.blockSize)
      return router.removed(workerId, dpRank, engine.slice(2 * count - 2, 2 * count), tier)
    },
    clear: (rank) => router.cleared(...rankOf(rank)),
    select: (word, rest) => copyResult(router.select(prompt(word, rest))),
    reserve: (requestId, word, rest) => copyResult(router.reserve({ ...prompt(word, rest), requestId })),
    cache: (word, rest) => {
      router.explain(prompt(word, rest))
      return cacheRows(router)
    },
    device: (word, rest) =>
      Object.fromEntries(Object.entries(host.cache(word, rest)).map(([rank, row]) => [rank, row?.device])),
  }
  return host
}

/** What the columns say of every rank since the last selection. */
export function cacheRows({ partition: { table } }: PartitionRouter): Record<string, CacheRow | undefined> {
  const rows: Record<string, CacheRow | undefined> = {}
  const { columns, eligible } = table
  let unknown = 0
  for (let row = 0; row < table.count; row++) {
    const values = rowValues(columns, row)
    const dense = eligible.rowOf(row)
    if (dense >= 0) expect(rowValues(eligible.columns, dense)).toEqual(values)
    const { workerIdHigh, workerIdLow, dpRank } = columns.views.identity!
    const workerId = (BigInt(workerIdHigh[row]!) << 32n) | BigInt(workerIdLow[row]!)
    const isKnown = columns.views.cache!.isAvailable[row] === 1
    if (!isKnown) {
      unknown++
      expect(Object.values(values)).toEqual(Array.from({ length: 6 }, () => Number.NaN))
    }
    rows[nameOf({ workerId, dpRank: dpRank[row]! })] = isKnown ? values : undefined
  }
  expect(columns.unknownCaches).toBe(unknown)
  return rows
}

function rowValues(
  { views: { cache, reuse } }: PartitionRouter['partition']['table']['columns'],
  row: number,
) {
  return {
    device: cache!.deviceOverlapBlocks[row]!,
    host: cache!.hostOverlapBlocks[row]!,
    disk: cache!.diskOverlapBlocks[row]!,
    blocks: cache!.estimateBlocks[row]!,
    tokens: cache!.estimateTokens[row]!,
    raw: reuse!.rawBlocks[row]!,
  }
}

/** A policy of every role that draws a rank, and shows what tracking hashes it was given. */
export function drawingPolicy(seen: string[] = []): PolicyDefinition {
  return tinyPolicy({
    roles: ['aggregated', 'decode', 'prefill', 'encode'],
    inputs: ['cache', 'load'],
    create: (_parameters, scope) => {
      const random = scope.random()
      return {
        picker: {
          name: 'draw',
          inputs: [],
          pick: ({ prefixHashes }, { count }) => {
            seen.push(String(prefixHashes?.low.slice(0, prefixHashes.count)))
            return random.below(count)
          },
        },
      }
    },
  })
}
