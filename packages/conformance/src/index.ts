export { type LawReport, checkLaws } from './check-laws.js'
export type { ViewRead } from './guarded-view.js'
export { type HandMadeFacts, handMadeContext, handMadePrefixHashes } from './hand-made-context.js'
export {
  type HandMadeRow,
  type HandMadeView,
  type HandMadeViewOptions,
  type RowCache,
  type RowLoad,
  handMadeView,
} from './hand-made-view.js'
export type { Law } from './law.js'
export { LawViolation } from './law-violation.js'
export { laws } from './laws/index.js'
export { type TestRunner, policyConformance } from './policy-conformance.js'
export {
  type AnyPolicy,
  type ComponentCall,
  type ComponentRun,
  type RunOptions,
  runComponents,
} from './run-components.js'
export { type ConformanceOptions, type Subject, describeSubject, subjectsOf } from './subject.js'
export { constantScorer, firstMinimumPicker, fixedPicker, rejectingFilter } from './test-doubles.js'
export { TestMemory } from './test-memory.js'
