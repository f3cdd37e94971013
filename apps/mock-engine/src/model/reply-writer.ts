import { seededRandom } from '../engine/seeded-random.js'
import type { ServedModel } from '../engine/serving.js'

const lowerCaseWords =
  `a all an and any are as at be because been before block blocks both but by cache call can change check clear client code
come cost count data day default do does each end engine error event every example fast few file find first flow follow for form found free from
full get give given go good had has have here how if in index into is it its just keep key kind know large last later least less let like line list
little load long look made make many may mean measure memory model more most much must name near need never new next no not nothing now number of
often on once one only open or order other our out over own part pass path plain plan point policy pool prompt put queue rank read real reason
request result right room router run same save say second see seed send set short should show side simple since single small so some start state
still stop store such table take tell test text than that the their them then there these they thing this those though three through time to token
too top trace try turn two type under until up use used value very wait want was way we well were what when where which while who whole why will
with word work worker would write yes yet you`.split(/\s+/)
const openingWords =
  'A All And As At But Each Every First For From If In It No Not Of On One Only Some So The Then There This To What When Where With'.split(
    ' ',
  )

/**
 * Writes answers that can be read, though they mean nothing: words of one token each, in sentences. The same seed gives the same answer,
 * and a later prompt that repeats its text repeats its tokens.
 */
export class ReplyWriter {
  readonly #model: Pick<ServedModel, 'encode' | 'decode'>
  readonly #first: readonly number[]
  readonly #openings: readonly number[]
  readonly #words: readonly number[]
  readonly #stop: number | undefined

  /** Tries each word on the model once. */
  constructor(model: Pick<ServedModel, 'encode' | 'decode'>) {
    this.#model = model
    const words = this.#singleTokens(lowerCaseWords.map((word) => ` ${word}`))
    // A tokenizer without a word of one token: parts of words then.
    this.#words = words.length > 0 ? words : [...model.encode(' the', false)]
    this.#openings = this.#singleTokens(openingWords.map((word) => ` ${word}`))
    this.#first = this.#singleTokens(openingWords)
    this.#stop = this.#singleTokens(['.'])[0]
  }

  /** Exactly `tokenCount` tokens. O(tokens). */
  reply(seed: number, tokenCount: number): Uint32Array {
    const random = seededRandom(seed)
    const oneOf = (tokens: readonly number[]): number | undefined =>
      tokens[Math.floor(random() * tokens.length)]
    const reply = new Uint32Array(tokenCount)
    let wordsLeft = 0
    for (let index = 0; index < tokenCount; index++) {
      const opensSentence = index === 0 || reply[index - 1] === this.#stop
      if (opensSentence) {
        wordsLeft = 4 + Math.floor(random() * 9)
        reply[index] = oneOf(index === 0 ? this.#first : this.#openings) ?? oneOf(this.#words)!
      } else if (wordsLeft-- <= 0 && this.#stop !== undefined) reply[index] = this.#stop
      else reply[index] = oneOf(this.#words)!
    }
    return reply
  }

  #singleTokens(texts: readonly string[]): number[] {
    return texts.flatMap((text) => {
      const tokens = this.#model.encode(text, false)
      return tokens.length === 1 && this.#model.decode(tokens) === text ? [tokens[0]!] : []
    })
  }
}
