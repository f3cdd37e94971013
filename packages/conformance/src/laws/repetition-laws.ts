import type { PolicyDefinition } from '@router/sdk'
import { extremeSteps, unknownSteps } from '../extreme-steps.js'
import { type Law, defineLaw, hostFor, demand, demandSame, demandSameRun } from '../law.js'
import { acceptedVariants, parameterText } from '../parameter-samples.js'
import type { AnyPolicy } from '../run-components.js'
import { type Step, ordinarySteps } from '../steps.js'
import { type Subject, inputScopeOf, parametersOf } from '../subject.js'
import { TestMemory } from '../test-memory.js'
import { choosesByMemory } from './skips.js'

/** Same inputs and seed, same decisions. */
export const deterministicSeed: Law = defineLaw({
  id: 'deterministic-seed',
  title:
    'two objects from the same seed and inputs decide the same, in any order of creation and at any clock origin',
  check: (subject) => {
    const steps = ordinarySteps(subject)
    const first = hostFor(subject, { entropy: 1n })
    const second = hostFor(subject, { entropy: 2n })
    const expected = [first.selectAll(steps), second.selectAll(steps)]
    const later = { clockOriginMs: 86_400_000 }
    const secondAgain = hostFor(subject, { ...later, entropy: 2n })
    const firstAgain = hostFor(subject, { ...later, entropy: 1n })
    for (const [index, step] of steps.entries()) {
      demandSame(expected[1]![index]!, secondAgain.select(step), `seed 2 again, step ${index}`)
      demandSame(expected[0]![index]!, firstAgain.select(step), `seed 1 again, step ${index}`)
    }
  },
})

/** State belongs to one partition and role. */
export const freshObjects: Law = defineLaw({
  id: 'fresh-objects',
  title: 'create returns a new object each time, and two objects share no state',
  check: (subject) => {
    const steps = ordinarySteps(subject)
    const alone = hostFor(subject).selectAll(steps)
    const host = hostFor(subject)
    const neighbour = hostFor(subject, { entropy: 99n })
    demand(host.policy !== neighbour.policy, 'create returned the same object twice')
    const interleaved = steps.map((step, index) => {
      neighbour.select(steps[(index * 5) % steps.length]!)
      return host.select(step)
    })
    demandSameRun(alone, interleaved, 'interleaved with another partition')
  },
})

/** A policy is what it does, not what it is called. */
export const renamedPolicy: Law = defineLaw({
  id: 'renamed-policy',
  title: 'a renamed policy, and one whose components are wrapped and renamed, decide the same',
  check: (subject) => {
    const steps = ordinarySteps(subject)
    const expected = hostFor(subject).selectAll(steps)
    const { inputs, create } = subject.policy
    const policy: PolicyDefinition = {
      ...subject.policy,
      type: 'renamed-for-conformance',
      aliases: [],
      package: 'renamed',
      version: '9.9.9',
      inputs: (parameters, scope) => inputs(parameters, scope),
      create: (parameters, scope) => create(parameters, scope),
    }
    demandSameRun(expected, hostFor({ ...subject, policy }).selectAll(steps), 'renamed')
    demandSameRun(expected, hostFor(subject, { wrap: wrapped }).selectAll(steps), 'with wrapped components')
  },
})

/** Every callback behind a function of its own, called without `this`. */
function wrapped(policy: AnyPolicy): AnyPolicy {
  const { filters = [], scorers = [], picker, onWorkersChanged } = policy
  const { pick } = picker
  return {
    filters: filters.map(({ inputs, keep }, index) => ({
      name: `wrapped filter ${index}`,
      ...(inputs === undefined ? {} : { inputs }),
      keep: (context, candidates, row) => keep(context, candidates, row),
    })),
    scorers: scorers.map(({ inputs, score }, index) => ({
      name: `wrapped scorer ${index}`,
      ...(inputs === undefined ? {} : { inputs }),
      score: (context, candidates, costs) => score(context, candidates, costs),
    })),
    picker: {
      name: 'wrapped picker',
      ...(picker.inputs === undefined ? {} : { inputs: picker.inputs }),
      pick: (context, candidates, costs) => pick(context, candidates, costs),
    },
    ...(onWorkersChanged === undefined ? {} : { onWorkersChanged: (workers) => onWorkersChanged(workers) }),
  }
}

