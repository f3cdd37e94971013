import { createHash } from 'node:crypto'

/**
 * A prefix cache that forgets nothing and that every request shares: what it finds is the most that any fleet can find. It keeps 24
 * characters a distinct block.
 */
export class InfiniteCache {
  readonly #blockSize: number
  /** Names of blocks, with all before them. */
  readonly #prompts = new Set<string>()
  readonly #outputs = new Set<string>()
  /** Sums over all requests so far, tokens. */
  promptTokens = 0
  cachedTokens = 0

  constructor(blockSize: number) {
    this.#blockSize = blockSize
  }

  /** Distinct whole blocks of prompts so far. */
  get promptBlocks(): number {
    return this.#prompts.size
  }

  /**
   * Looks a prompt up, then keeps it with its output. Like engines it finds whole blocks only, leaves one token to be computed at least,
   * and never keeps the last token of an output. Returns the tokens that it found.
   */
  take(prompt: Uint32Array, output: Uint32Array): number {
    const size = this.#blockSize
    const tokens = new Uint32Array(prompt.length + Math.max(0, output.length - 1))
    tokens.set(prompt)
    tokens.set(output.subarray(0, tokens.length - prompt.length), prompt.length)
    const findable = Math.floor((prompt.length - 1) / size)
    let name = ''
    let found = 0
    for (let block = 0; (block + 1) * size <= tokens.length; block++) {
      const content = tokens.subarray(block * size, (block + 1) * size)
      name = createHash('sha256').update(name).update(content).digest('base64').slice(0, 24)
      const isKnown = this.#prompts.has(name) || this.#outputs.has(name)
      if (isKnown && found === block && block < findable) found++
      const isOfPrompt = (block + 1) * size <= prompt.length
      ;(isOfPrompt ? this.#prompts : this.#outputs).add(name)
    }
    this.promptTokens += prompt.length
    this.cachedTokens += found * size
    return found * size
  }
}
