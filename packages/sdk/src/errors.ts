/** Every error code of the contract; `docs/errors.md` explains each. The set may grow: keep a default branch. */
export const errorCodes = [
  // selection
  'ROUTER_NO_ENDPOINTS',
  'ROUTER_ALL_ELIGIBLE_WORKERS_FILTERED',
  'ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED',
  'ROUTER_PINNED_WORKER_OVERLOADED',
  'ROUTER_PINNED_WORKER_NOT_ALLOWED',
  'ROUTER_POLICY_FAILED',
  'ROUTER_NON_FINITE_COST',
  'ROUTER_INVALID_PICKER_ROW',
  'ROUTER_BAD_REQUEST',
  'ROUTER_SELECTION_REENTERED',
  'ROUTER_VIEW_STALE',
  'ROUTER_INPUT_NOT_DECLARED',
  // queue, bookings and life cycle of the host
  'ROUTER_DUPLICATE_REQUEST',
  'ROUTER_ADMISSION_FULL',
  'ROUTER_QUEUE_REJECTED',
  'ROUTER_DEADLINE_EXCEEDED',
  'ROUTER_SHUTTING_DOWN',
  'ROUTER_INIT_FAILED',
  'ROUTER_NOT_READY',
  'ROUTER_NOT_FOUND',
  'ROUTER_SESSION_CONFLICT',
  // catalog
  'ROUTER_POLICY_TYPE_EMPTY',
  'ROUTER_POLICY_TYPE_INVALID',
  'ROUTER_POLICY_TYPE_RESERVED',
  'ROUTER_POLICY_TYPE_DUPLICATE',
  'ROUTER_POLICY_TYPE_UNKNOWN',
  'ROUTER_POLICY_INSTANCE_UNKNOWN',
  'ROUTER_POLICY_DEFAULT_MISSING',
  'ROUTER_POLICY_DEFINITION_INVALID',
  'ROUTER_POLICY_PARAMETERS_INVALID',
  'ROUTER_POLICY_PACKAGE_NOT_FOUND',
  'ROUTER_POLICY_PACKAGE_LOAD_FAILED',
  'ROUTER_POLICY_PACKAGE_EMPTY',
  'ROUTER_CONTRACT_VERSION_MISMATCH',
  'ROUTER_POLICY_VERSION_UNKNOWN',
  'ROUTER_POLICY_VERSION_AMBIGUOUS',
  'ROUTER_POLICY_ALPHA',
  'ROUTER_INPUT_UNAVAILABLE',
  // configuration
  'ROUTER_CONFIG_READ',
  'ROUTER_CONFIG_PARSE',
  'ROUTER_CONFIG_INVALID',
  'ROUTER_ENVIRONMENT_NOT_TEXT',
  // run-time patches
  'ROUTER_PATCH_CONFLICT',
  'ROUTER_PARAMETER_NOT_RUNTIME',
  'ROUTER_PATCH_NEEDS_INPUT',
  'ROUTER_POLICY_REJECTED_PATCH',
  // request classifiers
  'ROUTER_CLASSIFIER_PANICKED',
  'ROUTER_CLASSIFIER_FAILED',
  'ROUTER_CLASSIFIER_METADATA_INVALID',
  'ROUTER_CLASSIFIER_DUPLICATE_ID',
  'ROUTER_CLASSIFIER_LIFECYCLE_ENDED',
] as const

/** One of `errorCodes`. */
export type RouterErrorCode = (typeof errorCodes)[number]

const marker = Symbol.for('@router/sdk.error')
const requestFaultMarker = Symbol.for('@router/sdk.request-fault')

/** Facts of an error beside its message; which ones a code carries is in `docs/errors.md`. */
export type ErrorDetails = Readonly<Record<string, unknown>>

/** Base of all errors of the router. Recognise it with `isInstance`, which also works across two installed copies. */
export class RouterError extends Error {
  readonly [marker] = 'RouterError' as string
  /** What happened, for programs; the message is for people. */
  readonly code: RouterErrorCode
  /** Facts beside the message, by code. */
  readonly details: ErrorDetails

  constructor(
    code: RouterErrorCode,
    message: string,
    details: ErrorDetails = {},
    options?: { cause?: unknown },
  ) {
    super(message, options)
    this.name = 'RouterError'
    this.code = code
    this.details = details
  }

