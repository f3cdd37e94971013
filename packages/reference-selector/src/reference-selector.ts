import { declaresCache, defaultCosts } from './default-cost.js'
import { type ReferencePolicy, selectWith } from './host.js'
import { lowest, pickByCumulative, reservoir, softmaxProbabilities } from './picking.js'
import { ReferenceRandom } from './reference-random.js'
import type { DefaultOptions, ReferenceOutcome, Snapshot } from './snapshot.js'

const isBelow = (left: number, right: number): boolean => left < right

/** One policy object of the default family: fixed options and a random stream of its own. */
export class ReferenceSelector {
  readonly #policy: ReferencePolicy
  readonly #random: ReferenceRandom

  constructor(options: DefaultOptions) {
    const temperature = options.parameters.router_temperature
    this.#random = new ReferenceRandom(options.seed)
    this.#policy = {
      affinity: 'exclusive',
      declaresCache: declaresCache(options),
      score: (request, candidates) => defaultCosts(options, request, candidates),
      pick: (_candidates, costs, isPinned, random) => {
        const tieSet = lowest(costs, isBelow)
        if (isPinned) return { chosen: 0, tieSet }
        if (temperature === 0) return { chosen: reservoir(costs, isBelow, random), tieSet }
        const probabilities = softmaxProbabilities(costs, temperature)
        return { chosen: pickByCumulative(probabilities, random.unit()), tieSet }
      },
    }
  }

  /** Decides. A tracked selection moves the stream, a query does not. Errors come as `outcome.error`, never as a throw. */
  select(snapshot: Snapshot): ReferenceOutcome {
    return selectWith(snapshot, this.#policy, this.#random)
  }
}