/** Asking is not doing. */
export const queryRule: Law = defineLaw({
  id: 'query-rule',
  title: 'queries change nothing, and a query gives the row that a tracked selection then gives',
  check: (subject) => {
    const steps = ordinarySteps(subject)
    const expected = hostFor(subject).selectAll(steps)
    const host = hostFor(subject)
    for (const [index, step] of steps.entries()) {
      for (let count = 0; count < index % 4; count++) host.select(askedInstead(step, count), { query: true })
      const asked = host.select(step, { query: true })
      const tracked = host.select(step)
      demandSame(asked, tracked, `step ${index}, the tracked selection after its query`)
      demandSame(expected[index]!, tracked, `step ${index}, among queries`)
    }
  },
})

/** Another request to the same fleet. */
function askedInstead(step: Step, count: number): Step {
  const sessionContext = { sessionId: `asked-${count}`, agentHeaders: {} }
  return { ...step, facts: { ...step.facts, sessionContext, promptTokens: 33 * (count + 1) } }
}

/** Declared is not used. */
export const reservedUnused: Law = defineLaw({
  id: 'reserved-unused',
  title: 'groups that are reserved for patches but not used do not change a cost or the row',
  skip: (subject) =>
    unusedReservations(subject).length === 0 ? 'no parameters leave a reserved group unused' : undefined,
  check: (subject) => {
    const steps = ordinarySteps(subject).slice(0, 16)
    for (const configured of unusedReservations(subject)) {
      const expected = hostFor({ ...subject, configured }).selectAll(steps)
      const actual = hostFor({ ...subject, configured }, { reservesRuntimeInputs: true }).selectAll(steps)
      demandSameRun(expected, actual, `with ${parameterText(configured)} and reserved inputs`)
    }
  },
})

/** Parameters, in reach of a patch, under which a group is reserved but not used. */
function unusedReservations(subject: Subject): Readonly<Record<string, unknown>>[] {
  return [subject.configured, ...acceptedVariants(subject, subject.policy.runtime)].filter((configured) => {
    const parameters = parametersOf(subject, configured)
    const used = subject.policy.inputs(parameters, inputScopeOf(subject, false))
    return subject.policy.inputs(parameters, inputScopeOf(subject, true)).some((name) => !used.includes(name))
  })
}

/** The host may move its buffer between selections. */
export const movedColumns: Law = defineLaw({
  id: 'moved-columns',
  title: 'columns and scratch that move to a grown buffer between selections do not change a decision',
  check: (subject) => {
    const steps = ordinarySteps(subject)
    for (const webAssembly of [true, false]) {
      const expected = hostFor(subject, { memory: new TestMemory({ webAssembly, pages: 4 }) }).selectAll(
        steps,
      )
      const memory = new TestMemory({ webAssembly, pages: 2 })
      const host = hostFor(subject, { memory })
      const actual = steps.map((step) => {
        memory.grow()
        return host.select(step)
      })
      demandSameRun(expected, actual, webAssembly ? 'WebAssembly memory grows' : 'plain buffer grows')
    }
  },
})

/** One formula, however many kernels. */
export const kernelsAgree: Law = defineLaw({
  id: 'kernels-agree',
  title: 'with and without WebAssembly memory the policy decides the same, bit for bit',
  skip: (subject) =>
    choosesByMemory(subject) ? undefined : 'the policy does not use the WebAssembly memory',
  check: (subject) => {
    const named = [...extremeSteps(subject), ...unknownSteps(subject)].map(({ step }) => step)
    const steps = [...ordinarySteps(subject), ...named]
    const expected = hostFor(subject, { memory: new TestMemory({ webAssembly: false }) }).selectAll(steps)
    demandSameRun(expected, hostFor(subject).selectAll(steps), 'with WebAssembly memory')
  },
})
