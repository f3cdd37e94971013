import type { LoadColumns, WorkerCandidates, WorkerSelectionContext } from '@router/sdk'
import {
  type WrongPolicy,
  canonicalOrder,
  faulty,
  knownLoad,
  pickFirst,
  scoreRequests,
} from './wrong-policy.js'

export const wrongIsolation: readonly WrongPolicy[] = [
  {
    name: 'a note written on the candidates',
    policy: faulty(() => ({
      score: (context, candidates, costs) => {
        Object.assign(candidates, { note: 'seen' })
        scoreRequests(context, candidates, costs)
      },
    })),
    breaks: ['no-mutation'],
  },
  {
    name: 'a request fact that is corrected in place',
    policy: faulty(() => ({
      score: (context, candidates, costs) => {
        scoreRequests(context, candidates, costs)
        Object.assign(context, { strictPriority: 1 })
      },
    })),
    breaks: ['no-mutation'],
  },
  {
    name: 'a column that serves as scratch',
    policy: faulty(() => ({
      score: (context, candidates, costs) => {
        scoreRequests(context, candidates, costs)
        for (let row = 0; row < candidates.count; row++)
          candidates.load!.activePrefillTokens[row] = costs[row]!
      },
    })),
    breaks: ['no-mutation'],
  },
  {
    name: 'Date.now in a picker',
    policy: faulty(() => ({
      pick: (context, candidates, costs) => pickFirst(context, candidates, costs) + Math.min(0, Date.now()),
    })),
    breaks: ['no-ambient'],
  },
  {
    name: 'Math.random behind a try',
    policy: faulty(() => ({
      score: (context, candidates, costs) => {
        try {
          Math.random()
        } catch {
          // Swallowed on purpose.
        }
        scoreRequests(context, candidates, costs)
      },
    })),
    breaks: ['no-ambient'],
  },
  {
    name: 'the wall clock in create',
    policy: faulty(() => {
      const startedAt = new Date()
      return { dispose: () => void startedAt }
    }),
    breaks: ['no-ambient'],
  },
  {
    name: 'performance.now in a hook',
    policy: faulty(() => ({
      onWorkersChanged: () =>
        void (globalThis as unknown as { performance: { now: () => number } }).performance.now(),
    })),
    breaks: ['no-ambient'],
  },
  {
    name: 'candidates of the first selection, kept',
    policy: faulty(() => {
      let first: WorkerCandidates | undefined
      return {
        score: (context, candidates, costs) => {
          first ??= candidates
          void first.count
          scoreRequests(context, candidates, costs)
        },
      }
    }),
    breaks: ['stale-views', 'live-views'],
  },
  {
    name: 'a context that the scorer hands to the picker',
    policy: faulty(() => {
      let scored: WorkerSelectionContext | undefined
      return {
        score: (context, candidates, costs) => {
          scored = context
          scoreRequests(context, candidates, costs)
        },
        pick: (context, candidates, costs) => {
          void scored?.promptTokens
          return pickFirst(context, candidates, costs)
        },
      }
    }),
    breaks: ['stale-views', 'live-views'],
  },
  {
    name: 'a column that the scorer keeps for the picker',
    policy: faulty(() => {
      let load: LoadColumns['activePrefillTokens'] | undefined
      return {
        score: (context, candidates, costs) => {
          load = candidates.load!.activePrefillTokens
          scoreRequests(context, candidates, costs)
        },
        pick: (_context, candidates, costs) => {
          const order = canonicalOrder(candidates)
          const key = (row: number): number =>
            costs[row]! * 1e6 + (load![row]! - load![row]! === 0 ? load![row]! : 0)
          return order.reduce((best, row) => (key(row) < key(best) ? row : best), order[0]!)
        },
      }
    }),
    breaks: ['stale-views', 'live-views'],
  },
  {
    name: 'the length of a kept column',
    policy: faulty(() => {
      let kept: Float64Array | undefined
      return {
        score: (context, candidates, costs) => {
          void kept?.length
          kept = candidates.load!.activeRequests
          scoreRequests(context, candidates, costs)
        },
      }
    }),
    breaks: ['live-views'],
  },
  {
    name: 'a flag that a throw leaves set',
    policy: faulty(() => {
      let isScoring = false
      return {
        score: (context, candidates, costs) => {
          if (isScoring) throw new Error('re-entered')
          isScoring = true
          scoreRequests(context, candidates, costs)
          isScoring = false
        },
      }
    }),
    breaks: ['survives-throw'],
  },
  {
    name: 'a sum that a throw leaves half-way',
    policy: faulty(() => {
      let sum = 0
      return {
        score: (_context, candidates, costs) => {
          const { count, canonicalRows } = candidates
          for (let index = 0; index < count; index++) {
            const { load } = candidates
            const row = canonicalRows?.[index] ?? index
            sum += knownLoad(load!, row) ? load!.activeRequests[row]! : 0
          }
          for (let row = 0; row < count; row++) costs[row] = sum + candidates.load!.decodeCostBlocks[row]!
          sum = 0
          for (let row = 0; row < count; row++) if (!knownLoad(candidates.load!, row)) costs[row] = 0
        },
      }
    }),
    breaks: ['survives-throw'],
  },
]
