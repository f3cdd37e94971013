import { type Dispatcher, Pool } from 'undici'
import { median } from '../harness/statistics.js'

/** Requests that are all alike but for their prompts, which take turns. */
export interface LoadRequest {
  readonly path: string
  readonly bodies: readonly Buffer[]
}

export interface LoadFigures {
  /** Of a whole answer, milliseconds. */
  readonly p50Ms: number
  readonly elapsedMs: number
}

const headers = ['content-type', 'application/json', 'authorization', 'Bearer none']

/** Asks one server, on connections that stay. */
export class Load {
  readonly #pools = new Map<number, Pool>()
  readonly #origin: string
  #turn = 0

  constructor(origin: string) {
    this.#origin = origin
  }

  /** Sends so many requests, always `connections` at a time. Throws for an answer that is not 200. */
  async run({ path, bodies }: LoadRequest, count: number, connections: number): Promise<LoadFigures> {
    const pool = this.#pools.get(connections) ?? new Pool(this.#origin, { connections, bodyTimeout: 0 })
    this.#pools.set(connections, pool)
    const tookMs: number[] = []
    const startedMs = performance.now()
    let left = count
    const worker = async (): Promise<void> => {
      while (left-- > 0) {
        const body = bodies[this.#turn++ % bodies.length]!
        const sentMs = performance.now()
        await ask(pool, path, body)
        tookMs.push(performance.now() - sentMs)
      }
    }
    await Promise.all(Array.from({ length: connections }, worker))
    return { p50Ms: median(tookMs), elapsedMs: performance.now() - startedMs }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()))
  }
}

function ask(pool: Pool, path: string, body: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    let status = 0
    const handler: Dispatcher.DispatchHandler = {
      onConnect: () => undefined,
      onHeaders: (code) => {
        status = code
        return true
      },
      onData: () => true,
      onComplete: () => {
        if (status === 200) resolve()
        else reject(new Error(`${path} was answered with status ${status}`))
      },
      onError: reject,
    }
    pool.dispatch({ path, method: 'POST', headers, body }, handler)
  })
}
