import { WyRand } from '@router/sdk'
import type { ClassicDraw } from '../shapes/classic.js'

/** The random stream of a case: a seeded one, or answers that the case writes down, each to a question with this bound. */
export class CaseRandom extends WyRand {
  /** Bounds of the questions since `answer`, where answers are written down. */
  readonly asked: number[] = []
  #answers: readonly ClassicDraw[] | undefined

  /** @param draws `undefined` = the seeded stream answers */
  answer(draws: readonly ClassicDraw[] | undefined): void {
    this.#answers = draws
    this.asked.length = 0
  }

  override below(n: number): number {
    if (this.#answers === undefined) return super.below(n)
    this.asked.push(n)
    // One past the last, or to another question: the bounds will not match, whatever the answer.
    return Math.min(this.#answers[this.asked.length - 1]?.value ?? 0, n - 1)
  }
}
