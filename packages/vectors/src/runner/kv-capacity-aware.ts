import { type KvCapacityAwareLine, kvCapacityAwareLine } from '../shapes/kv-capacity-aware.js'
import type { Checks } from './checks.js'
import { type ComponentSource, factsOf, handMadeRow, runOverRows, viewOptionsOf } from './component-host.js'
import { defineFamily, type RawLine } from './family.js'
import { fleetFor } from './fleet.js'
import { permutations } from './permutations.js'
import { isShipped, resolvePolicy } from './policies.js'
import { compareRanks, nameOf, rankOf } from './rows.js'
import { type Kernel, emptyTable, kernels, withSelector } from './selectors.js'

const type = 'dynamo-kv-capacity-aware'
const picksPerRun = 8
const place = { role: 'decode', conditionalDisaggregation: false } as const

/** Rows that fit, and the fall-back when none does. */
export const kvCapacityAwareFamily = defineFamily({
  name: 'kv-capacity-aware',
  recognises: (line) => isCapacityPolicy(line['policy']) && 'rows' in line && hasMode(line['expect']),
  covers: '@router/policy-kv-capacity-aware, @router/core',
  schema: kvCapacityAwareLine,
  evaluate: (line, checks) => {
    for (const kernel of kernels) {
      overRows(line, kernel, checks)
      checks.within(`whole selection, ${kernel.name}`, () => wholeSelection(line, kernel, checks))
    }
  },
})

function isCapacityPolicy(policy: unknown): boolean {
  return policy === undefined || policy === type || policy === 'kv-capacity-aware'
}

function hasMode(expect: unknown): boolean {
  return typeof expect === 'object' && expect !== null && 'mode' in (expect as RawLine)
}

function policyOf({ policy = type, params }: KvCapacityAwareLine) {
  return resolvePolicy(isShipped(policy) ? policy : type, params)
}

function overRows(line: KvCapacityAwareLine, kernel: Kernel, checks: Checks): void {
  const { rows, request, expect } = line
  const source: ComponentSource = {
    policy: policyOf(line),
    place,
    kernel,
    rows: rows.map(handMadeRow),
    options: viewOptionsOf(request),
    facts: factsOf(request),
    selections: picksPerRun,
  }
  let first: readonly string[] | undefined
  for (const permutation of permutations(rows.length)) {
    const outcome = runOverRows(source, permutation)
    first ??= outcome.picks
    checks.within(`${kernel.name}, ${permutation.name}`, () => {
      checks.list('tieSet', expect.tieSet, outcome.tieSet)
      checks.equal('mode', expect.mode, outcome.mode)
      checks.list('warned', expect.warned, inOrder(outcome.warned))
      checkPicks(line, outcome.picks, checks)
      checks.list('picks in canonical order', first!, outcome.picks)
    })
  }
}

function wholeSelection(line: KvCapacityAwareLine, kernel: Kernel, checks: Checks): void {
  const { rows, expect } = line
  const table = emptyTable(kernel)
  const request = fleetFor(table, rows, line.request)
  if (request === undefined) return
  const warned: string[] = []
  const onWarning = ({
    workerId,
    dpRank,
  }: {
    readonly workerId?: bigint
    readonly dpRank?: number
  }): void => {
    if (workerId !== undefined && dpRank !== undefined) warned.push(nameOf({ workerId, dpRank }))
  }
  withSelector({ table, policy: policyOf(line), place, onWarning }, (selector) => {
    const explanation = selector.explain(request)
    checks.list('warned by a query', [], warned)
    checks.list('tieSet', expect.tieSet, explanation.tieSet.map(nameOf))
    checks.equal('mode', expect.mode, explanation.mode)
    const picks = Array.from({ length: picksPerRun }, () => nameOf(selector.select(request)))
    checkPicks(line, picks, checks)
    checks.list('warned', expect.warned, inOrder(warned))
  })
}

function checkPicks({ expect }: KvCapacityAwareLine, picks: readonly string[], checks: Checks): void {
  for (const [index, pick] of picks.entries()) {
    checks.equal(`pick ${index} is of the tieSet`, true, expect.tieSet.includes(pick) || pick)
  }
}

function inOrder(names: readonly string[]): string[] {
  return names.map(rankOf).toSorted(compareRanks).map(nameOf)
}
