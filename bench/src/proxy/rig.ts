import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EngineFacts, EngineOptions, EngineOrder } from './instant-engine.js'
import { Load } from './load.js'
import { PartProcess } from './part-process.js'
import { type PromptForm, loadKinds, tokensOf } from './prompts.js'
import type { RouterFacts, RouterPartOptions } from './router-part.js'

export interface RigOptions {
  readonly form: PromptForm
  /** Default 4. */
  readonly engines?: number
  /** Of each engine. Default 1. */
  readonly ranks?: number
}

/** Engines, the floor and a router, each a process of its own; whoever holds the rig is the load. */
export class Rig {
  readonly engines: PartProcess<EngineFacts>
  readonly floor: PartProcess<{ readonly url: string }>
  readonly router: PartProcess<RouterFacts>
  readonly direct: Load
  readonly overFloor: Load
  readonly overRouter: Load

  /** Starts everything, and waits until the router routes, by what engines told where they tell. */
  static async open({ form, engines = 4, ranks = 1 }: RigOptions): Promise<Rig> {
    const parts: PartProcess<unknown>[] = []
    const start = async <Facts>(part: string, options: object): Promise<PartProcess<Facts>> => {
      const started = await PartProcess.start<Facts>(process.argv[1]!, part, options)
      parts.push(started)
      return started
    }
    try {
      const publishesEvents = form === 'tokens'
      const engineOptions: EngineOptions = { engines, ranks, publishesEvents }
      const engine = await start<EngineFacts>('engines', engineOptions)
      const { urls, eventEndpoints } = engine.facts
      const floor = await start<{ readonly url: string }>('floor', { urls })
      const workers = urls.map((url, at) => workerText(url, eventEndpoints[at]!))
      const options: RouterPartOptions = { workers }
      const router = await start<RouterFacts>('router', options)
      const rig = new Rig(engine, floor, router)
      await rig.#untilRouted(publishesEvents)
      return rig
    } catch (error) {
      for (const part of parts) part.end()
      throw error
    }
  }

  private constructor(
    engines: PartProcess<EngineFacts>,
    floor: PartProcess<{ readonly url: string }>,
    router: PartProcess<RouterFacts>,
  ) {
    this.engines = engines
    this.floor = floor
    this.router = router
    this.direct = new Load(engines.facts.urls[0]!)
    this.overFloor = new Load(floor.facts.url)
    this.overRouter = new Load(router.facts.url)
  }

  /** Every rank publishes so many batches a second from now on. */
  publish(batchesPerSecond: number): Promise<void> {
    return this.engines.tell({ batchesPerSecond } satisfies EngineOrder)
  }

  /** The first rank of each engine holds a prompt from now on. */
  hold(tokens: readonly number[]): Promise<void> {
    return this.engines.tell({ holds: tokens } satisfies EngineOrder)
  }

  async close(): Promise<void> {
    for (const part of [this.engines, this.floor, this.router]) part.end()
    await Promise.all([this.direct, this.overFloor, this.overRouter].map((load) => load.close()))
  }

  async #untilRouted(byEvents: boolean): Promise<void> {
    const { tokens } = loadKinds.long
    const url = `${this.router.facts.url}/v1/completions`
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ prompt: tokensOf(tokens, 0) })
    for (let look = 0; look < 600; look++) {
      if (byEvents) await this.hold(tokensOf(tokens, 0))
      const answer = await fetch(url, { method: 'POST', headers, body })
      await answer.text()
      const overlap = Number(answer.headers.get('x-router-overlap-blocks') ?? 0)
      if (answer.status === 200 && (!byEvents || overlap > 0)) return
      await sleep(50)
    }
    throw new Error('the router does not route')
  }
}

function workerText(url: string, eventEndpoints: readonly string[]): string {
  const events = eventEndpoints.map((endpoint, rank) => `,kv_events_endpoints.${rank}=${endpoint}`)
  return `${url}${events.join('')}`
}
