import { type WorkerInputName, workerInputNames } from '@router/sdk'
import { withoutAmbient } from '../ambient.js'
import { type Law, defineLaw, hostFor, demand, demandSame, demandSameRun } from '../law.js'
import { possibleInputs } from '../parameter-samples.js'
import type { ComponentCall } from '../run-components.js'
import { ordinarySteps } from '../steps.js'
import { isColumn } from '../view-columns.js'

/** What a component sees belongs to the host. */
export const noMutation: Law = defineLaw({
  id: 'no-mutation',
  title: 'no component changes the context, the candidates or a column',
  check: (subject) => {
    const around = <T>(call: ComponentCall, run: () => T): T => {
      const before = [fingerprint(call.context), fingerprint(call.candidates)]
      const result = run()
      const after = [fingerprint(call.context), fingerprint(call.candidates)]
      const changed = before.flatMap((facts, index) => changedFacts(facts, after[index]!))
      demand(changed.length === 0, `${call.component} changed ${changed.join(', ')}`)
      return result
    }
    hostFor(subject, { around }).selectAll(ordinarySteps(subject))
  },
})

type Facts = ReadonlyMap<string, string>

function fingerprint(value: object, prefix = ''): Facts {
  const facts = new Map<string, string>()
  for (const [key, member] of Object.entries(value) as [string, unknown][]) {
    const isPlain =
      typeof member === 'object' && member !== null && !isColumn(member) && !Array.isArray(member)
    if (isPlain) for (const [name, fact] of fingerprint(member, `${prefix}${key}.`)) facts.set(name, fact)
    else facts.set(prefix + key, Array.isArray(member) ? `${member.length} entries` : String(member))
  }
  return facts
}

function changedFacts(before: Facts, after: Facts): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter(
    (name) => before.get(name) !== after.get(name),
  )
}

/** Only what is declared is read. */
export const declaredInputs: Law = defineLaw({
  id: 'declared-inputs',
  title: 'each component reads only groups that it declared, and declares only groups of its policy',
  check: (subject) => {
    const possible = possibleInputs(subject)
    const narrowed = new Map<string, readonly WorkerInputName[]>()
    const { policy } = hostFor(subject)
    const kinds = { picker: [policy.picker], filter: policy.filters ?? [], scorer: policy.scorers ?? [] }
    for (const [kind, components] of Object.entries(kinds)) {
      for (const { name, inputs } of components)
        if (inputs !== undefined) narrowed.set(`${kind} ${name}`, inputs)
    }
    const undeclared = new Set<string>()
    const host = hostFor(subject, {
      onRead: ({ component, object, property }) => {
        const group = property as WorkerInputName
        if (object !== 'candidates' || !workerInputNames.includes(group)) return
        const mayRead = narrowed.get(component)?.includes(group) ?? possible.has(group)
        if (!mayRead) undeclared.add(`${component} read candidates.${group} without declaring it`)
      },
    })
    try {
      host.selectAll(ordinarySteps(subject))
    } finally {
      demand(undeclared.size === 0, () => [...undeclared].join('; '))
    }
  },
})

/** Time and randomness come from the scope. */
export const noAmbient: Law = defineLaw({
  id: 'no-ambient',
  title:
    'no ambient clock or randomness: Date, performance, Math.random, crypto and process.hrtime stay unused',
  check: (subject) => {
    const used = new Set<string>()
    const guard = <T>(name: string, run: () => T): T =>
      withoutAmbient(run, (use) => used.add(`${name} used ${use}`))
    try {
      guard('inputs', () => hostFor(subject).inputs)
      const around = <T>(call: ComponentCall, run: () => T): T => guard(call.component, run)
      hostFor(subject, { around, aroundHook: guard }).selectAll(ordinarySteps(subject))
    } finally {
      demand(used.size === 0, () => [...used].join('; '))
    }
  },
})

/** Views belong to the host, which reuses them. */
export const staleViews: Law = defineLaw({
  id: 'stale-views',
  title: 'nothing of a context, view or column is kept and used after the callback that received it',
  check: (subject) => {
    const steps = ordinarySteps(subject)
    const expected = hostFor(subject).selectAll(steps)
    demandSameRun(
      expected,
      hostFor(subject, { checkViews: true }).selectAll(steps),
      'with views that turn stale',
    )
  },
})

/** A failed selection leaves no trace but what a tracked one may have stored before it failed. */
export const survivesThrow: Law = defineLaw({
  id: 'survives-throw',
  title: 'a selection that throws half-way leaves the policy usable; a failed query changes nothing',
  check: (subject) => {
    const steps = ordinarySteps(subject)
    for (const query of [true, false]) {
      // Fleets of every size up to thirteen ranks.
      for (const index of [1, 6, 10, 14, 17]) {
        const [failing, next] = [steps[index]!, steps[index + 1]!]
        const expected = hostFor(subject).select(next, { query: true })
        let reads = 0
        let failingRead = 0
        const onRead = (): void => {
          reads++
          if (reads === failingRead) throw new Error('the host failed on purpose')
        }
        const host = hostFor(subject, { onRead })
        for (failingRead of failingReads) {
          reads = 0
          if (!selectFails(() => host.select(failing, { query }))) break
          reads = Infinity
          const actual = host.select(next, { query: true })
          if (query)
            demandSame(expected, actual, `after a query that failed at read ${failingRead} (step ${index})`)
        }
      }
    }
  },
})

const failingReads = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 40, 60]

function selectFails(select: () => unknown): boolean {
  try {
    select()
    return false
  } catch {
    return true
  }
}
