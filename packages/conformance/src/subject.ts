import {
  type InputScope,
  type PolicyDefinition,
  type RouterDefaults,
  type WorkerRole,
  routerDefaults,
  workerRoles,
} from '@router/sdk'

/** What to examine. */
export interface ConformanceOptions {
  /** What `definePolicy` returned. */
  readonly policy: PolicyDefinition
  /** As configured, before the schema; needed only by a policy that refuses `{}`. */
  readonly parameters?: Readonly<Record<string, unknown>>
  /** Scoring defaults of the router that differ from the built-in ones. */
  readonly routerDefaults?: Partial<RouterDefaults>
  /** Roles to examine; absent = the roles that the policy declares. */
  readonly roles?: readonly WorkerRole[]
}

/** One policy with its parameters in one place where it may serve. */
export interface Subject {
  /** What `definePolicy` returned. */
  readonly policy: PolicyDefinition
  /** Parameters as configured, before the schema. */
  readonly configured: Readonly<Record<string, unknown>>
  /** The role that it serves. */
  readonly role: WorkerRole
  /** Whether conditional disaggregation is enabled. */
  readonly conditionalDisaggregation: boolean
  /** All scoring defaults of the router. */
  readonly routerDefaults: RouterDefaults
}

/** The places to examine: every role, and decode also with conditional disaggregation. */
export function subjectsOf(options: ConformanceOptions): Subject[] {
  const { policy, parameters: configured = {} } = options
  const declared = options.roles ?? workerRoles.filter((role) => policy.roles?.includes(role))
  const defaults = { ...routerDefaults, ...options.routerDefaults }
  const subjects: Subject[] = []
  for (const role of declared.length === 0 ? workerRoles : declared) {
    const subject = { policy, configured, role, routerDefaults: defaults }
    subjects.push({ ...subject, conditionalDisaggregation: false })
    if (role === 'decode') subjects.push({ ...subject, conditionalDisaggregation: true })
  }
  return subjects
}

/** Words for a test title. */
export function describeSubject(subject: Subject): string {
  return subject.conditionalDisaggregation ? `${subject.role}, conditional disaggregation` : subject.role
}

/** Output of the policy's schema, a fresh value at each call. */
export function parametersOf(subject: Subject, configured: unknown = subject.configured): unknown {
  return subject.policy.parameters.parse(configured)
}

/** The scope of `inputs(parameters, scope)`. */
export function inputScopeOf(subject: Subject, reservesRuntimeInputs: boolean): InputScope {
  const { role, conditionalDisaggregation, routerDefaults: defaults } = subject
  return { role, conditionalDisaggregation, routerDefaults: defaults, reservesRuntimeInputs }
}
