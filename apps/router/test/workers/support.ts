import { afterEach } from 'vitest'
import type { FleetSettings } from '../../src/fleet/fleet-settings.js'
import type { WorkerRegistration } from '../../src/fleet/worker-registration.js'
import type { EngineReply } from '../../src/workers/engine-client.js'
import type { Timers } from '../../src/workers/timers.js'
import { type KeeperSettings, WorkerKeeper } from '../../src/workers/worker-keeper.js'
import { testFleet } from '../fleet/support.js'

/** Time that passes when a test says so; what was due happens in its order. */
export class ManualTimers implements Timers {
  readonly #clock: { ms: number }
  readonly #due = new Set<{ readonly atMs: number; readonly callback: () => void }>()

  constructor(clock = { ms: 0 }) {
    this.#clock = clock
  }

  readonly nowMs = (): number => this.#clock.ms

  readonly after = (ms: number, callback: () => void): (() => void) => {
    const entry = { atMs: this.#clock.ms + ms, callback }
    this.#due.add(entry)
    return () => void this.#due.delete(entry)
  }

  get pending(): number {
    return this.#due.size
  }

  async advance(ms: number): Promise<void> {
    const endMs = this.#clock.ms + ms
    await settled()
    for (;;) {
      const [next] = [...this.#due].filter(({ atMs }) => atMs <= endMs).toSorted((a, b) => a.atMs - b.atMs)
      if (next === undefined) break
      this.#due.delete(next)
      this.#clock.ms = Math.max(this.#clock.ms, next.atMs)
      next.callback()
      await settled()
    }
    this.#clock.ms = endMs
  }
}

/** Everything that waits for nothing but promises has happened. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** What a made-up engine answers by path; a path that is not there is a 404. */
export type FakeEngine = Record<string, EngineReply | string>

/** An engine like vLLM. */
export function vllm(more: { startedAt?: number; blockSize?: number; model?: string } = {}): FakeEngine {
  const { startedAt = 1000, blockSize = 16, model = 'llama' } = more
  return {
    '/health': '',
    '/v1/models': JSON.stringify({
      data: [{ id: model, root: '/models/llama', parent: null, max_model_len: 4096 }],
    }),
    '/metrics': `vllm:cache_config_info{block_size="${blockSize}",engine="0",num_gpu_blocks="900"} 1.0\nprocess_start_time_seconds ${startedAt}\n`,
  }
}

export const refused: EngineReply = { failure: 'refused', detail: 'connection refused' }
export const late: EngineReply = { failure: 'timeout', detail: 'no answer within 2000 ms' }

/** A fleet with a keeper, engines made up by base URL, and every question that was asked. */
function keptFleet(settings: { readonly fleet?: FleetSettings; readonly keeper?: KeeperSettings } = {}) {
  const { fleet, clock, warnings, ...others } = testFleet({
    learnsFacts: true,
    usesKvEvents: false,
    ...settings.fleet,
  })
  const timers = new ManualTimers(clock)
  const engines: Record<string, FakeEngine | EngineReply | 'slow' | 'never'> = {}
  const asked: { url: string; atMs: number; apiKey: string | undefined; signal: AbortSignal }[] = []
  const keeper = new WorkerKeeper({
    workers: fleet.workers,
    timers,
    settings: settings.keeper,
    apiKeyOf: (workerId) => (workerId === 99n ? 'secret' : undefined),
    onWarning: (warning) => warnings.push(warning),
    ask: async (url, { apiKey, signal }) => {
      asked.push({ url, atMs: clock.ms, apiKey, signal })
      const base = urlOf(Number(/:(\d+)/.exec(url)![1]!) - 9000)
      const engine = engines[base] ?? refused
      if (engine === 'never') return new Promise<never>(() => undefined)
      if (engine === 'slow') return new Promise((resolve) => timers.after(2000, () => resolve(late)))
      if ('detail' in engine && typeof engine['detail'] === 'string') return engine as EngineReply
      const answer = (engine as FakeEngine)[url.slice(base.length)] ?? { status: 404, body: '' }
      return typeof answer === 'string' ? { status: 200, body: answer } : answer
    },
  })
  return {
    ...others,
    fleet,
    workers: fleet.workers,
    keeper,
    timers,
    warnings,
    engines,
    asked,
    /** Adds a worker from a flag whose engine is as given. */
    start(
      id: number,
      engine: FakeEngine | EngineReply | 'never' = vllm(),
      more: Partial<WorkerRegistration> = {},
    ) {
      engines[urlOf(id)] = engine
      return fleet.workers.upsert({ workerId: BigInt(id), endpoint: urlOf(id), ...more }, 'trusted')
    },
    /** Codes that speak against a worker. */
    against: (id: number) => fleet.workers.get(BigInt(id))!.hindrances.map(({ code }) => code),
    lifecycle: (id: number) => fleet.workers.get(BigInt(id))!.lifecycle,
    askedFor: (path: string) => asked.filter(({ url }) => url.endsWith(path)).length,
  }
}

function urlOf(id: number): string {
  return `http://127.0.0.1:${9000 + id}`
}

const opened: KeptFleet[] = []
afterEach(() => {
  for (const { keeper, fleet } of opened.splice(0)) {
    keeper.close()
    fleet.dispose()
  }
})

export type KeptFleet = ReturnType<typeof keptFleet>

/** A kept fleet that ends with its test. */
export function openFleet(...settings: Parameters<typeof keptFleet>): KeptFleet {
  const kept = keptFleet(...settings)
  opened.push(kept)
  return kept
}

/** A request that ends in this way at once. */
export function requestTo({ keeper }: KeptFleet, id: number, how: number | 'failed' | 'refused'): void {
  const attempt = keeper.begin(BigInt(id))!
  if (typeof how === 'number') {
    attempt.head(how)
    attempt.byte()
    attempt.end('answered')
  } else attempt.end(how, how)
}
