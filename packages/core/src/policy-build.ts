import {
  CatalogError,
  type InputScope,
  type WorkerInputName,
  type WorkerFilter,
  type WorkerPicker,
  type WorkerScorer,
  type WorkerSelectionPolicy,
  workerInputNames,
} from '@router/sdk'
import type { PolicyInstance } from './policy-instance.js'
import type { HostScope } from './policy-scope.js'

/** One component with the groups it may see. */
export interface BuiltComponent<C> {
  readonly component: C
  readonly inputs: readonly WorkerInputName[]
}

/** A policy object, checked, with the inputs of each component read once and frozen. */
export interface BuiltPolicy {
  readonly policy: WorkerSelectionPolicy<never, unknown>
  readonly declared: readonly WorkerInputName[]
  readonly picker: BuiltComponent<WorkerPicker>
  readonly filters: readonly BuiltComponent<WorkerFilter>[]
  readonly scorers: readonly BuiltComponent<WorkerScorer>[]
}

/**
 * Builds a policy object. Errors: `ROUTER_INPUT_UNAVAILABLE` (a group this host cannot supply), `ROUTER_INPUT_NOT_DECLARED` (a
 * component asks for more than its policy), `ROUTER_POLICY_DEFINITION_INVALID` (`inputs` or `create` threw, or `create` returned
 * something else). A failure gives the memory back that `create` took.
 */
export function buildPolicy(
  instance: PolicyInstance,
  inputScope: InputScope,
  host: HostScope,
  supported: readonly WorkerInputName[],
): BuiltPolicy {
  try {
    return build(instance, inputScope, host, supported)
  } catch (error) {
    host.release()
    throw error
  }
}

function build(
  instance: PolicyInstance,
  inputScope: InputScope,
  host: HostScope,
  supported: readonly WorkerInputName[],
): BuiltPolicy {
  const { definition, parameters } = instance
  const declared = [...new Set(guarded(instance, 'inputs', () => definition.inputs(parameters, inputScope)))]
  for (const group of declared) {
    if (workerInputNames.includes(group) && supported.includes(group)) continue
    throw new CatalogError(
      'ROUTER_INPUT_UNAVAILABLE',
      `policy ${definition.type} declares the input group '${group}', which this host cannot supply; available: ${supported.join(', ')}`,
      { type: definition.type, group, available: supported },
    )
  }
  const policy = guarded(instance, 'create', () => definition.create(parameters, host.scope))
  checkShape(instance, policy)
  // Declarations are read once each: picker, then filters, then scorers.
  const read = <C extends { readonly name: string; readonly inputs?: readonly WorkerInputName[] }>(
    component: C,
  ): BuiltComponent<C> => {
    const inputs = component.inputs ?? declared
    for (const group of inputs) {
      if (declared.includes(group)) continue
      throw new CatalogError(
        'ROUTER_INPUT_NOT_DECLARED',
        `policy ${definition.type}: component '${component.name}' declares the input group '${group}', its policy only ${declared.join(', ') || '<none>'}`,
        { type: definition.type, component: component.name, group, declared },
      )
    }
    return { component, inputs: Object.freeze([...inputs]) }
  }
  const picker = read(policy.picker as unknown as WorkerPicker)
  const filters = ((policy.filters ?? []) as unknown as WorkerFilter[]).map(read)
  const scorers = ((policy.scorers ?? []) as unknown as WorkerScorer[]).map(read)
  return { policy, declared: Object.freeze(declared), picker, filters, scorers }
}

function guarded<T>(instance: PolicyInstance, name: string, call: () => T): T {
  try {
    return call()
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw invalid(instance, `${name} threw: ${reason}`, cause)
  }
}

function checkShape(
  instance: PolicyInstance,
  policy: WorkerSelectionPolicy<never, unknown> | undefined,
): void {
  if (typeof policy !== 'object' || policy === null) throw invalid(instance, 'create must return an object')
  if (typeof policy.picker?.pick !== 'function')
    throw invalid(instance, 'create must return a picker with pick()')
  for (const filter of policy.filters ?? []) {
    if (typeof filter?.keep !== 'function') throw invalid(instance, 'every filter must have keep()')
  }
  for (const scorer of policy.scorers ?? []) {
    if (typeof scorer?.score !== 'function') throw invalid(instance, 'every scorer must have score()')
  }
  if (instance.definition.runtime.length > 0 && typeof policy.reconfigure !== 'function') {
    throw invalid(instance, 'parameters may change while running, but there is no reconfigure()')
  }
}

function invalid(instance: PolicyInstance, fault: string, cause?: unknown): CatalogError {
  const { type } = instance.definition
  const details = { type, instance: instance.name }
  return new CatalogError('ROUTER_POLICY_DEFINITION_INVALID', `policy ${type}: ${fault}`, details, { cause })
}
