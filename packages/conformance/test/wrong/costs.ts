import { requestBlocksForDivision } from '@router/sdk'
import { type WrongPolicy, canonicalOrder, faulty, knownLoad } from './wrong-policy.js'

const order = new Uint32Array(1024)

export const wrongCosts: readonly WrongPolicy[] = [
  {
    name: 'a share of the total load: 0/0 on an idle fleet',
    policy: faulty(() => ({
      score: (_context, candidates, costs) => {
        const load = candidates.load!
        let total = 0
        for (const row of canonicalOrder(candidates))
          total += knownLoad(load, row) ? load.activeRequests[row]! : 1
        for (const row of canonicalOrder(candidates))
          costs[row] = knownLoad(load, row) ? load.activeRequests[row]! / total : 1
      },
    })),
    breaks: ['finite-costs', 'empty-prompt', 'picker-row'],
  },
  {
    name: 'a spread that overflows on huge loads',
    policy: faulty(() => ({
      score: (_context, { count, load }, costs) => {
        for (let row = 0; row < count; row++)
          costs[row] = knownLoad(load!, row) ? load!.activeRequests[row]! ** 30 : 0
      },
    })),
    breaks: ['finite-costs'],
  },
  {
    name: 'load without a look at isAvailable',
    policy: faulty(() => ({
      score: (_context, { count, load }, costs) => {
        for (let row = 0; row < count; row++) costs[row] = load!.activeRequests[row]!
      },
    })),
    breaks: ['unknown-rows'],
  },
  {
    name: 'capacity that is taken for advertised',
    policy: faulty(
      () => ({
        score: (_context, { count, capacity }, costs) => {
          for (let row = 0; row < count; row++) costs[row] = 1 / capacity!.totalKvBlocks[row]!
        },
      }),
      { inputs: ['capacity'] },
    ),
    breaks: ['unknown-rows'],
  },
  {
    name: 'a charge for the clamped block count',
    policy: faulty(
      () => ({
        score: ({ requestBlocks }, { count, load, cache }, costs) => {
          const clamped = requestBlocksForDivision(requestBlocks)
          for (let row = 0; row < count; row++) {
            const cached = cache!.isAvailable[row] === 1 ? cache!.deviceOverlapBlocks[row]! : 0
            costs[row] =
              (knownLoad(load!, row) ? load!.decodeCostBlocks[row]! : 0) +
              0.25 * Math.max(0, clamped - cached)
          }
        },
      }),
      { inputs: ['load', 'cache'] },
    ),
    breaks: ['empty-prompt'],
  },
  {
    name: 'a small phantom block beside a large prefill term, under taints',
    policy: faulty(
      () => ({
        score: ({ promptTokens, blockSize, requestBlocks }, { count, preferredTaint }, costs) => {
          for (let row = 0; row < count; row++) {
            const taint = preferredTaint!.applies ? preferredTaint!.multiplier[row]! : 1
            costs[row] = (promptTokens / blockSize + 0.01 * Math.max(1, requestBlocks)) * taint
          }
        },
      }),
      { inputs: ['preferredTaint'] },
    ),
    breaks: ['empty-prompt'],
  },
  {
    name: 'a hit rate: 0/0 for an empty prompt',
    policy: faulty(
      () => ({
        score: ({ requestBlocks }, { count, cache }, costs) => {
          for (let row = 0; row < count; row++) {
            const cached = cache!.isAvailable[row] === 1 ? cache!.deviceOverlapBlocks[row]! : 0
            costs[row] = 1 - cached / requestBlocks
          }
        },
      }),
      { inputs: ['cache'] },
    ),
    breaks: ['empty-prompt'],
  },
  {
    name: 'a multiplier that is used whether it applies or not',
    policy: faulty(
      () => ({
        score: (_context, { count, preferredTaint }, costs) => {
          for (let row = 0; row < count; row++) costs[row] = preferredTaint!.multiplier[row]!
        },
      }),
      { inputs: ['preferredTaint'] },
    ),
    breaks: ['unfilled-taints', 'live-host'],
  },
  {
    name: 'scratch for 1,024 rows and no more',
    policy: faulty(() => ({
      pick: (_context, candidates, costs) => {
        order.set(canonicalOrder(candidates).slice(0, order.length))
        let best = order[0]!
        for (let index = 1; index < candidates.count; index++) {
          const row = order[index]!
          if (!(costs[row]! >= costs[best]!)) best = row
        }
        return best
      },
    })),
    breaks: ['picker-row'],
  },
]
