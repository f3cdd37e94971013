import type { WyRand } from '@router/sdk'
import {
  type ClassicExpected,
  type ClassicLine,
  type ClassicStep,
  classicLine,
  classicTypes,
} from '../shapes/classic.js'
import { CaseRandom } from './case-random.js'
import type { Checks } from './checks.js'
import {
  type CaseStep,
  type ClassicHost,
  type ClassicSource,
  type Selected,
  overRows,
  whole,
} from './classic-hosts.js'
import { ShapeError, defineFamily } from './family.js'
import { resolvePolicy } from './policies.js'
import { kernels } from './selectors.js'

/** Seeds of the streams of a case that says neither draws nor seed: any pick of its tie set will do. */
const anySeeds = [1n, 2n, 3n, 4n]
const orders = ['canonical rows', 'order written out', 'rows reversed', 'rows shuffled']

/** The policies that look at no KV cache. */
export const classicFamily = defineFamily({
  name: 'classic',
  recognises: ({ policy, kind }) =>
    kind === undefined && (classicTypes as readonly unknown[]).includes(policy),
  covers: '@router/policy-classic, @router/core',
  schema: classicLine,
  evaluate: (line, checks) => {
    const steps = stepsOf(line)
    for (const { seed, isScripted } of streamsOf(line, steps)) {
      const source = (): ClassicSource => sourceOf(line, steps, new CaseRandom(seed))
      for (const order of orders)
        checks.within(order, () => play(steps, isScripted, overRows(source(), order), checks))
      for (const kernel of kernels) {
        const name = `whole selection, ${kernel.name}`
        checks.within(name, () => play(steps, isScripted, whole(source(), kernel), checks))
      }
    }
  },
})

function stepsOf(line: ClassicLine): CaseStep[] {
  const steps: ClassicStep[] = 'steps' in line ? line.steps : [{ ...line, queryOnly: false }]
  return steps.map((step) => {
    const { affinityTarget = step.target, target = affinityTarget } = step
    if (JSON.stringify(target) !== JSON.stringify(affinityTarget))
      throw new ShapeError(['affinityTarget: expected the target of the same step'])
    return {
      rows: step.rows ?? line.rows!,
      target: target ?? undefined,
      requiredCacheHits: step.requiredCacheHits,
      queryOnly: step.queryOnly,
      draws: step.draws,
      expect: step.expect,
    }
  })
}

/** Seeds of the random stream, and whether written answers stand for it: with a word of neither it must not be asked. */
function streamsOf(
  { seed }: ClassicLine,
  steps: readonly CaseStep[],
): { readonly seed: bigint; readonly isScripted: boolean }[] {
  if (seed !== undefined) return [{ seed: BigInt(seed), isScripted: false }]
  const isOpen =
    steps.every(({ draws }) => draws === undefined) && steps.some(({ expect }) => hasTieSet(expect))
  return isOpen ? anySeeds.map((any) => ({ seed: any, isScripted: false })) : [{ seed: 0n, isScripted: true }]
}

function hasTieSet(expect: ClassicExpected): boolean {
  return typeof expect === 'object' && 'tieSet' in expect && expect.tieSet !== undefined
}

/** The policy of a line with its random streams replaced, and every rank of its steps: nobody leaves. */
function sourceOf(line: ClassicLine, steps: readonly CaseStep[], random: CaseRandom): ClassicSource {
  const { policy: type, params = {}, role = 'aggregated', router = {} } = line
  const policy = resolvePolicy(type, params)
  const { definition } = policy
  const isConditional = role === 'conditional-decode'
  return {
    policy: {
      ...policy,
      definition: {
        ...definition,
        create: (parameters, scope) =>
          definition.create(parameters, { ...scope, random: (): WyRand => random }),
      },
    },
    random,
    place: { role: isConditional ? 'decode' : role, conditionalDisaggregation: isConditional },
    router: { encoder_cuda_to_cpu_ratio: router.encoder_cuda_to_cpu_ratio ?? 8 },
    fleet: steps.flatMap(({ rows }) => rows),
  }
}

function play(steps: readonly CaseStep[], isScripted: boolean, host: ClassicHost, checks: Checks): void {
  try {
    for (const [index, step] of steps.entries()) {
      const draws = isScripted ? (step.draws ?? []) : undefined
      checks.within(`step ${index}`, () => checkStep(step, host.select(step, draws, checks), checks))
    }
  } finally {
    host.dispose()
  }
}

function checkStep({ expect }: CaseStep, selected: Selected, checks: Checks): void {
  const { pick, error, tieSet = [], mode, allowedCpu = null, reservesOccupancy } = selected
  if (typeof expect === 'object' && 'error' in expect) {
    checks.equal('error', expect.error, error?.code)
    checks.equal('reason', expect.reason, error?.details['reason'])
    return
  }
  checks.equal('error', undefined, error?.code)
  if (pick === undefined) return
  const facts = typeof expect === 'string' ? { pick: expect } : expect
  if (facts.pick !== undefined) checks.equal('pick', facts.pick, pick)
  checks.equal('pick is of our tieSet', true, tieSet.includes(pick) || pick)
  if (typeof expect === 'string') return
  if (expect.tieSet !== undefined) checks.list('tieSet', expect.tieSet, tieSet)
  if (expect.group !== undefined) checks.equal('group', expect.group, mode)
  if (expect.allowedCpu !== undefined) checks.equal('allowedCpu', expect.allowedCpu, allowedCpu)
  if (expect.occupancyAdmission !== undefined && reservesOccupancy !== undefined)
    checks.equal('occupancyAdmission', expect.occupancyAdmission, reservesOccupancy)
}
