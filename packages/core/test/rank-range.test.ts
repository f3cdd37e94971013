import { expect, it } from 'vitest'
import { nameOf, request, tinyHost } from './support/hosts.js'

it('G1: ranks 2 and 3 of start 2 size 2 are the only ones chosen', () => {
  let turn = 0
  const host = tinyHost(
    { picker: { name: 'turns', pick: (_context, { count }) => turn++ % count } },
    { workers: [{ workerId: 5n, dataParallelStartRank: 2, dataParallelSize: 2 }] },
  )
  expect(Array.from({ length: 4 }, () => host.select())).toEqual(['5.2', '5.3', '5.2', '5.3'])
  const { rows } = host.selector.explain(request())
  expect(rows.map((row) => [nameOf(row), row.rejection])).toEqual([
    ['5.2', undefined],
    ['5.3', undefined],
  ])
  for (const dpRank of [0, 1, 4]) {
    const pinned = request({ pinnedWorker: { workerId: 5n, dpRank } })
    expect(host.selector.explain(pinned).error?.code).toBe('ROUTER_NO_ENDPOINTS')
  }
})
