import { workerInfosOf } from '../hand-made-view.js'
import { type Law, defineLaw, hostFor, demand, demandSameRun } from '../law.js'
import { acceptedVariants, parameterText } from '../parameter-samples.js'
import type { PolicyHost } from '../policy-host.js'
import { ordinarySteps } from '../steps.js'
import { type Subject, inputScopeOf, parametersOf } from '../subject.js'
import { lacksRuntime } from './skips.js'

/** What may be patched can be patched. */
export const reconfigureSame: Law = defineLaw({
  id: 'reconfigure-same',
  title:
    'reconfigure exists where runtime is not empty, and the same values change nothing and keep the state',
  skip: lacksRuntime,
  check: (subject) => {
    const steps = ordinarySteps(subject)
    const expected = hostFor(subject).selectAll(steps)
    const host = hostFor(subject)
    demandReconfigure(host)
    const actual = steps.map((step) => {
      reconfigure(host, parametersOf(subject))
      return host.select(step)
    })
    demandSameRun(expected, actual, 'patched to the same values before each selection')
  },
})

/** A patch takes full effect. */
export const reconfigureFull: Law = defineLaw({
  id: 'reconfigure-full',
  title:
    'an object patched before its first selection decides as one created with those values, and back again',
  skip: lacksRuntime,
  check: (subject) => {
    const steps = ordinarySteps(subject).filter((_step, index) => index % 4 === 1)
    const original = hostFor(subject, { reservesRuntimeInputs: true }).selectAll(steps)
    for (const configured of acceptedVariants(subject, subject.policy.runtime)) {
      const patched = { ...subject, configured }
      const host = hostFor(subject, { reservesRuntimeInputs: true })
      demandReconfigure(host)
      const used = subject.policy.inputs(parametersOf(patched), inputScopeOf(subject, false))
      // A policy that fails to reserve a group breaks `inputs-reserved`, not this law.
      if (used.some((name) => !host.inputs.includes(name))) continue
      reconfigure(host, parametersOf(patched))
      const expected = hostFor(patched, { reservesRuntimeInputs: true }).selectAll(steps)
      demandSameRun(expected, host.selectAll(steps), `patched to ${parameterText(configured)}`)
      const returned = hostFor(subject, { reservesRuntimeInputs: true })
      reconfigure(returned, parametersOf(patched))
      reconfigure(returned, parametersOf(subject))
      demandSameRun(original, returned.selectAll(steps), `patched to ${parameterText(configured)} and back`)
    }
  },
})

function demandReconfigure(host: PolicyHost): void {
  demand(
    typeof host.policy.reconfigure === 'function',
    'runtime is not empty, but create returns no reconfigure()',
  )
}

function reconfigure(host: PolicyHost, parameters: unknown): void {
  host.hook('reconfigure', (policy) => policy.reconfigure?.(parameters as never))
}

/** State survives a change of process. */
export const snapshotRoundTrip: Law = defineLaw({
  id: 'snapshot-round-trip',
  title:
    'snapshot() is plain JSON, restore() continues the sequence from it and refuses what it does not know',
  skip: (subject) => {
    const { snapshot, restore } = hostFor(subject).policy
    return snapshot === undefined && restore === undefined
      ? 'create returns no snapshot() and restore()'
      : undefined
  },
  check: (subject) => {
    const steps = ordinarySteps(subject)
    const half = Math.floor(steps.length / 2)
    const expected = hostFor(subject).selectAll(steps)
    const before = hostFor(subject)
    const { snapshot, restore } = before.policy
    demand(
      typeof snapshot === 'function' && typeof restore === 'function',
      'snapshot() and restore() come together',
    )
    const start = before.selectAll(steps.slice(0, half))
    const value = before.hook('snapshot', (policy) => policy.snapshot!())
    const json = JSON.stringify(value)
    demand(json !== undefined, 'snapshot() returned a value that JSON cannot hold')
    demand(JSON.stringify(before.policy.snapshot!()) === json, 'a second snapshot() differs from the first')
    demandSameRun(expected.slice(half), before.selectAll(steps.slice(half)), 'after snapshot()')

    const source = hostFor(subject)
    source.selectAll(steps.slice(0, half))
    const after = hostFor(subject, { streamStates: source.streams, clockOriginMs: source.nowMs })
    after.hook('onWorkersChanged', (policy) => policy.onWorkersChanged?.(workersBefore(subject, half)))
    after.hook('restore', (policy) => policy.restore!(JSON.parse(json)))
    demandSameRun(expected, [...start, ...after.selectAll(steps.slice(half))], 'after restore()')
    for (const unknown of [undefined, null, 42, 'text', [], {}, { version: 'a version nobody wrote' }]) {
      demand(
        refuses(subject, unknown),
        () => `restore() accepts ${JSON.stringify(unknown)} without a complaint`,
      )
    }
  },
})

function workersBefore(subject: Subject, index: number) {
  const step = ordinarySteps(subject)[index - 1]!
  return workerInfosOf(step.fleet ?? step.rows)
}

function refuses(subject: Subject, value: unknown): boolean {
  try {
    hostFor(subject).policy.restore!(value)
    return false
  } catch {
    return true
  }
}

/** Hooks are total. */
export const hooksTotal: Law = defineLaw({
  id: 'hooks-total',
  title:
    'onWorkersChanged, observe and dispose never throw: empty fleets, unknown workers, outcomes with gaps',
  skip: (subject) => {
    const { onWorkersChanged, observe, dispose } = hostFor(subject).policy
    const none = [onWorkersChanged, observe, dispose].every((hook) => hook === undefined)
    return none ? 'create returns none of onWorkersChanged, observe and dispose' : undefined
  },
  check: (subject) => {
    const steps = ordinarySteps(subject)
    const host = hostFor(subject)
    const workers = workerInfosOf(steps[8]!.rows)
    const outcome = { workerId: 5n, dpRank: 3, promptTokens: 10, status: 'completed' }
    const timed = {
      ...outcome,
      sessionId: 'session-1',
      cachedTokens: 0,
      outputTokens: 0,
      timeToFirstTokenMs: 1,
    }
    host.selectAll(steps.slice(0, 8))
    for (const fleet of [[], workers, workers, workers.slice(1), []]) {
      host.hook('onWorkersChanged', (policy) => policy.onWorkersChanged?.(fleet))
      for (const told of [outcome, timed, { ...outcome, status: 'aborted', promptTokens: 0 }]) {
        host.hook('observe', (policy) => policy.observe?.(told))
      }
    }
    host.selectAll(steps.slice(8, 16))
    host.hook('dispose', (policy) => policy.dispose?.())
  },
})
