import { type SelectorOptions, type WorkerTable, createSelector } from '@router/core'
import type { RouterDefaults } from '@router/sdk'
import { requestOf, tableOf } from './described-fleet.js'
import type { Fleet } from './fleet-schema.js'

/**
 * Columns that a policy writes into while it selects, as `group.column`. In a fleet that nothing excludes a rank of, the views
 * of a policy are the worker table's own columns; so this selects once more in such a fleet, and compares.
 */
export function writtenColumns(
  fleet: Fleet,
  defaults: RouterDefaults,
  options: Pick<SelectorOptions, 'policy' | 'role' | 'routerDefaults' | 'nowMs'>,
): string[] {
  const workers = fleet.workers.map((worker) => ({
    ...worker,
    available: true,
    ranks: worker.ranks.map((rank) => ({ ...rank, overloaded: false })),
  }))
  const { prompt_tokens: tokens, shared_hits: hits } = fleet.request
  const open: Fleet = { ...fleet, workers, request: { prompt_tokens: tokens, shared_hits: hits } }
  const table = tableOf(open, defaults)
  table.settle()
  const before = valuesOf(table)
  const selector = createSelector({ ...options, table, entropy: () => 0n })
  try {
    selector.explain(requestOf(open))
    const after = valuesOf(table)
    return [...before].filter(([name, values]) => !isSame(values, after.get(name)!)).map(([name]) => name)
  } finally {
    selector.dispose()
  }
}

function valuesOf({ columns, count }: WorkerTable): Map<string, readonly number[]> {
  const values = new Map<string, readonly number[]>()
  for (const [group, held] of Object.entries(columns.groups)) {
    for (const [name, column] of Object.entries(held)) {
      values.set(`${group}.${name}`, [...column.view.subarray(0, count)])
    }
  }
  return values
}

function isSame(left: readonly number[], right: readonly number[]): boolean {
  return left.every((value, index) => Object.is(value, right[index]))
}
