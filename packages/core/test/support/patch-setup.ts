import { PolicyInstance, WorkerTable, createSelector } from '../../src/index.js'
import { request } from './hosts.js'
import { resolved } from './policies.js'
import { type ObjectLog, weightedPolicy } from './weighted-policy.js'

/** An instance in use. */
export interface Setup {
  readonly instance: PolicyInstance
  readonly log: ObjectLog[]
  /** Costs of workers 1 and 2, per object: weight x id + selections so far. */
  costs(object?: number): number[]
}

/** One instance with a policy object for each of these roles. */
export function setUp(
  options: {
    parameters?: object
    runtime?: boolean
    roles?: readonly ('decode' | 'prefill')[]
    veto?: Parameters<typeof weightedPolicy>[1]
  } = {},
): Setup {
  const log: ObjectLog[] = []
  const { roles = ['decode'], veto, ...rest } = options
  const instance = new PolicyInstance(resolved(weightedPolicy(log, veto), rest))
  const selectors = roles.map((role) => selectorFor(instance, role))
  return {
    instance,
    log,
    costs: (object = 0) => selectors[object]!.explain(request()).rows.map((row) => row.total!),
  }
}

/** A selector of the instance with workers 1 and 2. */
export function selectorFor(instance: PolicyInstance, role: 'decode' | 'prefill') {
  const table = new WorkerTable()
  for (const workerId of [1n, 2n]) table.upsertWorker({ workerId })
  return createSelector({ table, policy: instance, role, entropy: () => 1n, nowMs: () => 0 })
}
