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
import { dropPromise } from './component-calls.js'
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
  const inputs: unknown = guarded(instance, 'inputs', () => definition.inputs(parameters, inputScope))
  if (!Array.isArray(inputs)) {
    dropPromise(inputs)
    throw invalid(instance, 'inputs must return a list of group names')
  }
  const declared = [...new Set(inputs as WorkerInputName[])]
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
    const inputs: unknown = component.inputs ?? declared
    if (!Array.isArray(inputs))
      throw invalid(instance, `inputs of '${component.name}' must be a list of group names`)
    for (const group of inputs as WorkerInputName[]) {
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
  if (dropPromise(policy)) throw invalid(instance, 'create must return the policy itself, not a promise')
  if (typeof policy.picker?.pick !== 'function')
    throw invalid(instance, 'create must return a picker with pick()')
  checkComponents(instance, 'filter', 'keep', policy.filters ?? [])
  checkComponents(instance, 'scorer', 'score', policy.scorers ?? [])
  checkComponents(instance, 'picker', 'pick', [policy.picker])
  if (instance.definition.runtime.length > 0 && typeof policy.reconfigure !== 'function') {
    throw invalid(instance, 'parameters may change while running, but there is no reconfigure()')
  }
}

function checkComponents(
  instance: PolicyInstance,
  kind: string,
  method: string,
  components: readonly object[],
): void {
  if (!Array.isArray(components)) throw invalid(instance, `${kind}s must be a list`)
  for (const component of components as readonly (Record<string, unknown> | undefined)[]) {
    if (typeof component?.[method] !== 'function')
      throw invalid(instance, `every ${kind} must have ${method}()`)
    if (typeof component.name !== 'string' || component.name === '') {
      throw invalid(instance, `every ${kind} must have a name`)
    }
  }
}

function invalid(instance: PolicyInstance, fault: string, cause?: unknown): CatalogError {
  const { type } = instance.definition
  const details = { type, instance: instance.name }
  return new CatalogError('ROUTER_POLICY_DEFINITION_INVALID', `policy ${type}: ${fault}`, details, { cause })
}
