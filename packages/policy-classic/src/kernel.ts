import type { CandidateRows, CandidatesFor, WyRand } from '@router/sdk'

// Rows are gone through in canonical order: an *index* is a position in that order. There the ranks of one worker stand together,
// so a worker is named by the index of its first row, its start.

type OccupiedRows = CandidatesFor<readonly ['occupancy']>

/** Row at an index. */
export function rowAt(canonicalRows: Uint32Array | undefined, index: number): number {
  return canonicalRows === undefined ? index : canonicalRows[index]!
}

/** Whether another worker starts at this index, which is above 0. */
function isStart(
  workerIdHigh: Uint32Array,
  workerIdLow: Uint32Array,
  canonicalRows: Uint32Array | undefined,
  index: number,
): boolean {
  const row = rowAt(canonicalRows, index)
  const before = rowAt(canonicalRows, index - 1)
  return workerIdLow[row] !== workerIdLow[before] || workerIdHigh[row] !== workerIdHigh[before]
}

/** Index after the last row of the worker that starts at `start`. `O(ranks)`. */
export function workerEnd(candidates: CandidateRows, start: number): number {
  const { count, canonicalRows, workerIdHigh, workerIdLow } = candidates
  let end = start + 1
  while (end < count && !isStart(workerIdHigh, workerIdLow, canonicalRows, end)) end++
  return end
}

/** Workers among the rows. `O(n)`. */
export function countWorkers(candidates: CandidateRows): number {
  const { count, canonicalRows, workerIdHigh, workerIdLow } = candidates
  let workers = 1
  for (let index = 1; index < count; index++)
    if (isStart(workerIdHigh, workerIdLow, canonicalRows, index)) workers++
  return workers
}

/** Start of the worker at this place in ascending order of ids, counted from 0; there must be one. `O(n)`. */
export function startOfWorker(candidates: CandidateRows, place: number): number {
  const { canonicalRows, workerIdHigh, workerIdLow } = candidates
  let start = 0
  for (let left = place; left > 0; start++)
    if (isStart(workerIdHigh, workerIdLow, canonicalRows, start + 1)) left--
  return start
}

/** Start of the worker with this id, -1 when it has no row. `O(log n)`. */
export function findWorker(candidates: CandidateRows, workerId: bigint): number {
  const { count, canonicalRows } = candidates
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >> 1
    if (candidates.workerId(rowAt(canonicalRows, middle)) < workerId) low = middle + 1
    else high = middle
  }
  return low < count && candidates.workerId(rowAt(canonicalRows, low)) === workerId ? low : -1
}

/** Index of a rank among the rows from `start` to `end`, -1 when it is not there. `O(ranks)`. */
export function findRank(candidates: CandidateRows, start: number, end: number, dpRank: number): number {
  const { canonicalRows, dpRank: dpRanks } = candidates
  for (let index = start; index < end; index++)
    if (dpRanks[rowAt(canonicalRows, index)] === dpRank) return index
  return -1
}

/** Sum of the reservations of a worker, over its rows from `start` to `end`. `O(ranks)`. */
export function workerReservations(candidates: OccupiedRows, start: number, end: number): number {
  const { canonicalRows, occupancy } = candidates
  const { reservations } = occupancy
  let sum = 0
  for (let index = start; index < end; index++) sum += reservations[rowAt(canonicalRows, index)]!
  return sum
}

/** Start of the worker with the fewest reservations, uniform over exact ties (reservoir). `O(n)`, allocates nothing. */
export function leastLoadedWorker(candidates: OccupiedRows, random: WyRand): number {
  const { count, canonicalRows, workerIdHigh, workerIdLow, occupancy } = candidates
  const { reservations } = occupancy
  let picked = 0
  let least = Infinity
  let ties = 0
  let start = 0
  let load = 0
  for (let end = 1; end <= count; end++) {
    load += reservations[rowAt(canonicalRows, end - 1)]!
    if (end < count && !isStart(workerIdHigh, workerIdLow, canonicalRows, end)) continue
    if (load < least) {
      picked = start
      least = load
      ties = 1
    } else if (load === least && random.below(++ties) === 0) picked = start
    start = end
    load = 0
  }
  return picked
}

/** Index of the row from `start` to `end` with the fewest reservations, uniform over exact ties (reservoir). `O(ranks)`. */
export function leastLoadedRank(
  candidates: OccupiedRows,
  start: number,
  end: number,
  random: WyRand,
): number {
  const { canonicalRows, occupancy } = candidates
  const { reservations } = occupancy
  let picked = start
  let least = Infinity
  let ties = 0
  for (let index = start; index < end; index++) {
    const load = reservations[rowAt(canonicalRows, index)]!
    if (load < least) {
      picked = index
      least = load
      ties = 1
    } else if (load === least && random.below(++ties) === 0) picked = index
  }
  return picked
}

