import type { CandidateRows, CandidatesFor } from '@router/sdk'
import { rowAt, workerEnd, workerReservations } from './kernel.js'

// For explanations, which people read: lists instead of scans.

type OccupiedRows = CandidatesFor<readonly ['occupancy']>

/** A worker by its start, or a row by its index, with its reservations. */
export interface Loaded {
  readonly at: number
  readonly load: number
}

/** Starts of all workers. */
export function workerStarts(candidates: CandidateRows): number[] {
  const starts: number[] = []
  for (let start = 0; start < candidates.count; start = workerEnd(candidates, start)) starts.push(start)
  return starts
}

/** All workers. */
export function loadedWorkers(candidates: OccupiedRows): Loaded[] {
  return workerStarts(candidates).map((at) => ({
    at,
    load: workerReservations(candidates, at, workerEnd(candidates, at)),
  }))
}

/** The rows of a worker. */
export function loadedRanks(candidates: OccupiedRows, start: number, end: number): Loaded[] {
  const { canonicalRows, occupancy } = candidates
  return indexesFrom(start, end).map((at) => ({
    at,
    load: occupancy.reservations[rowAt(canonicalRows, at)]!,
  }))
}

export function indexesFrom(start: number, end: number): number[] {
  return Array.from({ length: end - start }, (_, at) => start + at)
}

/** Those with the fewest reservations. */
export function lightest(all: readonly Loaded[]): number[] {
  const least = all.reduce((low, { load }) => Math.min(low, load), Infinity)
  return all.filter(({ load }) => load === least).map(({ at }) => at)
}

/** Those that win against some other: all but a single heaviest one. One alone wins. */
export function winnersOfTwo(all: readonly Loaded[]): number[] {
  const most = all.reduce((high, { load }) => Math.max(high, load), 0)
  const heaviest = all.filter(({ load }) => load === most)
  const loser = all.length > 1 && heaviest.length === 1 ? heaviest[0] : undefined
  return all.filter((one) => one !== loser).map(({ at }) => at)
}

/** What was compared: reservations of each row, and of its worker. */
export function loadKeys(candidates: OccupiedRows): Record<string, number[]> {
  const { count, canonicalRows, occupancy } = candidates
  const workers = Array.from({ length: count }, () => 0)
  for (const { at, load } of loadedWorkers(candidates)) {
    const end = workerEnd(candidates, at)
    for (let index = at; index < end; index++) workers[rowAt(canonicalRows, index)] = load
  }
  return { reservations: [...occupancy.reservations.subarray(0, count)], workerReservations: workers }
}
