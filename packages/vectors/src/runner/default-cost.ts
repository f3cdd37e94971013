import { type DefaultCostLine, defaultCostLine } from '../shapes/default-cost.js'
import type { Checks } from './checks.js'
import { type ComponentSource, factsOf, handMadeRow, runOverRows, viewOptionsOf } from './component-host.js'
import { defineFamily } from './family.js'
import { fleetFor } from './fleet.js'
import { permutations } from './permutations.js'
import { resolvePolicy } from './policies.js'
import { nameOf } from './rows.js'
import { type Kernel, type Place, emptyTable, kernels, withSelector } from './selectors.js'

const picksPerRun = 8

/** Costs and ties of the default family. */
export const defaultCostFamily = defineFamily({
  name: 'default-cost',
  recognises: (line) =>
    'label' in line && 'plainDecode' in line && isDefaultPolicy(line['policy']) && 'rows' in line,
  covers: '@router/policy-default, @router/core',
  schema: defaultCostLine,
  evaluate: (line, checks) => {
    for (const place of placesOf(line)) {
      for (const kernel of kernels) {
        const scope = `${place.role}${place.conditionalDisaggregation ? ' (conditional)' : ''}, ${kernel.name}`
        overRows(line, place, kernel, scope, checks)
        checks.within(`${scope}, whole selection`, () => wholeSelection(line, place, kernel, checks))
      }
    }
  },
})

function isDefaultPolicy(policy: unknown): boolean {
  return policy === undefined || defaultCostLine.shape.policy.unwrap().safeParse(policy).success
}

/** Every place in which the line must hold. */
function placesOf({ label, plainDecode }: DefaultCostLine): Place[] {
  if (label !== 'decode') return [{ role: 'prefill', conditionalDisaggregation: false }]
  if (plainDecode) return [{ role: 'decode', conditionalDisaggregation: false }]
  return [
    { role: 'aggregated', conditionalDisaggregation: false },
    { role: 'decode', conditionalDisaggregation: true },
    { role: 'encode', conditionalDisaggregation: false },
  ]
}

function policyOf({
  policy = 'dynamo-default-cost-fn',
  params,
  reservesRuntimeInputs = false,
}: DefaultCostLine) {
  return resolvePolicy(policy, params, reservesRuntimeInputs)
}

function overRows(line: DefaultCostLine, place: Place, kernel: Kernel, scope: string, checks: Checks): void {
  const { rows, request, expect, reservesRuntimeInputs = false } = line
  const { costs, tieSet, tolerance } = expect
  const source: ComponentSource = {
    policy: policyOf(line),
    place,
    kernel,
    reservesRuntimeInputs,
    rows: rows.map(handMadeRow),
    options: viewOptionsOf(request),
    facts: factsOf(request),
    selections: picksPerRun,
  }
  let first: readonly string[] | undefined
  for (const permutation of permutations(rows.length)) {
    const outcome = runOverRows(source, permutation)
    first ??= outcome.picks
    checks.within(`${scope}, ${permutation.name}`, () => {
      checks.list('costs', costs, outcome.totals, { tolerance })
      checks.list('tieSet', tieSet, outcome.tieSet)
      checkPicks(line, outcome.picks, checks)
      checks.list('picks in canonical order', first!, outcome.picks)
    })
  }
}

function wholeSelection(line: DefaultCostLine, place: Place, kernel: Kernel, checks: Checks): void {
  const { rows, expect } = line
  const { costs, tieSet, tolerance } = expect
  const table = emptyTable(kernel)
  const request = fleetFor(table, rows, line.request)
  if (request === undefined) return
  withSelector({ table, policy: policyOf(line), place }, (selector) => {
    const explanation = selector.explain(request)
    const totals = new Map(explanation.rows.map((row) => [nameOf(row), row.total]))
    const actual = rows.map((row) => totals.get(`${row.workerId}.${row.dpRank}`))
    checks.list('costs', costs, actual, { tolerance })
    checks.list('tieSet', tieSet, explanation.tieSet.map(nameOf))
    const picks = Array.from({ length: picksPerRun }, () => nameOf(selector.select(request)))
    checkPicks(line, picks, checks)
  })
}

/** At temperature 0 every pick is of the tie set; above it every row is possible. */
function checkPicks({ params, expect }: DefaultCostLine, picks: readonly string[], checks: Checks): void {
  if ((params.router_temperature ?? 0) > 0) return
  for (const [index, pick] of picks.entries()) {
    checks.equal(`pick ${index} is of the tieSet`, true, expect.tieSet.includes(pick) || pick)
  }
}