  /** Whether `value` is an error of the router, made by this or another installed copy. */
  static isInstance(value: unknown): value is RouterError {
    return markerOf(value) !== undefined
  }
}

function markerOf(value: unknown): string | undefined {
  return typeof value === 'object' && value !== null ? (value as { [marker]?: string })[marker] : undefined
}

/** A selection that found no row, or whose policy broke its contract. Nothing was booked. */
export class SelectionError extends RouterError {
  override readonly [marker] = 'SelectionError' as string
  override readonly name = 'SelectionError'

  /** Whether `value` is a selection error of this or another installed copy. */
  static override isInstance(value: unknown): value is SelectionError {
    return markerOf(value) === 'SelectionError'
  }
}

/** A policy, classifier or hint policy that cannot be registered, found, loaded or built. */
export class CatalogError extends RouterError {
  override readonly [marker] = 'CatalogError' as string
  override readonly name = 'CatalogError'

  /** Whether `value` is a catalog error of this or another installed copy. */
  static override isInstance(value: unknown): value is CatalogError {
    return markerOf(value) === 'CatalogError'
  }
}

/** One fault of a configuration: where it stands, what was found, what would have been accepted. */
export interface ConfigIssue {
  /** What kind of fault it is. */
  readonly code: RouterErrorCode
  /** One line for people: key, value, what is accepted. */
  readonly message: string
  /** Keys and list positions from the root of the document. */
  readonly path: readonly (string | number)[]
  /** As it was given; absent for flags, variables and objects. */
  readonly file?: string
  /** 1-based. */
  readonly line?: number
  /** 1-based. */
  readonly column?: number
  /** The value found; absent when there is none. */
  readonly value?: unknown
  /** What would have been accepted. */
  readonly accepted?: string
  /** The accepted name that was probably meant. */
  readonly suggestion?: string
}

/** A configuration that stops start-up; `issues` lists all faults of the first stage that failed. */
export class ConfigError extends RouterError {
  override readonly [marker] = 'ConfigError' as string
  override readonly name = 'ConfigError'
  /** All faults of the stage, in file order; also in `details.issues`. */
  readonly issues: readonly ConfigIssue[]

  constructor(
    code: RouterErrorCode,
    message: string,
    issues: readonly ConfigIssue[] = [],
    options?: { cause?: unknown },
  ) {
    super(code, message, { issues }, options)
    this.issues = issues
  }

  /** Whether `value` is a configuration error of this or another installed copy. */
  static override isInstance(value: unknown): value is ConfigError {
    return markerOf(value) === 'ConfigError'
  }
}

/** A run-time parameter patch that was refused; nothing changed. */
export class PatchError extends RouterError {
  override readonly [marker] = 'PatchError' as string
  override readonly name = 'PatchError'

  /** Whether `value` is a patch error of this or another installed copy. */
  static override isInstance(value: unknown): value is PatchError {
    return markerOf(value) === 'PatchError'
  }
}

/**
 * A request that a classifier refused, or that failed because of one. A classifier may throw it itself, with the code
 * `ROUTER_CLASSIFIER_FAILED`; `overload: true` in `details` then makes the host answer as it does to overload.
 */
export class ClassifierError extends RouterError {
  override readonly [marker] = 'ClassifierError' as string
  override readonly name = 'ClassifierError'

  /** Whether `value` is a classifier error of this or another installed copy. */
  static override isInstance(value: unknown): value is ClassifierError {
    return markerOf(value) === 'ClassifierError'
  }
}

/** True for the two codes that only overload stands in the way of. */
export function isOverload(error: unknown): boolean {
  return (
    RouterError.isInstance(error) &&
    (error.code === 'ROUTER_ALL_ELIGIBLE_WORKERS_OVERLOADED' ||
      error.code === 'ROUTER_PINNED_WORKER_OVERLOADED')
  )
}

/**
 * Thrown by a component to blame the request rather than itself: the selection still fails with `ROUTER_POLICY_FAILED`, and the
 * host answers 400 instead of 500.
 */
export class RequestFault extends Error {
  override readonly name = 'RequestFault'
  readonly [requestFaultMarker] = true as boolean

  /** Whether `value` is a request fault of this or another installed copy. Not a `RouterError`: it has no code. */
  static isInstance(value: unknown): value is RequestFault {
    return typeof value === 'object' && value !== null && (value as RequestFault)[requestFaultMarker] === true
  }
}
