import { type Law, defineLaw, hostFor, demand, demandSame } from '../law.js'
import { LiveHost } from '../live-host.js'
import { type Outcome, differenceOf } from '../outcome.js'
import { type Step, canonicalSteps, ordinarySteps } from '../steps.js'

/** The host that serves traffic gives what a hand-made one gives. */
export const liveHost: Law = defineLaw({
  id: 'live-host',
  title:
    'the live selector chooses the rank, and explains the costs, that the components give on a hand-made view',
  check: (subject) => {
    const warnings: string[] = []
    const live = new LiveHost(subject, {
      onWarning: ({ code, message }) => warnings.push(`${code}: ${message}`),
    })
    const host = hostFor(subject)
    for (const [index, step] of canonicalSteps(subject).entries()) {
      const explained = live.explain(step)
      const expected = host.select(step)
      demandSame(expected, explained, `explain, step ${index}`)
      demandSame(withoutCosts(expected), live.select(step, 'tracked'), `step ${index}`)
    }
    live.selector.dispose()
    const failed = warnings.find((warning) => /^policy_\w+_failed/u.test(warning))
    demand(failed === undefined, `a hook threw: ${failed}`)
  },
})

function withoutCosts(outcome: Outcome): Outcome {
  return 'refused' in outcome ? outcome : { ...outcome, costs: new Map() }
}

/** Queries, explanations and failures around live selections leave no trace. */
export const liveQueries: Law = defineLaw({
  id: 'live-queries',
  title:
    'in the live selector queries, explanations and requests without endpoints do not change what follows',
  check: (subject) => {
    const steps = ordinarySteps(subject)
    const plain = new LiveHost(subject)
    const asked = new LiveHost(subject)
    for (const [index, step] of steps.entries()) {
      const expected = plain.select(step, 'tracked')
      if (index % 2 === 0) asked.explain(step)
      const query = asked.select(step, 'query')
      failWithoutEndpoints(asked, step)
      const tracked = asked.select(step, 'tracked')
      demandSame(query, tracked, `step ${index}, the tracked selection after its query`)
      demandSame(expected, tracked, `step ${index}, among queries`)
    }
  },
})

function failWithoutEndpoints(host: LiveHost, step: Step): void {
  const { promptTokens = 1000, blockSize = 16 } = step.facts
  try {
    host.selector.select({ mode: 'tracked', promptTokens, blockSize, allowedWorkerIds: [] })
  } catch {
    return
  }
  throw new Error('a request that no worker may serve was served')
}

/** Views of the live host turn stale too. */
export const liveViews: Law = defineLaw({
  id: 'live-views',
  title: 'in the live selector no view is used after the callback that received it (`checkViews`)',
  check: (subject) => {
    const plain = new LiveHost(subject)
    const checked = new LiveHost(subject, { checkViews: true })
    for (const [index, step] of ordinarySteps(subject).entries()) {
      const difference = differenceOf(plain.select(step, 'tracked'), checked.select(step, 'tracked'))
      demand(difference === undefined, `step ${index} with \`checkViews\`: ${difference}`)
    }
  },
})
