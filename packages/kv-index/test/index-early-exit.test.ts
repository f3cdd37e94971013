import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DEVICE, HOST_PINNED, PrefixIndex, hashWords } from '../src/index.js'
import { MatchTable, matchesOf } from './support/match-table.js'
import { pathRun } from './support/runs.js'

const paths = fc.array(fc.array(fc.bigInt(1n, 3n), { minLength: 1, maxLength: 12 }), {
  minLength: 1,
  maxLength: 12,
})

function early(index: PrefixIndex, path: readonly bigint[], ranks: number) {
  const table = new MatchTable(ranks)
  index.lookup(hashWords(path), path.length, table, true)
  return table.all()
}

test('early exit names the same ranks, none with more than it holds, and the last candidate at least as one block', () => {
  fc.assert(
    fc.property(paths, paths, (stored, asked) => {
      const index = new PrefixIndex({ blockSize: 16 })
      for (const [at, path] of stored.entries()) index.store(at % 4, DEVICE, pathRun(path))
      for (const path of asked) {
        const exact = matchesOf(index, path, 4)
        for (const [rank, [device]] of early(index, path, 4).entries()) {
          const held = exact[rank]?.[0] ?? 0
          expect(device).toBeLessThanOrEqual(held)
          expect(device > 0).toBe(held > 0)
        }
      }
    }),
    { seed: 4, numRuns: 300 },
  )
})

test('early exit stops at the first run that one rank alone holds, and looks at no lower tier', () => {
  const index = new PrefixIndex({ blockSize: 16 })
  index.store(0, DEVICE, pathRun([1n, 2n, 3n, 4n]))
  index.store(1, DEVICE, pathRun([1n, 2n, 5n]))
  index.store(0, DEVICE, pathRun([1n, 2n, 3n, 9n]))
  index.store(2, HOST_PINNED, pathRun([1n]))
  const path = [1n, 2n, 3n, 4n]
  expect(matchesOf(index, path, 3)).toEqual({ 0: [4, 0, 0, 0], 1: [2, 0, 0, 0], 2: [0, 1, 0, 0] })
  expect(early(index, path, 3)).toEqual([
    [3, 0, 0, 0],
    [2, 0, 0, 0],
    [0, 0, 0, 0],
  ])
  // The next lookup clears what this one wrote, and is exact again.
  expect(matchesOf(index, path, 3)[0]).toEqual([4, 0, 0, 0])
})
