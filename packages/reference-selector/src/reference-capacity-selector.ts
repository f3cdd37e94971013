import type { Candidate } from './default-cost.js'
import { type ReferencePolicy, selectWith } from './host.js'
import { lowest, reservoir } from './picking.js'
import { ReferenceRandom } from './reference-random.js'
import type { ReferenceOutcome, Snapshot } from './snapshot.js'

/** Parameters of the capacity-aware policy, every one present, `seed` apart. */
export interface CapacityParameters {
  /** `null` = the filter is off. */
  readonly capacity_fraction: number | null
  readonly count_priority: boolean
  readonly decode_active_request_weight: number
  /** Blocks; `null` = unset. */
  readonly capacity_blocks: number | null
}

export const builtInCapacityParameters: CapacityParameters = Object.freeze({
  capacity_fraction: 1,
  count_priority: true,
  decode_active_request_weight: 0,
  capacity_blocks: null,
})

export interface CapacityOptions {
  readonly parameters: CapacityParameters
  /** u64, the start of the random stream. */
  readonly seed: bigint
}

/** How the capacity-aware rule orders a set of candidates. Indexes are into the candidates. */
export interface CapacityOrder {
  readonly mode: 'fit' | 'fallback'
  /** Candidates that may be chosen at all, in order. */
  readonly contenders: readonly number[]
  /** `[count, cost]` of each contender; `[0, cost]` without count priority, `[0, D]` in the fall-back. */
  readonly keys: readonly (readonly [number, number])[]
  /** Candidates whose capacity nobody knows while the filter is on. */
  readonly warned: readonly number[]
}

const decodeBlocks = (candidate: Candidate): number => candidate.load?.decodeCostBlocks ?? 0
const requests = (candidate: Candidate): number => candidate.load?.activeRequests ?? 0

/** `(D + W x n) x m` of each candidate. */
export function capacityCosts(parameters: CapacityParameters, candidates: readonly Candidate[]): number[] {
  const weight = parameters.decode_active_request_weight
  return candidates.map(
    (candidate) =>
      (decodeBlocks(candidate) + weight * requests(candidate)) * (candidate.taintMultiplier ?? 1),
  )
}

/** The fit rule, then count priority or not, then the fall-back. */
export function capacityOrder(
  parameters: CapacityParameters,
  candidates: readonly Candidate[],
  costs: readonly number[],
): CapacityOrder {
  const fraction = parameters.capacity_fraction
  const fitting: number[] = []
  const warned: number[] = []
  for (const [index, candidate] of candidates.entries()) {
    const capacity = candidate.totalKvBlocks ?? parameters.capacity_blocks
    if (fraction === null) {
      fitting.push(index)
    } else if (capacity === null) {
      fitting.push(index)
      warned.push(index)
    } else if (decodeBlocks(candidate) <= fraction * capacity) {
      fitting.push(index)
    }
  }
  if (fitting.length === 0) {
    return {
      mode: 'fallback',
      contenders: candidates.map((_, index) => index),
      keys: candidates.map((candidate) => [0, decodeBlocks(candidate)]),
      warned,
    }
  }
  const keys = fitting.map((index): [number, number] => {
    const count = parameters.count_priority ? requests(candidates[index]!) : 0
    return [count, costs[index]!]
  })
  return { mode: 'fit', contenders: fitting, keys, warned }
}

const isBelow = (left: readonly [number, number], right: readonly [number, number]): boolean =>
  left[0] < right[0] || (left[0] === right[0] && left[1] < right[1])

/** One object of the capacity-aware policy: fixed options and a random stream of its own. Affinity is advisory. */
export class ReferenceCapacitySelector {
  readonly #policy: ReferencePolicy
  readonly #random: ReferenceRandom

  constructor({ parameters, seed }: CapacityOptions) {
    this.#random = new ReferenceRandom(seed)
    this.#policy = {
      affinity: 'advisory',
      declaresCache: false,
      score: (_request, candidates) => capacityCosts(parameters, candidates),
      pick: (candidates, costs, _isPinned, random) => {
        const { mode, contenders, keys, warned } = capacityOrder(parameters, candidates, costs)
        return {
          chosen: contenders[reservoir(keys, isBelow, random)]!,
          tieSet: lowest(keys, isBelow).map((index) => contenders[index]!),
          mode,
          warned,
        }
      },
    }
  }

  /** Decides; see `ReferenceSelector.select`. `warned` lists every rank evaluated, also those warned before. */
  select(snapshot: Snapshot): ReferenceOutcome {
    return selectWith(snapshot, this.#policy, this.#random)
  }
}
