import {
  type CandidateRows,
  type CandidatesFor,
  RequestFault,
  type WorkerSelectionContext,
  type WyRand,
} from '@router/sdk'
import {
  betterRankOfTwo,
  betterWorkerOfTwo,
  countWorkers,
  leastLoadedRank,
  leastLoadedWorker,
  rowAt,
  startOfWorker,
} from './kernel.js'
import type { Rotation } from './rotation.js'
import {
  indexesFrom,
  lightest,
  loadKeys,
  loadedRanks,
  loadedWorkers,
  winnersOfTwo,
  workerStarts,
} from './ties.js'
import type { WorkerRule } from './worker-rule.js'

type OccupiedRows = CandidatesFor<readonly ['occupancy']>

/** Workers in turn, and of each worker its ranks in turn. A query turns nothing. */
export function roundRobinRule(rotation: Rotation): WorkerRule<CandidateRows> {
  const workerAt = (candidates: CandidateRows): number =>
    startOfWorker(candidates, rotation.worker % countWorkers(candidates))
  const rankAt = (candidates: CandidateRows, start: number, end: number): number =>
    start + (rotation.rankOf(idAt(candidates, start)) % (end - start))
  return {
    pickWorker: ({ queryOnly }, candidates) => {
      const start = workerAt(candidates)
      if (!queryOnly) rotation.stepWorker()
      return start
    },
    pickRank: ({ queryOnly }, candidates, start, end) => {
      const index = rankAt(candidates, start, end)
      if (!queryOnly) rotation.stepRank(idAt(candidates, start))
      return index
    },
    explainWorkers: (_context, candidates) => ({ mode: 'turn', starts: [workerAt(candidates)] }),
    explainRanks: (candidates, start, end) => [rankAt(candidates, start, end)],
  }
}

/** Any worker, then any of its ranks. */
export function randomRule(random: WyRand): WorkerRule<CandidateRows> {
  return {
    pickWorker: (_context, candidates) => startOfWorker(candidates, random.below(countWorkers(candidates))),
    pickRank: (_context, _candidates, start, end) => start + random.below(end - start),
    explainWorkers: (_context, candidates) => ({ mode: 'random', starts: workerStarts(candidates) }),
    explainRanks: (_candidates, start, end) => indexesFrom(start, end),
  }
}

/** The less loaded of two workers, then of two of its ranks. */
export function powerOfTwoRule(random: WyRand): WorkerRule<OccupiedRows> {
  return {
    pickWorker: (_context, candidates) => betterWorkerOfTwo(candidates, random),
    pickRank: (_context, candidates, start, end) => betterRankOfTwo(candidates, start, end, random),
    explainWorkers: (_context, candidates) => ({
      mode: 'two-choices',
      starts: winnersOfTwo(loadedWorkers(candidates)),
      keys: loadKeys(candidates),
    }),
    explainRanks: (candidates, start, end) => winnersOfTwo(loadedRanks(candidates, start, end)),
  }
}

/** The least loaded worker, then its least loaded rank. */
export function leastLoadedRule(random: WyRand): WorkerRule<OccupiedRows> {
  return {
    ...leastLoadedRanks(random),
    pickWorker: (_context, candidates) => leastLoadedWorker(candidates, random),
    explainWorkers: (_context, candidates) => ({
      mode: 'least-loaded',
      starts: lightest(loadedWorkers(candidates)),
      keys: loadKeys(candidates),
    }),
  }
}

/** The rank with the fewest reservations. */
export function leastLoadedRanks(
  random: WyRand,
): Pick<WorkerRule<OccupiedRows>, 'pickRank' | 'explainRanks'> {
  return {
    pickRank: (_context, candidates, start, end) => leastLoadedRank(candidates, start, end, random),
    explainRanks: (candidates, start, end) => lightest(loadedRanks(candidates, start, end)),
  }
}

/** Only who was named; of a worker alone its lowest rank. Draws nothing, keeps nothing. */
export const directRule: WorkerRule<CandidateRows> = {
  pickWorker: (context) => refuse(context),
  pickRank: (_context, _candidates, start) => start,
  explainWorkers: (context) => refuse(context),
  explainRanks: (_candidates, start) => [start],
}

function refuse({ pinnedWorker, affinityTarget }: WorkerSelectionContext): never {
  if (pinnedWorker === undefined && affinityTarget === undefined) throw new RequestFault('target-required')
  throw new Error('target-not-eligible')
}

function idAt(candidates: CandidateRows, start: number): bigint {
  return candidates.workerId(rowAt(candidates.canonicalRows, start))
}
