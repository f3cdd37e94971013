import { LawViolation, checkLaws, laws, policyConformance, subjectsOf } from '@router/conformance'
import { describe, expect, it } from 'vitest'
import { leastBusy, pinnedOnly, rotating, weighted } from './right/policies.js'
import { wrongCosts } from './wrong/costs.js'

/** Notes what a runner is asked to register, and runs nothing. */
function recordingRunner(options: { hasSkip: boolean }) {
  const registered: { title: string; body: () => void; skipped: boolean }[] = []
  const note = (skipped: boolean) => (title: string, body: () => void) =>
    void registered.push({ title, body, skipped })
  const run = options.hasSkip ? Object.assign(note(false), { skip: note(true) }) : note(false)
  return { registered, describe: (_title: string, body: () => void) => body(), it: run }
}

describe('policyConformance', () => {
  it('registers every law for every role, skipping only with a reason', () => {
    const runner = recordingRunner({ hasSkip: true })
    policyConformance(runner, { policy: leastBusy })
    const perDefinition = laws.filter((law) => law.level === 'definition').length
    const roles = 3
    expect(subjectsOf({ policy: leastBusy })).toHaveLength(roles)
    expect(runner.registered).toHaveLength(perDefinition + roles * (laws.length - perDefinition))
    const skipped = runner.registered.filter((test) => test.skipped)
    expect(skipped.every(({ title }) => /\(skipped: .+\)$/u.test(title))).toBe(true)
    expect(skipped.length).toBeGreaterThan(0)
  })

  it('tells a reason in the title where the runner knows no skipped tests', () => {
    const runner = recordingRunner({ hasSkip: false })
    policyConformance(runner, { policy: leastBusy })
    const excused = runner.registered.filter(({ title }) => title.includes('(skipped: '))
    expect(excused.length).toBeGreaterThan(0)
    for (const { body } of excused) expect(body).not.toThrow()
  })

  it('fails inside the test, not while registering, when a policy cannot even be created', () => {
    const broken = {
      ...leastBusy,
      create: () => {
        throw new Error('no luck')
      },
    }
    const runner = recordingRunner({ hasSkip: true })
    policyConformance(runner, { policy: broken })
    const test = runner.registered.find(({ title }) => title.startsWith('row-permutation'))!
    expect(test.skipped).toBe(false)
    expect(test.body).toThrow(/^row-permutation: no luck$/u)
  })

  it('throws a LawViolation that names law, place and numbers', () => {
    const { policy } = wrongCosts.find(({ name }) => name.includes('clamped block count'))!
    const runner = recordingRunner({ hasSkip: true })
    policyConformance(runner, { policy })
    const test = runner.registered.find(({ title }) => title.startsWith('empty-prompt'))!
    let violation: unknown
    try {
      test.body()
    } catch (error) {
      violation = error
    }
    expect(violation).toBeInstanceOf(LawViolation)
    expect(violation).toMatchObject({ law: 'empty-prompt' })
    expect(String(violation)).toMatch(
      /block size 4096.*the empty prompt costs 0\.25, which is 1 of a block too much/u,
    )
  })
})

describe('checkLaws', () => {
  it('reports status and reason of every law without a runner', () => {
    const reports = checkLaws({ policy: rotating })
    expect(reports.map(({ law }) => law)).toEqual(laws.map(({ id }) => id))
    expect(reports.filter(({ status }) => status === 'failed')).toEqual([])
    expect(reports.find(({ law }) => law === 'query-rule')).toMatchObject({ status: 'passed' })
    expect(reports.find(({ law }) => law === 'filtered-rows')).toMatchObject({
      status: 'skipped',
      reason: 'create returns no filters',
      subject: 'aggregated',
    })
  })

  it('examines decode with and without conditional disaggregation, and the roles asked for', () => {
    const places = (roles?: readonly ['prefill']): string[] => {
      const options = {
        policy: pinnedOnly,
        parameters: { reason: 'none' },
        ...(roles === undefined ? {} : { roles }),
      }
      return [...new Set(checkLaws(options).map(({ subject }) => subject))]
    }
    expect(places()).toEqual(['definition', 'decode', 'decode, conditional disaggregation'])
    expect(places(['prefill'])).toEqual(['definition', 'prefill'])
  })

  it('says that parameters are missing when a policy needs them', () => {
    const report = checkLaws({ policy: pinnedOnly }).find(({ law }) => law === 'parameters-strict')
    expect(report).toMatchObject({ status: 'failed' })
    expect(report!.reason).toMatch(/a policy that needs parameters is examined with `parameters`/u)
  })

  it('skips no law that the richest of the sound policies can be held to', () => {
    const skipped = checkLaws({ policy: weighted, roles: ['aggregated'] }).filter(
      ({ status }) => status === 'skipped',
    )
    expect(skipped.map(({ law }) => law)).toEqual([
      'explain-rows',
      'kernels-agree',
      'snapshot-round-trip',
      'hooks-total',
    ])
  })
})
