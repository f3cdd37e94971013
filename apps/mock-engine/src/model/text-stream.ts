import type { ServedModel } from '../engine/serving.js'

const replacement = '\uFFFD'

/**
 * Turns tokens into text as they come. A character whose bytes several tokens share comes with the last of them: the pieces, put
 * together, are what all tokens decode to.
 */
export class TextStream {
  readonly #decode: ServedModel['decode']
  /** The tokens since the last one that ended with a whole character, and that one: some decoders treat a first token apart. */
  #tokens: number[] = []
  /** Characters of their text that have been given. */
  #given = 0

  constructor({ decode }: Pick<ServedModel, 'decode'>) {
    this.#decode = decode
  }

  /** The text that a token completes, often that of the token alone, perhaps empty. */
  push(token: number): string {
    this.#tokens.push(token)
    const text = this.#decode(Uint32Array.from(this.#tokens))
    const isWhole = !text.endsWith(replacement)
    // Of what may be half a character only the last sign is in doubt.
    const piece = text.slice(this.#given, isWhole ? undefined : -1)
    this.#given += piece.length
    if (isWhole) {
      this.#tokens = [token]
      this.#given = this.#decode(Uint32Array.of(token)).length
    }
    return piece
  }

  /** No more tokens come: what is left, half a character or nothing. */
  end(): string {
    return this.#decode(Uint32Array.from(this.#tokens)).slice(this.#given)
  }
}
