export type { RankRejection } from './eligibility.js'
export type { RankExplanation, SelectionExplanation } from './explanation.js'
export type { LedgerViolation } from './load/audit.js'
export {
  type ActiveLoad,
  type Booking,
  BookingBudget,
  type BookingExpiry,
  type LoadScope,
  type PotentialLoad,
  type PotentialRequest,
  type RankLoad,
  effectivePrefillTokens,
} from './load/booking.js'
export { LoadLedger, type LoadLedgerOptions } from './load/load-ledger.js'
export { type LoadReport, LoadReports, type LoadReportsOptions } from './load/load-reports.js'
export { type PatchOutcome, PolicyInstance } from './policy-instance.js'
export type {
  AffinityTarget,
  PolicyIdentity,
  PreferredTaint,
  SelectionRequest,
  SelectionResult,
} from './request.js'
export {
  type Partition,
  type PartitionKey,
  type PolicyDescription,
  RouterCore,
  type RouterCoreOptions,
  createRouterCore,
} from './router-core.js'
export type { RankFacts, RoutedExplanation } from './routing/explained-selection.js'
export { PartitionRouter, type PartitionServices } from './routing/partition-router.js'
export type {
  ContentChunks,
  HashedPrompt,
  PromptRequest,
  RankBooking,
  ReservedRequest,
  TokenPrompt,
} from './routing/prompt-request.js'
export type { RankOverlap } from './routing/rank-overlaps.js'
export type { PrefillModel, RouterCoreConfig } from './routing/router-config.js'
export type { PartitionSnapshot, RankSnapshot } from './routing/snapshot.js'
export type { RoutedWorker } from './routing/worker-sources.js'
export { copyResult } from './selection-result.js'
export { Selector, type SelectorOptions, createSelector } from './selector.js'
export type { RouterWarning } from './warnings.js'
export type { WorkerRecord } from './worker-record.js'
export { WorkerTable } from './worker-table.js'
