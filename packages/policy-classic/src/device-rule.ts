import type { CandidatesFor, WyRand } from '@router/sdk'
import { allowedCpuReservations, pickByDevice, rowAt } from './kernel.js'
import { leastLoadedRanks } from './rules.js'
import { type Loaded, lightest, loadKeys, loadedWorkers } from './ties.js'
import type { WorkerExplanation, WorkerRule } from './worker-rule.js'

type OccupiedRows = CandidatesFor<readonly ['occupancy']>

/** What may change while running. */
export interface DeviceTerms {
  /** Load of an accelerator against that of a CPU worker, finite, >= 1. */
  ratio: number
}

/** Full hits first, then the kind of device that has room, each time the least loaded worker and rank. */
export function deviceRule(terms: DeviceTerms, random: WyRand): WorkerRule<OccupiedRows> {
  return {
    ...leastLoadedRanks(random),
    pickWorker: ({ requiredCacheHits }, candidates) =>
      pickByDevice(candidates, requiredCacheHits, terms.ratio, random),
    explainWorkers: ({ requiredCacheHits }, candidates) =>
      explainDevice(candidates, requiredCacheHits, terms.ratio),
  }
}

function explainDevice(
  candidates: OccupiedRows,
  requiredCacheHits: number,
  ratio: number,
): WorkerExplanation {
  const { count, canonicalRows, occupancy } = candidates
  const keys = loadKeys(candidates)
  const workers = loadedWorkers(candidates)
  const rowOf = ({ at }: Loaded): number => rowAt(canonicalRows, at)
  const fullHits = workers.filter(
    (worker) => requiredCacheHits > 0 && occupancy.cacheHits[rowOf(worker)]! >= requiredCacheHits,
  )
  if (fullHits.length > 0) return { mode: 'full-hit', starts: lightest(fullHits), keys }
  const cpus = workers.filter((worker) => occupancy.deviceKind[rowOf(worker)] === 1)
  const accelerators = workers.filter((worker) => !cpus.includes(worker))
  if (accelerators.length === 0) return { mode: 'cpu', starts: lightest(cpus), keys }
  if (cpus.length === 0) return { mode: 'accelerator', starts: lightest(accelerators), keys }
  const allowed = allowedCpuReservations(sum(accelerators), accelerators.length, cpus.length, ratio)
  const allowedKeys = { ...keys, allowedCpuReservations: Array.from({ length: count }, () => allowed) }
  return sum(cpus) < allowed
    ? { mode: 'cpu', starts: lightest(cpus), keys: allowedKeys }
    : { mode: 'accelerator', starts: lightest(accelerators), keys: allowedKeys }
}

function sum(workers: readonly Loaded[]): number {
  return workers.reduce((total, { load }) => total + load, 0)
}
