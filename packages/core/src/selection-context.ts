import type {
  PrefixHashes,
  SessionContext,
  WorkerInfo,
  WorkerRank,
  WorkerSelectionContext,
} from '@router/sdk'
import { requestBlocks } from '@router/sdk'
import type { AffinityTarget, SelectionRequest } from './request.js'

/** The request view, one object per selector, refilled for each selection. */
export class SelectionContext implements WorkerSelectionContext {
  promptTokens = 0
  requestBlocks = 0
  blockSize = 1
  tracksPrefillTokens = true
  prefixHashes: PrefixHashes | undefined = undefined
  policyClass = 'default'
  sessionContext: SessionContext | undefined = undefined
  affinityTarget: AffinityTarget | undefined = undefined
  pinnedWorker: WorkerRank | undefined = undefined
  expectedOutputTokens: number | undefined = undefined
  priorityJump: number | undefined = undefined
  strictPriority = 0
  routerTemperatureOverride: number | undefined = undefined
  queryOnly = false
  requiredCacheHits = 0
  readonly workerInfo: (row: number) => WorkerInfo | undefined

  constructor(workerInfo: (row: number) => WorkerInfo | undefined) {
    this.workerInfo = workerInfo
  }

  fill(request: SelectionRequest): void {
    this.promptTokens = request.promptTokens
    this.blockSize = request.blockSize
    this.requestBlocks = requestBlocks(request.promptTokens, request.blockSize)
    this.tracksPrefillTokens = request.tracksPrefillTokens ?? true
    this.prefixHashes = request.prefixHashes
    this.policyClass = request.policyClass ?? 'default'
    this.sessionContext = request.sessionContext
    this.affinityTarget = request.affinityTarget
    this.pinnedWorker = request.pinnedWorker
    this.expectedOutputTokens = request.expectedOutputTokens
    this.priorityJump = request.priorityJump
    this.strictPriority = request.strictPriority ?? 0
    this.routerTemperatureOverride = request.routerTemperatureOverride
    this.queryOnly = request.mode === 'query'
    this.requiredCacheHits = request.requiredCacheHits ?? 0
  }
}
