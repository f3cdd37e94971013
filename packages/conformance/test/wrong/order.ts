import { type WrongPolicy, faulty, knownLoad, pickFirst, scoreRequests } from './wrong-policy.js'

export const wrongOrder: readonly WrongPolicy[] = [
  {
    name: 'an explanation that names the picked row twice',
    policy: faulty(() => ({
      picker: { name: 'explained', pick: pickFirst, explain: () => ({ tieSet: [0, 0] }) },
    })),
    breaks: ['explain-rows'],
  },
  {
    name: 'an explanation with one key too few',
    policy: faulty(() => ({
      picker: {
        name: 'explained',
        pick: pickFirst,
        explain: (_context, _candidates, costs) => ({ tieSet: [0], keys: { cost: [...costs].slice(1) } }),
      },
    })),
    breaks: ['explain-rows'],
  },
  {
    name: 'ties go to the first row, not to the first canonical row',
    policy: faulty(() => ({
      pick: (_context, { count }, costs) => {
        let best = 0
        for (let row = 1; row < count; row++) if (costs[row]! < costs[best]!) best = row
        return best
      },
    })),
    breaks: ['row-permutation'],
  },
  {
    name: 'a sum of fractions in row order',
    policy: faulty(() => ({
      score: (_context, { count, load }, costs) => {
        let sum = 0
        for (let row = 0; row < count; row++)
          sum += knownLoad(load!, row) ? load!.decodeCostBlocks[row]! / 7 : 0
        for (let row = 0; row < count; row++)
          costs[row] = sum + (knownLoad(load!, row) ? load!.activeRequests[row]! : 0)
      },
    })),
    breaks: ['row-permutation'],
  },
  {
    name: 'a filter that rejects what it is asked twice in a row',
    policy: faulty(() => {
      let asked = ''
      return {
        filter: (_context, { count, workerId, dpRank }, row) => {
          if (count === 1) return true
          const rank = `${workerId(row)}.${dpRank[row]}`
          const isRepeated = rank === asked && row > 0
          asked = rank
          return !isRepeated
        },
      }
    }),
    breaks: ['filtered-rows'],
  },
  {
    name: 'a filter that rejects every row after the first rejected one',
    policy: faulty(() => {
      let isFull = false
      return {
        filter: (_context, { load }, row) => {
          if (row === 0) isFull = false
          isFull ||= row > 0 && load!.activeRequests[row]! > 5
          return !isFull
        },
      }
    }),
    breaks: ['filtered-rows', 'row-permutation'],
  },
  {
    name: 'a minimum over the whole column',
    policy: faulty(() => ({
      score: (_context, { count, load }, costs) => {
        let least = Infinity
        for (const requests of load!.activeRequests) least = requests < least ? requests : least
        for (let row = 0; row < count; row++) {
          costs[row] = knownLoad(load!, row) ? load!.activeRequests[row]! - (least < Infinity ? least : 0) : 0
        }
      },
    })),
    breaks: ['left-overs', 'live-host'],
  },
  {
    name: 'a loop over costs rounded up to four rows',
    policy: faulty(() => ({
      pick: (_context, candidates, costs) => {
        const { count, canonicalRows } = candidates
        let best = canonicalRows?.[0] ?? 0
        const end = Math.min(costs.length, Math.ceil(count / 4) * 4)
        for (let index = 0; index < end; index++) {
          const row = index < count ? (canonicalRows?.[index] ?? index) : index
          if (costs[row]! < costs[best]!) best = row
        }
        return best
      },
    })),
    breaks: ['left-overs', 'live-host', 'live-queries', 'live-views'],
  },
  {
    name: 'scratch of a larger fleet that takes part in a later minimum',
    policy: faulty(() => {
      const requests: number[] = []
      return {
        score: (_context, { count, load }, costs) => {
          for (let row = 0; row < count; row++)
            requests[row] = knownLoad(load!, row) ? load!.activeRequests[row]! : 0
          const least = Math.min(...requests)
          for (let row = 0; row < count; row++) costs[row] = requests[row]! - least
        },
      }
    }),
    breaks: ['fleet-changes', 'row-permutation'],
  },
  {
    name: 'a scratch view that create keeps',
    policy: faulty(({ memory }) => {
      const { float64 } = memory.allocate(8)
      return {
        score: (context, candidates, costs) => {
          scoreRequests(context, candidates, costs)
          float64[0] = 1
          for (let row = 0; row < candidates.count; row++) costs[row] = costs[row]! + float64[0]!
        },
        pick: pickFirst,
      }
    }),
    breaks: ['moved-columns'],
  },
  {
    name: 'another formula where there is WebAssembly memory',
    policy: faulty(({ memory }) => {
      const bonus = memory.webAssemblyMemory === undefined ? 0 : 1e-9
      return {
        score: (_context, { count, load }, costs) => {
          for (let row = 0; row < count; row++) {
            costs[row] = knownLoad(load!, row)
              ? load!.activeRequests[row]! + bonus * load!.decodeCostBlocks[row]!
              : 0
          }
        },
      }
    }),
    breaks: ['kernels-agree'],
  },
]