/**
 * Start of the worker with fewer reservations of two different ones that are drawn; the first one when they have equally many. A
 * single worker costs one draw. `O(n)`, allocates nothing.
 */
export function betterWorkerOfTwo(candidates: OccupiedRows, random: WyRand): number {
  const workers = countWorkers(candidates)
  const place = random.below(workers)
  const first = startOfWorker(candidates, place)
  if (workers === 1) return first
  const second = startOfWorker(candidates, (place + 1 + random.below(workers - 1)) % workers)
  const firstLoad = workerReservations(candidates, first, workerEnd(candidates, first))
  const secondLoad = workerReservations(candidates, second, workerEnd(candidates, second))
  return firstLoad <= secondLoad ? first : second
}

/** Index of the better row of two different ones from `start` to `end`, at least two, by the same rule. */
export function betterRankOfTwo(
  candidates: OccupiedRows,
  start: number,
  end: number,
  random: WyRand,
): number {
  const { canonicalRows, occupancy } = candidates
  const { reservations } = occupancy
  const ranks = end - start
  const place = random.below(ranks)
  const first = start + place
  const second = start + ((place + 1 + random.below(ranks - 1)) % ranks)
  const firstLoad = reservations[rowAt(canonicalRows, first)]!
  return firstLoad <= reservations[rowAt(canonicalRows, second)]! ? first : second
}

/** Reservations that all CPU workers together may hold: `floor(acceleratorTotal x cpuWorkers / (ratio x acceleratorWorkers))`. */
export function allowedCpuReservations(
  acceleratorTotal: number,
  acceleratorWorkers: number,
  cpuWorkers: number,
  ratio: number,
): number {
  return Math.floor((acceleratorTotal * cpuWorkers) / (ratio * acceleratorWorkers))
}

/**
 * Start of the least loaded worker that holds all of `requiredCacheHits`, at least one; when none does, of the least loaded CPU worker
 * while all of them hold fewer than the allowed reservations, else of the least loaded accelerator; of the only kind where there is one.
 * Ties are drawn by reservoir in one pass, per worker first in its kind and then among the full hits. Kind and hits of a worker are those
 * of its lowest rank. `O(n)`, allocates nothing.
 */
export function pickByDevice(
  candidates: OccupiedRows,
  requiredCacheHits: number,
  ratio: number,
  random: WyRand,
): number {
  const { count, canonicalRows, workerIdHigh, workerIdLow, occupancy } = candidates
  const { reservations, deviceKind, cacheHits } = occupancy
  let cpuWorkers = 0
  let cpuTotal = 0
  let cpu = 0
  let cpuLeast = Infinity
  let cpuTies = 0
  let acceleratorWorkers = 0
  let acceleratorTotal = 0
  let accelerator = 0
  let acceleratorLeast = Infinity
  let acceleratorTies = 0
  let fullHit = -1
  let fullHitLeast = Infinity
  let fullHitTies = 0
  let start = 0
  let load = 0
  for (let end = 1; end <= count; end++) {
    load += reservations[rowAt(canonicalRows, end - 1)]!
    if (end < count && !isStart(workerIdHigh, workerIdLow, canonicalRows, end)) continue
    const row = rowAt(canonicalRows, start)
    if (deviceKind[row] === 1) {
      cpuWorkers++
      cpuTotal += load
      if (load < cpuLeast) {
        cpu = start
        cpuLeast = load
        cpuTies = 1
      } else if (load === cpuLeast && random.below(++cpuTies) === 0) cpu = start
    } else {
      acceleratorWorkers++
      acceleratorTotal += load
      if (load < acceleratorLeast) {
        accelerator = start
        acceleratorLeast = load
        acceleratorTies = 1
      } else if (load === acceleratorLeast && random.below(++acceleratorTies) === 0) accelerator = start
    }
    if (requiredCacheHits > 0 && cacheHits[row]! >= requiredCacheHits) {
      if (load < fullHitLeast) {
        fullHit = start
        fullHitLeast = load
        fullHitTies = 1
      } else if (load === fullHitLeast && random.below(++fullHitTies) === 0) fullHit = start
    }
    start = end
    load = 0
  }
  if (fullHit >= 0) return fullHit
  if (cpuWorkers === 0) return accelerator
  if (acceleratorWorkers === 0) return cpu
  const allowed = allowedCpuReservations(acceleratorTotal, acceleratorWorkers, cpuWorkers, ratio)
  return cpuTotal < allowed ? cpu : accelerator
}
