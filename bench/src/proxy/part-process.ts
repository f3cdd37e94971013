import { type ChildProcess, fork } from 'node:child_process'
import process from 'node:process'

/** First argument of a process that is a part of a rig. */
export const partCommand = 'run-a-part'

/** What a process used since it started. */
export interface PartUsage {
  /** Microseconds of all its threads. */
  readonly cpuUs: number
  readonly rssBytes: number
}

/** A part, within its process: what it tells when it runs, and what it does when told something. */
export interface RunningPart {
  readonly facts: object
  readonly take?: (message: object) => object
}

/** Parts by name; each is started with its options. */
export type PartStarts = Readonly<Record<string, (options: never) => Promise<RunningPart>>>

type Call = { readonly id: number; readonly message?: object }
type Answer = { readonly id: number; readonly answer: object } | { readonly failure: string }

/** Starts the part that the task names, and serves the process that forked this one until that goes. */
export async function servePart(task: string, starts: PartStarts): Promise<void> {
  const { part, options } = JSON.parse(task) as { readonly part: string; readonly options: object }
  process.on('disconnect', () => process.exit())
  const answer = (one: Answer): void => void process.send!(one)
  try {
    const running = await starts[part]!(options as never)
    process.on('message', ({ id, message }: Call) => {
      answer({ id, answer: message === undefined ? usageNow() : (running.take?.(message) ?? {}) })
    })
    answer({ id: 0, answer: running.facts })
  } catch (error) {
    answer({ failure: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
}

function usageNow(): PartUsage {
  const { user, system } = process.cpuUsage()
  return { cpuUs: user + system, rssBytes: process.memoryUsage.rss() }
}

/** A part that runs in a process of its own, as whoever started it sees it. */
export class PartProcess<Facts> {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, { resolve(answer: object): void; reject(error: Error): void }>()
  #facts: Facts | undefined
  #calls = 0

  /** @param entry the running program, which must serve `partCommand` */
  static async start<Facts>(entry: string, part: string, options: object): Promise<PartProcess<Facts>> {
    const child = fork(entry, [partCommand, JSON.stringify({ part, options })], { execArgv: [] })
    const started = new PartProcess<Facts>(child)
    const facts = started.#answerTo(0)
    child.on('message', (answer: Answer) => {
      if ('failure' in answer) started.#fail(new Error(answer.failure))
      else started.#waiting.get(answer.id)?.resolve(answer.answer)
    })
    child.once('exit', (code) => started.#fail(new Error(`the ${part} ended with exit code ${code}`)))
    started.#facts = (await facts) as Facts
    return started
  }

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  /** What it told when it ran. */
  get facts(): Facts {
    return this.#facts!
  }

  /** What it used so far. */
  usage(): Promise<PartUsage> {
    return this.#call(undefined) as Promise<PartUsage>
  }

  /** Tells it something; resolves when it took it. */
  async tell(message: object): Promise<void> {
    await this.#call(message)
  }

  end(): void {
    this.#child.kill()
  }

  #call(message: object | undefined): Promise<object> {
    const id = ++this.#calls
    this.#child.send({ id, message })
    return this.#answerTo(id)
  }

  async #answerTo(id: number): Promise<object> {
    try {
      return await new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
    } finally {
      this.#waiting.delete(id)
    }
  }

  #fail(error: Error): void {
    this.#child.kill()
    for (const { reject } of this.#waiting.values()) reject(error)
  }
}
