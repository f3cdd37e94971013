/// <reference types="node" />
import type { HandMadeRow } from '@router/conformance'
import { type KvCapacityAwareLine, readVectors } from '@router/vectors'
import { describe, expect, it } from 'vitest'
import { build } from './built-policy.js'

const lines = readVectors('kv-capacity-aware')

const rowsOf = (line: KvCapacityAwareLine): HandMadeRow[] =>
  line.rows.map(({ workerId, dpRank, load, totalKvBlocks, taintMultiplier }) => ({
    workerId: BigInt(workerId),
    dpRank,
    load: load ?? 'unknown',
    ...(totalKvBlocks === null ? {} : { totalKvBlocks }),
    ...(taintMultiplier === null ? {} : { taintMultiplier }),
  }))

describe('kv-capacity-aware vectors', () => {
  it('are all there', () => expect(lines).toHaveLength(46))

  it.each(lines.map((line) => [line.id, line] as const))('%s', (_id, line) => {
    const { tieSet, mode, warned } = line.expect
    for (const rows of [rowsOf(line), rowsOf(line).toReversed()]) {
      const built = build(line.params)
      const picks = Array.from({ length: 40 }, () => built.run(rows).pick)
      expect([...new Set(picks)].toSorted()).toEqual(tieSet.toSorted())
      expect(built.warnings).toEqual(warned.map((name) => `capacity_unknown ${name}`))
      const explained = built.explain(rows)
      expect({ mode: explained.mode, tieSet: explained.names }).toEqual({ mode, tieSet })
    }
  })
})
