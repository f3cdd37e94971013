import type { SelectionRequest, Selector } from '@router/core'
import type { WorkerRole } from '@router/sdk'
import { parityCostsLine, parityMatrixLine, picksPerCell } from '../shapes/parity.js'
import type { Checks } from './checks.js'
import { runOverRows } from './component-host.js'
import { defineFamily } from './family.js'
import {
  type ParityShape,
  addWorkers,
  applyShape,
  parametersOfMode,
  rowsOfShape,
  shapeOfMode,
  viewOptionsOfShape,
} from './parity-fixture.js'
import { permutations } from './permutations.js'
import { resolvePolicy } from './policies.js'
import { rankOf } from './rows.js'
import { cellKey } from './run-state.js'
import { type Kernel, emptyTable, kernels, withSelector } from './selectors.js'

interface Cell {
  readonly promptTokens: number
  readonly mode: number
  readonly role: WorkerRole
  readonly temperature: number
}

/** The matrices of seeded selections. */
export const parityMatrixFamily = defineFamily({
  name: 'parity-matrix-*',
  claims: (baseName) => baseName.startsWith('parity-matrix-'),
  recognises: (line) => 'temperature' in line && 'mode' in line && 'picks' in line && !('kind' in line),
  covers: '@router/policy-default, @router/core',
  schema: parityMatrixLine,
  evaluate: (line, checks, state) => {
    const { temperature, promptTokens, mode, role, minimumRows, picks } = line
    for (const kernel of kernels) {
      checks.within(kernel.name, () => {
        withCell(line, kernel, (selector, request) => {
          const { tieSet } = selector.explain(request)
          if (minimumRows !== undefined) checks.list('minimumRows', minimumRows, tieSet.map(rowIndex))
          const picked = Array.from({ length: picksPerCell }, () => rowIndex(selector.select(request)))
          checks.list('picks', picks, picked)
          state.cells.set(cellKey(role, temperature, promptTokens, mode), picked)
        })
      })
    }
    checks.within('rows shuffled', () => permuted(line, picks, checks))
  },
})

/** The costs behind some cells. */
export const parityCostsFamily = defineFamily({
  name: 'parity-costs',
  recognises: (line) => 'mode' in line && 'promptTokens' in line && 'costs' in line && !('kind' in line),
  covers: '@router/policy-default, @router/core',
  schema: parityCostsLine,
  evaluate: ({ promptTokens, mode, role, costs }, checks) => {
    for (const kernel of kernels) {
      checks.within(kernel.name, () => {
        withCell({ promptTokens, mode, role, temperature: 0 }, kernel, (selector, request) => {
          const { rows } = selector.explain(request)
          checks.list(
            'costs',
            costs,
            rows.map((row) => row.total),
          )
        })
      })
    }
  },
})

function withCell(
  cell: Cell,
  kernel: Kernel,
  body: (selector: Selector, request: SelectionRequest) => void,
): void {
  const { promptTokens, mode, role, temperature } = cell
  const table = emptyTable(kernel)
  const shape = shapeOfMode(mode, promptTokens)
  addWorkers(table, shape.workers)
  const request = applyShape(table, shape)
  const policy = resolvePolicy('dynamo-default-cost-fn', parametersOfMode(mode, temperature))
  const place = { role, conditionalDisaggregation: false }
  withSelector({ table, policy, place }, (selector) => body(selector, request))
}

/** The same cell over rows in another order: the same workers. */
function permuted(cell: Cell, picks: readonly number[], checks: Checks): void {
  const shape: ParityShape = shapeOfMode(cell.mode, cell.promptTokens)
  const { promptTokens, blockSize, tracksPrefillTokens } = shape
  const outcome = runOverRows(
    {
      policy: resolvePolicy('dynamo-default-cost-fn', parametersOfMode(cell.mode, cell.temperature)),
      place: { role: cell.role, conditionalDisaggregation: false },
      kernel: kernels[cell.mode % 2]!,
      rows: rowsOfShape(shape),
      options: viewOptionsOfShape(shape),
      facts: { promptTokens, blockSize, tracksPrefillTokens },
      selections: picksPerCell,
    },
    permutations(shape.workers * 2).at(-1)!,
  )
  checks.list(
    'picks',
    picks,
    outcome.picks.map((name) => rowIndex(rankOf(name))),
  )
}

/** Row index of the fixture. */
export function rowIndex({
  workerId,
  dpRank,
}: {
  readonly workerId: bigint
  readonly dpRank: number
}): number {
  return 2 * Number(workerId) + dpRank
}
