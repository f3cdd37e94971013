import { afterEach } from 'vitest'
import { type RunningRouter, loadServePolicy, readServeSettings, startRouter } from '../../src/index.js'

const services: RunningRouter[] = []
afterEach(async () => {
  for (const service of services.splice(0)) await service.close()
})

/** A selection API in this process; engines tell nothing unless the environment says so. */
export async function serve(environment: Readonly<Record<string, string>> = {}): Promise<RunningRouter> {
  const policy = await loadServePolicy({ environment })
  const settings = readServeSettings({ environment: { ROUTER_KV_EVENTS: 'false', ...environment } })
  const service = await startRouter({ settings, policy, ports: { selection: 0 } })
  services.push(service)
  return service
}

/** One exchange; a body that is no text is sent as JSON. */
export async function ask(
  { url }: RunningRouter,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; body: Record<string, unknown>; text: string; headers: Headers }> {
  const content = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { ...(content === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(content === undefined ? {} : { body: content }),
  })
  const text = await response.text()
  return { status: response.status, body: JSON.parse(text), text, headers: response.headers }
}

export const tokens = (count: number, from = 1): number[] =>
  Array.from({ length: count }, (_, at) => from + at)
export const worker = (worker_id: number, more: object = {}) => ({
  worker_id,
  endpoint: `http://w${worker_id}`,
  block_size: 4,
  ...more,
})
