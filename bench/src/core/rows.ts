import { type PartitionRouter, type ReservedRequest, createRouterCore } from '@router/core'
import { BlockHasher, BlockHashes } from '@router/kv-index'
import { defaultPolicy } from '@router/policy-default'
import { PolicyCatalog, WyRand } from '@router/sdk'
import type { FigureRow, Reach, Timed } from '../harness/figure.js'

const blockSize = 16
const promptTokens = 2048
const promptCount = 64
/** Ranks that hold each prompt but its last block. */
const holders = 4
const systemTokens = 256
const whyNot =
  'compare the parts with bench/results/selection.json, which was recorded while the machine was faster'

interface Fleet {
  readonly router: PartitionRouter
  readonly requests: readonly ReservedRequest[]
}

/** Prompts that begin with the same tokens and are held by a few ranks each; the common beginning by those alone or by all ranks. */
function fleetOf(workers: number, isSystemPromptEverywhere: boolean): Fleet {
  let seed = 1n
  const core = createRouterCore({
    policy: new PolicyCatalog().withDefault(defaultPolicy).resolve({}),
    clock: () => 0,
    random: () => seed++,
    config: { blockSize },
  })
  const router = core.router({ role: 'aggregated' })
  for (let worker = 1; worker <= workers; worker++) {
    router.upsertWorker({ workerId: BigInt(worker), hasEvents: true, totalKvBlocks: 16_384 })
    router.cleared(BigInt(worker), 0)
  }
  const prompts = Array.from({ length: promptCount }, (_, prompt) =>
    Uint32Array.from({ length: promptTokens }, (_token, at) =>
      at < systemTokens ? at : 1 + (((prompt * promptTokens + at) * 2_654_435_761) % 150_000),
    ),
  )
  const hasher = new BlockHasher()
  const blocks = new BlockHashes()
  const store = (workerId: number, tokens: Uint32Array) => {
    hasher.hash(tokens, { blockSize }, blocks)
    const { sequence: engine, local, count } = blocks
    const run = { hasParent: false, parentLow: 0, parentHigh: 0, engine, local, start: 0, count }
    router.stored(BigInt(workerId), 0, run)
  }
  for (const [prompt, tokens] of prompts.entries()) {
    for (let holder = 0; holder < holders; holder++) {
      store(1 + ((prompt * holders + holder) % workers), tokens.subarray(0, promptTokens - blockSize))
    }
  }
  for (let worker = 1; isSystemPromptEverywhere && worker <= workers; worker++) {
    store(worker, prompts[0]!.subarray(0, systemTokens))
  }
  // Load that differs from rank to rank, as in a fleet that works.
  const random = new WyRand(1n)
  for (let request = 0; request < 8 * workers; request++) {
    const pinnedWorker = { workerId: BigInt(1 + random.below(workers)), dpRank: 0 }
    const requestId = `before-${request}`
    router.reserve({ tokens: prompts[random.below(promptCount)]!, requestId, pinnedWorker })
    if (random.below(3) > 0) router.markPrefillCompleted(requestId)
  }
  return { router, requests: prompts.map((tokens, prompt) => ({ tokens, requestId: `request-${prompt}` })) }
}

function timed({ requests }: Fleet, body: (request: ReservedRequest) => number): Timed {
  let turn = 0
  return {
    perCall: 1,
    body: () => {
      turn = (turn + 1) & (promptCount - 1)
      return body(requests[turn]!)
    },
  }
}

function wholeRow(workers: number, everywhere: boolean, reach?: Reach): FigureRow {
  return {
    group: 'tokens in, decision and booking out, one free',
    name: `${workers.toLocaleString('en')} workers${everywhere ? ', all hold the system prompt' : ''}`,
    unit: 'us',
    ...(reach === undefined ? {} : { reach, whyNot }),
    countsBytes: true,
    setup: () => {
      const fleet = fleetOf(workers, everywhere)
      const { router } = fleet
      return timed(fleet, (request) => {
        const { slot } = router.reserve(request)
        if (!router.free(request.requestId)) throw new Error('the booking is not there')
        return slot
      })
    },
  }
}

/** One step alone, over the state that the whole leaves. */
function partRow(
  workers: number,
  name: string,
  part: (fleet: Fleet) => (request: ReservedRequest) => number,
): FigureRow {
  return {
    group: `parts at ${workers.toLocaleString('en')} workers`,
    name,
    unit: 'us',
    setup: () => {
      const fleet = fleetOf(workers, false)
      return timed(fleet, part(fleet))
    },
  }
}

const partsOf = (workers: number): FigureRow[] => [
  partRow(workers, 'hash 2,048 tokens', () => {
    const hasher = new BlockHasher()
    const blocks = new BlockHashes()
    return ({ tokens }) => {
      hasher.hash(tokens!, { blockSize }, blocks)
      return blocks.count
    }
  }),
  partRow(
    workers,
    'select as a query: hash, overlaps, loads, policy',
    ({ router }) =>
      (request) =>
        router.select(request).slot,
  ),
  partRow(workers, 'overlaps, loads and policy, hashed before', ({ router, requests }) => {
    const hasher = new BlockHasher()
    const hashed = new Map(
      requests.map((request) => {
        const blocks = new BlockHashes()
        hasher.hash(request.tokens!, { blockSize }, blocks)
        return [request, { blocks, promptTokens }]
      }),
    )
    return (request) => router.select(hashed.get(request)!).slot
  }),
  partRow(workers, 'loads', ({ router, requests }) => {
    const hasher = new BlockHasher()
    const hashed = new Map(
      requests.map((request) => {
        const blocks = new BlockHashes()
        hasher.hash(request.tokens!, { blockSize }, blocks)
        return [request, blocks]
      }),
    )
    return (request) => {
      const { sequence, count } = hashed.get(request)!
      router.ledger.project(sequence, count)
      return count
    }
  }),
]

/** Rows of the `core` bench, in the order they are printed. */
export const coreRows: readonly FigureRow[] = [
  wholeRow(8, false, { atMost: 4 }),
  wholeRow(64, false, { atMost: 5 }),
  wholeRow(1024, false, { atMost: 12 }),
  wholeRow(8, true),
  wholeRow(64, true),
  wholeRow(1024, true),
  ...[8, 64, 1024].flatMap(partsOf),
]
