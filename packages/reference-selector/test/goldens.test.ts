import { createHash } from 'node:crypto'
import type { WorkerRank } from '@router/sdk'
import { describe, expect, it } from 'vitest'
import {
  type MatrixCell,
  ReferenceSelector,
  type SnapshotSequence,
  goldenLine,
  goldenPrefixes,
  matrixA,
  matrixB,
  matrixC,
  matrixSelections,
  pinPattern,
  sweep,
} from '../src/index.js'
import { vectorLines } from './vector-lines.js'

interface MatrixLine {
  temperature: number
  promptTokens: number
  mode: number
  role: string
  picks: number[]
  minimumRows?: number[]
}

const rowIndex = ({ workerId, dpRank }: WorkerRank): number => 2 * Number(workerId) + dpRank

function play({ options, snapshots }: Pick<SnapshotSequence, 'options' | 'snapshots'>): WorkerRank[] {
  const selector = new ReferenceSelector(options)
  return snapshots.map((snapshot) => selector.select(snapshot).result!)
}

/** Picks by cell: digests and stored lines look at the same ones. */
const played = new Map<MatrixCell, WorkerRank[]>()

function playCell(cell: MatrixCell): WorkerRank[] {
  const { options, snapshot } = cell
  const picks =
    played.get(cell) ?? play({ options, snapshots: Array.from({ length: matrixSelections }, () => snapshot) })
  played.set(cell, picks)
  return picks
}

const cellsA = matrixA()
const cellsB = matrixB()
const cellsC = matrixC()

function digest(lines: readonly string[]): string {
  const hash = createHash('sha256')
  for (const line of lines) hash.update(line)
  return hash.digest('hex')
}

const digestOfCells = (cells: readonly MatrixCell[]): string =>
  digest(
    cells.map((cell) => goldenLine(`${cell.temperature}/${cell.promptTokens}/${cell.mode}`, playCell(cell))),
  )

describe('golden digests', () => {
  it.each([
    ['A', cellsA, 256, 'b48a57e34b9e7ffcb3e42665dac53aeef4f2dca0c2ed7a94469e35d90d5914b9'],
    ['B', cellsB, 256, 'd02a1f44db7d0814f09f3a1a59379f76a4bfbdd7a483c1de8029b26e6413f7d0'],
    ['C', cellsC, 128, 'fbef368a7ed0d6ae45f1c6539fe4ebc536f5f9392bcdaf37be3fb6f8642e541e'],
  ] as const)('matrix %s', (_name, cells, size, expected) => {
    expect(cells).toHaveLength(size)
    expect(digestOfCells(cells)).toBe(expected)
  })

  it('sweep', () => {
    const lines = sweep().map((sequence) => goldenLine(sequence.name, play(sequence)))
    expect(digest(lines)).toBe('6430212354fad45242379530ab683612a1f7f34ae5e3bfff54325002fbdfc82b')
  })

  it('a different pick changes the digest', () => {
    const [cell] = cellsA
    const picks = playCell(cell!)
    const other = picks.with(63, { workerId: 15n, dpRank: 1 })
    expect(digest([goldenLine('0/1/0', other)])).not.toBe(digest([goldenLine('0/1/0', picks)]))
  })
})

describe('stored matrices', () => {
  const cells = [...cellsA, ...cellsB, ...cellsC]
  it.each([
    ['parity-matrix-t0', 128],
    ['parity-matrix-t0.7', 128],
    ['parity-matrix-affinity-t0', 128],
    ['parity-matrix-affinity-t0.7', 128],
    ['parity-matrix-decode', 128],
  ])('%s', (name, size) => {
    const lines = vectorLines<MatrixLine>(name)
    expect(lines).toHaveLength(size)
    for (const line of lines) {
      const cell = cells.find(
        ({ temperature, promptTokens, mode, options }) =>
          temperature === line.temperature &&
          promptTokens === line.promptTokens &&
          mode === line.mode &&
          options.role === line.role,
      )!
      const { temperature, promptTokens, mode } = line
      const at = { temperature, promptTokens, mode }
      expect({ ...at, picks: playCell(cell).map(rowIndex) }).toEqual({ ...at, picks: line.picks })
      if (line.minimumRows === undefined) continue
      const { tieSet } = new ReferenceSelector(cell.options).select(cell.snapshot)
      expect({ ...at, rows: tieSet.map(rowIndex) }).toEqual({ ...at, rows: line.minimumRows })
    }
  })

  it('costs behind matrix A', () => {
    const lines = vectorLines<{ promptTokens: number; mode: number; costs: number[] }>('parity-costs')
    for (const line of lines) {
      const cell = cellsA.find(
        ({ promptTokens, mode }) => promptTokens === line.promptTokens && mode === line.mode,
      )!
      expect(new ReferenceSelector(cell.options).select(cell.snapshot).costs).toEqual(line.costs)
    }
    expect(lines.length).toBeGreaterThan(0)
  })

  it('tie sets of the sizes that make ties count', () => {
    const sizes = new Map<number, number>()
    for (const cell of cellsA.filter(({ temperature }) => temperature === 0)) {
      const size = new ReferenceSelector(cell.options).select(cell.snapshot).tieSet.length
      sizes.set(size, (sizes.get(size) ?? 0) + 1)
    }
    expect(Object.fromEntries(sizes)).toEqual({ 1: 44, 2: 36, 4: 30, 18: 2, 28: 6, 32: 10 })
  })
})

describe('stored sequences', () => {
  type SequenceLine = { kind: string; label: string; temperature: number; picks: (number | string)[] }
  const lines = vectorLines<SequenceLine>('parity-sequences')

  it('sweeps', () => {
    const stored = lines.filter(({ kind }) => kind === 'sweep')
    expect(stored).toHaveLength(4)
    for (const { label, temperature, picks } of stored) {
      const sequence = sweep().find(({ name }) => name === `${label}/${temperature}`)!
      expect(play(sequence).map(rowIndex)).toEqual(picks)
    }
  })

  it('a pin does not move the stream', () => {
    const stored = lines.find(({ kind }) => kind === 'pin-pattern')!
    expect(play(pinPattern()).map(rowIndex)).toEqual(stored.picks)
  })

  it('golden prefixes', () => {
    const stored = lines.filter(({ kind }) => kind === 'golden-prefix')
    expect(stored).toHaveLength(2)
    for (const sequence of goldenPrefixes()) {
      const { temperature, picks } = stored.find((line) => sequence.name.endsWith(`/${line.temperature}`))!
      expect(temperature).toBe(sequence.options.parameters.router_temperature)
      expect(play(sequence).map(({ workerId }) => String(workerId))).toEqual(picks)
      expect(sequence.picks.map(String)).toEqual(picks)
    }
  })
})
