import { hostFor } from '../law.js'
import { ordinarySteps } from '../steps.js'
import type { Subject } from '../subject.js'
import { TestMemory } from '../test-memory.js'

/** Reason for laws about costs. */
export function lacksScorers(subject: Subject): string | undefined {
  const { scorers = [] } = hostFor(subject).policy
  return scorers.length === 0 ? 'create returns no scorers' : undefined
}

/** Reason for laws about filters. */
export function lacksFilters(subject: Subject): string | undefined {
  const { filters = [] } = hostFor(subject).policy
  return filters.length === 0 ? 'create returns no filters' : undefined
}

/** Reason for laws about patches. */
export function lacksRuntime({ policy }: Subject): string | undefined {
  return policy.runtime.length === 0 ? 'the policy declares no runtime parameters' : undefined
}

/** Whether the policy asks for the WebAssembly memory, so that it may hold two kernels. */
export function choosesByMemory(subject: Subject): boolean {
  const memory = new TestMemory()
  hostFor(subject, { memory }).select(ordinarySteps(subject)[0]!)
  return memory.wasRead
}
