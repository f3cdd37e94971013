import { WyRand } from '@router/sdk'

/** One answer of a random stream: which bound it is asked for, and what it says. */
export interface Draw {
  readonly n: number
  readonly value: number
}

/** A random stream that gives written answers, each to the question it was written for, and refuses any other. */
export class ScriptedRandom extends WyRand {
  #left: Draw[] = []

  constructor() {
    super(0n)
  }

  /** Runs `body`, which must ask for exactly these draws. */
  with<T>(draws: readonly Draw[], body: () => T): T {
    this.#left = [...draws]
    const value = body()
    if (this.#left.length > 0) throw new Error(`not drawn: ${JSON.stringify(this.#left)}`)
    return value
  }

  override below(n: number): number {
    const draw = this.#left.shift()
    if (draw?.n !== n) throw new Error(`below(${n}) was asked, not ${JSON.stringify(draw)}`)
    return draw.value
  }

  override step(): void {
    throw new Error('a bare step was asked')
  }
}
