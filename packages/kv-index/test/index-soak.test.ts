import { expect, test } from 'vitest'
import { pathRun } from './support/runs.js'
import {
  type AccountedIndex,
  type SoakOptions,
  type SoakReport,
  soakAdapters,
  soakCycles,
  soakSessions,
} from './support/soak.js'
import { createAccounted } from './support/subjects.js'

// The full lengths run by `npm run soak`, which also weighs the heap.

type Soak = (index: AccountedIndex, options: SoakOptions) => SoakReport

function faultsOf(run: Soak, count: number, index: AccountedIndex = createAccounted()): readonly string[] {
  return run(index, { count }).faults
}

test('I5, U27: 300,000 stores and removals: blocks follow what is held, and nothing is left', () => {
  expect(faultsOf(soakCycles, 300_000)).toEqual([])
})

test('U28: 10,000 adapters in turn: with its last block all about an adapter is gone', () => {
  expect(faultsOf(soakAdapters, 10_000)).toEqual([])
})

test('U30: sessions on engines that restart: every gauge comes to rest', () => {
  expect(faultsOf(soakSessions, 40_000)).toEqual([])
})

test('an index that keeps something of every session is found out', () => {
  const index = createAccounted()
  const { gauges } = index
  let names = 0
  index.gauges = () => ({ ...gauges.call(index), names: (names += 5000) })
  expect(faultsOf(soakCycles, 40_000, index).join()).toMatch(/gauge names grew/)
})

test('an index that allocates much for little is found out', () => {
  const index = createAccounted()
  const { gauges } = index
  index.gauges = () => ({ ...gauges.call(index), allocatedBlocks: 400_000 })
  expect(faultsOf(soakCycles, 40_000, index).join()).toMatch(/400000 blocks are allocated/)
})

test('an index that keeps a block is found out, at the end too', () => {
  const index = createAccounted()
  index.store(40, 0, pathRun([1n]))
  expect(faultsOf(soakCycles, 40_000, index).join()).toMatch(/entries instead of/)

  const kept = createAccounted()
  const { gauges } = kept
  kept.gauges = () => ({ ...gauges.call(kept), edges: 1 })
  expect(faultsOf(soakAdapters, 10, kept)).toEqual(['gauge edges is 1 when everything is gone'])
})
