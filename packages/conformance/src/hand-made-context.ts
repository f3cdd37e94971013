import { type PrefixHashes, WyRand, type WorkerSelectionContext, requestBlocks } from '@router/sdk'
import type { HandMadeView } from './hand-made-view.js'

/** Facts of a request to set; `requestBlocks` follows from the prompt and the block size unless it is given. */
export type HandMadeFacts = Partial<Omit<WorkerSelectionContext, 'workerInfo'>>

/**
 * The context of a hand-made selection over `view`: a tracked prompt of 1,000 tokens in blocks of 16, without session, pin
 * or hashes, where `facts` says nothing else.
 */
export function handMadeContext(view: HandMadeView, facts: HandMadeFacts = {}): WorkerSelectionContext {
  const { promptTokens = 1000, blockSize = 16 } = facts
  return {
    promptTokens,
    blockSize,
    requestBlocks: requestBlocks(promptTokens, blockSize),
    tracksPrefillTokens: true,
    prefixHashes: undefined,
    policyClass: 'default',
    sessionContext: undefined,
    affinityTarget: undefined,
    pinnedWorker: undefined,
    expectedOutputTokens: undefined,
    priorityJump: undefined,
    strictPriority: 0,
    routerTemperatureOverride: undefined,
    queryOnly: false,
    requiredCacheHits: 0,
    ...facts,
    workerInfo: (row) => view.workers[row],
  }
}

/** Prefix hashes of a prompt: two prompts of one `stream` share the hashes of the blocks that both have. */
export function handMadePrefixHashes(stream: bigint, count: number): PrefixHashes {
  const random = new WyRand(stream)
  const high = new Uint32Array(count)
  const low = new Uint32Array(count)
  for (let block = 0; block < count; block++) {
    random.step()
    high[block] = random.high
    low[block] = random.low
  }
  return { count, high, low }
}
