import { type LawReport, checkLaws, laws } from '@router/conformance'
import { describe, expect, it } from 'vitest'
import { wrongCosts } from './wrong/costs.js'
import { wrongDefinitions } from './wrong/definition.js'
import { wrongIsolation } from './wrong/isolation.js'
import { wrongLifeCycle } from './wrong/life-cycle.js'
import { wrongOrder } from './wrong/order.js'
import { wrongRepetition } from './wrong/repetition.js'

const wrong = [
  ...wrongDefinitions,
  ...wrongCosts,
  ...wrongIsolation,
  ...wrongOrder,
  ...wrongRepetition,
  ...wrongLifeCycle,
]

describe('laws', () => {
  it.each(wrong)('reject $name', ({ policy, breaks }) => {
    const failed = checkLaws({ policy, roles: ['aggregated'] }).filter((report) => report.status === 'failed')
    expect(idsOf(failed), failed.map((report) => report.reason).join('\n')).toEqual([...breaks].sort())
  })

  it('each have a policy that breaks them', () => {
    const unbroken = laws
      .map((law) => law.id)
      .filter((id) => wrong.every(({ breaks }) => !breaks.includes(id)))
    expect(unbroken).toEqual([])
  })
})

function idsOf(reports: readonly LawReport[]): string[] {
  return [...new Set(reports.map((report) => report.law))].sort()
}
