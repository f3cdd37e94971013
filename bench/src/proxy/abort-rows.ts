import { type IncomingMessage, type ServerResponse, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type RunningRouter,
  loadServePolicy,
  readServeSettings,
  readWorkerSources,
  startRouter,
} from '@router/app'
import type { FigureRow } from '../harness/figure.js'
import { median } from '../harness/statistics.js'

const aborts = 300
const body = '{"model":"m","prompt":"a prompt that takes long","max_tokens":5,"stream":true}'

/** An engine that takes requests and says nothing: a long prefill. */
class SilentEngine {
  readonly server = createServer((asked, response) => this.#take(asked, response))
  /** Called when the router has hung up on a request. */
  onGone: () => void = () => undefined
  /** Called when a request has come. */
  onAsked: () => void = () => undefined

  #take(asked: IncomingMessage, response: ServerResponse): void {
    if (asked.url === '/v1/models') response.end('{"object":"list","data":[{"id":"m","object":"model"}]}')
    else if (asked.url === '/metrics')
      response.end('vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="4096"} 1.0\n')
    else if (asked.method === 'GET') response.end()
    else {
      response.once('close', () => this.onGone())
      asked.resume().once('end', () => this.onAsked())
    }
  }
}

/** What the end of a request takes when its client leaves in a silent prefill, everything in one process. */
async function abortTimes(): Promise<{ readonly freedMs: number[]; readonly goneMs: number[] }> {
  const engine = new SilentEngine()
  await new Promise<void>((resolve) => engine.server.listen(0, '127.0.0.1', resolve))
  const { port } = engine.server.address() as AddressInfo
  const policy = await loadServePolicy({})
  const router = await startRouter({
    settings: readServeSettings({ policyFile: policy.policyFile }),
    policy,
    sources: readWorkerSources({ worker: [`http://127.0.0.1:${port}`] }),
    ports: { main: 0 },
  })
  while (router.fleet.workers.schedulable === 0) await sleep(20)
  const freedMs: number[] = []
  const goneMs: number[] = []
  for (let at = 0; at < aborts; at++) await abortOne(router, engine, freedMs, goneMs)
  await router.close()
  engine.server.closeAllConnections()
  engine.server.close()
  return { freedMs, goneMs }
}

async function abortOne(
  router: RunningRouter,
  engine: SilentEngine,
  freedMs: number[],
  goneMs: number[],
): Promise<void> {
  const asked = new Promise<void>((resolve) => (engine.onAsked = resolve))
  const headers = { 'content-type': 'application/json', 'content-length': body.length }
  const client = request(`${router.url}/v1/completions`, { method: 'POST', headers, agent: false })
  client.on('error', () => undefined)
  client.end(body)
  await asked
  if (live(router) !== 1) throw new Error('the request is not booked')
  const gone = new Promise<void>((resolve) => (engine.onGone = resolve))
  const startedMs = performance.now()
  client.destroy()
  const freed = (async () => {
    while (live(router) > 0) await new Promise(setImmediate)
    freedMs.push(performance.now() - startedMs)
  })()
  await gone
  goneMs.push(performance.now() - startedMs)
  await freed
}

function live({ fleet }: RunningRouter): number {
  return fleet.partitions.reduce((sum, { router }) => sum + router.ledger.live, 0)
}

const group = 'a client that leaves in a silent prefill'

/** How soon everybody knows that a client has left. */
export const abortRows: readonly FigureRow[] = [
  {
    group,
    name: 'until its booking is free, median',
    unit: 'ms',
    reach: { atMost: 50 },
    compute: async () => {
      const { freedMs, goneMs } = await abortTimes()
      return { value: median(freedMs), note: `the engine knows after ${median(goneMs).toFixed(2)} ms` }
    },
  },
  {
    group,
    name: `until the engine knows, slowest of ${aborts}`,
    unit: 'ms',
    reach: { atMost: 1000 },
    compute: async () => ({ value: Math.max(...(await abortTimes()).goneMs) }),
  },
]
