import {
  type InputScope,
  type RouterDefaults,
  type WorkerSelectionContext,
  requestBlocksForDivision,
} from '@router/sdk'
import { type DefaultCandidates, isPlainDecode, usesCache } from './inputs.js'

/**
 * The formula's numbers for one policy object and one request: the first group changes when parameters change, the second
 * with each selection. Field names follow the formula of the README.
 */
export class CostTerms {
  readonly plainDecode: boolean
  readonly isDecodeLabel: boolean
  usesCache = false
  /** c0 */
  credit = 0
  decayWeight = 0
  scale = 1
  hostWeight = 0
  diskWeight = 0
  sharedMultiplier = 0
  requestWeight = 0
  affinityWeight = 0

  promptTokens = 0
  blockSize = 1
  /** True count, 0 for an empty prompt. */
  blocks = 0
  blocksForDivision = 1
  tracks = true
  /** Cache-aware decode: the credit is taken off the decode blocks. */
  subtracts = false
  chargesAffinity = false
  usesDecay = false
  hasTierMatches = false
  appliesTaints = false

  constructor(scope: InputScope, weights: RouterDefaults) {
    this.plainDecode = isPlainDecode(scope)
    this.isDecodeLabel = scope.role !== 'prefill'
    this.configure(weights)
  }

  configure(weights: RouterDefaults): void {
    this.usesCache = usesCache(weights, this.plainDecode)
    this.credit = this.usesCache ? weights.overlap_score_credit : 0
    this.decayWeight = weights.overlap_score_credit_decay
    this.scale = weights.prefill_load_scale
    this.hostWeight = weights.host_cache_hit_weight
    this.diskWeight = weights.disk_cache_hit_weight
    this.sharedMultiplier = weights.shared_cache_multiplier
    this.requestWeight = weights.decode_active_request_weight
    this.affinityWeight = weights.prefix_affinity_weight
  }

  get addsRequestOrAffinity(): boolean {
    return this.requestWeight !== 0 || this.chargesAffinity
  }

  /** Fills the numbers of one request. */
  prepare(context: WorkerSelectionContext, candidates: DefaultCandidates): void {
    const { cache } = candidates
    this.promptTokens = context.promptTokens
    this.blockSize = context.blockSize
    this.blocks = context.requestBlocks
    this.blocksForDivision = requestBlocksForDivision(context.requestBlocks)
    this.tracks = context.tracksPrefillTokens
    this.usesDecay = this.tracks && this.decayWeight > 0
    const isLoadOnly = this.isDecodeLabel && !this.tracks && this.credit === 0
    this.subtracts = this.isDecodeLabel && !this.tracks && this.credit > 0
    this.chargesAffinity = this.usesCache && this.affinityWeight !== 0 && !isLoadOnly
    this.hasTierMatches = cache !== undefined && cache.hasTierMatches
    this.appliesTaints = candidates.preferredTaint.applies
  }
}
