import { type ResolvedPolicy, WyRand } from '@router/sdk'
import {
  type ClassicExpected,
  type ClassicLine,
  type ClassicRow,
  type ClassicStep,
  classicLine,
  classicTypes,
} from '../shapes/classic.js'
import { listLimit } from '../shapes/common.js'
import { CaseRandom } from './case-random.js'
import type { Checks } from './checks.js'
import { type ClassicHost, type Selected, ComponentsHost, WholeHost } from './classic-hosts.js'
import { ShapeError, defineFamily } from './family.js'
import { resolvePolicy } from './policies.js'
import { kernels } from './selectors.js'

/** Seeds of the streams of a case that says neither draws nor seed: any pick of its tie set will do. */
const anySeeds = [1n, 2n, 3n, 4n]
const orders = ['canonical rows', 'order written out', 'rows reversed', 'rows shuffled'] as const

/** The policies that look at no KV cache. */
export const classicFamily = defineFamily({
  name: 'classic',
  recognises: ({ policy, kind }) =>
    kind === undefined && (classicTypes as readonly unknown[]).includes(policy),
  covers: '@router/policy-classic, @router/core',
  schema: classicLine,
  evaluate: (line, checks) => {
    const steps = stepsOf(line)
    for (const seed of seedsOf(line)) {
      for (const kernel of kernels) {
        for (const order of orders) {
          checks.within(`${kernel.name}, ${order}`, () =>
            play(steps, checks, seed, (source) => new ComponentsHost(source, line, kernel, order)),
          )
        }
        checks.within(`whole selection, ${kernel.name}`, () =>
          play(steps, checks, seed, (source) => new WholeHost(source, line, kernel)),
        )
      }
    }
  },
})

/** One request of a case with its rows. */
export interface CaseStep extends ClassicStep {
  readonly rows: readonly ClassicRow[] & ClassicStep['rows'] & {}
}

/** What a case is played with. */
export interface CaseSource {
  /** Its random streams are `random`. */
  readonly policy: ResolvedPolicy
  readonly random: CaseRandom
  /** Every rank of the case with its facts, the first time it stands there. Nobody leaves. */
  readonly fleet: readonly ClassicRow[]
}

function stepsOf(line: ClassicLine): CaseStep[] {
  const steps = 'steps' in line ? line.steps : [{ ...line, queryOnly: false }]
  return steps.map((step) => ({ ...step, rows: step.rows ?? line.rows! }))
}

/** A seed, and whether written answers come before it. */
function seedsOf(line: ClassicLine): { readonly seed: bigint; readonly isScripted: boolean }[] {
  if (line.seed !== undefined) return [{ seed: BigInt(line.seed), isScripted: false }]
  const isOpen =
    !('steps' in line) &&
    line.draws === undefined &&
    typeof line.expect === 'object' &&
    'tieSet' in line.expect
  return isOpen
    ? anySeeds.map((seed) => ({ seed, isScripted: false }))
    : [{ seed: 0n, isScripted: true }]
}

function play(
  steps: readonly CaseStep[],
  checks: Checks,
  { seed, isScripted }: { readonly seed: bigint; readonly isScripted: boolean },
  hostOf: (source: (policy: ResolvedPolicy) => CaseSource) => ClassicHost,
): void {
  const random = new CaseRandom(seed)
  const host = hostOf((policy) => ({ policy: drawingFrom(policy, random), random, fleet: fleetOf(steps) }))
  try {
    for (const [index, step] of steps.entries()) {
      const draws = isScripted ? (step.draws ?? []) : undefined
      checks.within(`step ${index}`, () => {
        const bounds = draws?.map(({ n }) => n) ?? []
        random.answer(draws)
        random.mark()
        checkSelected(step.expect, host.explain(step), checks)
        random.rewind()
        random.answer(draws)
        const selected = host.select(step)
        if (step.queryOnly) random.rewind()
        checkSelected(step.expect, selected, checks)
        checks.list('draws', bounds, random.asked)
      })
    }
  } finally {
    host.dispose()
  }
}

function checkSelected(expect: ClassicExpected, selected: Selected, checks: Checks): void {
  if (typeof expect === 'object' && 'error' in expect) {
    checks.equal('error', expect.error, selected.error?.code)
    checks.equal('reason', expect.reason, selected.error?.details['reason'])
    return
  }
  checks.equal('error', undefined, selected.error?.code)
  if (selected.error !== undefined) return
  const { pick, tieSet, mode, allowedCpu, reserves } = selected
  const wanted = typeof expect === 'string' ? { pick: expect } : expect
  if (wanted.pick !== undefined) checks.equal('pick', wanted.pick, pick)
  if (typeof expect === 'object' && reserves !== undefined)
    checks.equal('occupancyAdmission', expect.occupancyAdmission, reserves)
  if (typeof expect === 'object' && expect.tieSet !== undefined)
    checks.equal('pick is of the tieSet', true, expect.tieSet.includes(pick) || pick)
  if (tieSet === undefined) return
  checks.equal('the explanation names the pick', true, tieSet.includes(pick) || pick)
  if (typeof expect === 'string') return
  if (expect.tieSet !== undefined) checks.list('tieSet', expect.tieSet, tieSet)
  if (expect.group !== undefined) checks.equal('group', expect.group, mode)
  if (expect.allowedCpu !== undefined) checks.equal('allowedCpu', expect.allowedCpu, allowedCpu ?? null)
}

/** The policy with its random streams replaced: a host makes them itself. */
function drawingFrom(policy: ResolvedPolicy, random: WyRand): ResolvedPolicy {
  const { definition } = policy
  return {
    ...policy,
    definition: {
      ...definition,
      create: (parameters, scope) => definition.create(parameters, { ...plain(scope), random: () => random }),
    },
  }
}
