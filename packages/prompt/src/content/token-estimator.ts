import { PromptError } from '../errors.js'
import { chunkBytesPerToken } from './chunk-hasher.js'

/** Bytes per token of a model that nothing is known of. */
const firstRatio = 4
// A new count weighs this much, the first ones more.
const leastWeight = 0.05
// Below this, what a template adds says more than the text.
const fewestTokens = 32
// A count that is further off says something else than its text does.
const furthestFactor = 2
const leastRatio = 0.25
const largestRatio = 64

interface Learned {
  ratio: number
  counts: number
}

/**
 * Estimates tokens from bytes of prompt text: bytes per token, learned by model from what engines count, 4 at first. Each count moves the
 * ratio towards its own by a weight of 1/2, 1/3, ... down to 1/20, as though it were at most twice or half of what was thought, so that a
 * few wrong ones do little. Knows the last 1,024 models that were asked for or learned.
 */
export class TokenEstimator {
  readonly #models = new Map<string, Learned>()
  readonly #capacity: number

  /** Throws `PROMPT_OPTION_INVALID`. */
  constructor({ capacity = 1024 }: { readonly capacity?: number | undefined } = {}) {
    if (!(Number.isSafeInteger(capacity) && capacity >= 1)) {
      throw new PromptError(
        'PROMPT_OPTION_INVALID',
        `capacity: ${capacity}, expected a whole number from 1 on`,
        {
          details: { key: 'capacity', value: capacity },
        },
      )
    }
    this.#capacity = capacity
  }

  /** Models that are known. */
  get size(): number {
    return this.#models.size
  }

  /** Bytes per token. */
  ratio(model: string): number {
    return this.#touch(model)?.ratio ?? firstRatio
  }

  /** Estimated tokens of so many bytes of a prompt text; 0 only for none. */
  tokens(model: string, textBytes: number): number {
    return Math.ceil(textBytes / this.ratio(model))
  }

  /** Blocks that so many matched chunks stand for. */
  overlapBlocks(model: string, matchedChunks: number): number {
    return Math.floor((matchedChunks * chunkBytesPerToken) / this.ratio(model))
  }

  /**
   * What an engine counted (`usage.prompt_tokens`) for a prompt text without media of so many bytes. Counts below 32 tokens and those that
   * are no counts change nothing.
   */
  learn(model: string, textBytes: number, promptTokens: number): void {
    const found = textBytes / promptTokens
    if (!(promptTokens >= fewestTokens && found >= leastRatio && found <= largestRatio)) return
    const learned = this.#touch(model) ?? this.#add(model)
    const { ratio } = learned
    learned.counts++
    const weight = Math.max(leastWeight, 1 / (learned.counts + 1))
    const likely = Math.min(ratio * furthestFactor, Math.max(ratio / furthestFactor, found))
    learned.ratio = ratio + weight * (likely - ratio)
  }

  /** The last in the map is the last used. */
  #touch(model: string): Learned | undefined {
    const learned = this.#models.get(model)
    if (learned === undefined) return undefined
    this.#models.delete(model)
    this.#models.set(model, learned)
    return learned
  }

  #add(model: string): Learned {
    const learned = { ratio: firstRatio, counts: 0 }
    this.#models.set(model, learned)
    if (this.#models.size > this.#capacity) this.#models.delete(this.#models.keys().next().value!)
    return learned
  }
}
