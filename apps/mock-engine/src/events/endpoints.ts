import { MockEngineError } from '../errors.js'

const largestPort = 65_535
const accepted = 'tcp://host:port, ipc://path, inproc://name'

/**
 * The endpoint of a rank, as vLLM derives it: the port plus the rank, `_dp{rank}` behind the name of `inproc://`. Port 0 or `*` stays:
 * any free one. Throws `MOCK_ENGINE_ENDPOINT_INVALID`.
 */
export function endpointOfRank(endpoint: string, rank: number): string {
  if (/^inproc:\/\/./.test(endpoint)) return rank === 0 ? endpoint : `${endpoint}_dp${rank}`
  if (/^ipc:\/\/./.test(endpoint)) {
    if (rank === 0) return endpoint
    throw invalidEndpoint(endpoint, `an ipc:// path serves rank 0 only, not rank ${rank}`)
  }
  const [, host, portText] = /^tcp:\/\/(.+):(\d{1,5}|\*)$/.exec(endpoint) ?? []
  if (host === undefined) throw invalidEndpoint(endpoint, `accepted: ${accepted}`)
  if (portText === '*' || Number(portText) === 0) return `tcp://${host}:0`
  const port = Number(portText) + rank
  if (port > largestPort)
    throw invalidEndpoint(endpoint, `port ${port} of rank ${rank} is none; accepted: up to ${largestPort}`)
  return `tcp://${host}:${port}`
}

/** Whether the engine binds there, as vLLM decides, or connects to a router that does. A port that is yet to be found can only be bound. */
export function isBoundByEngine(endpoint: string): boolean {
  return /\*|::|^ipc:|^inproc:|:0$/.test(endpoint)
}

/** Whether an endpoint has an IPv6 address, which a socket has to be told of. */
export function isIpv6(endpoint: string): boolean {
  return endpoint.includes('[')
}

/** Where others on this machine find what is bound at `endpoint`. */
export function reachable(endpoint: string): string {
  return endpoint.replace(/^tcp:\/\/(?:0\.0\.0\.0|\*|\[::\])(?=:\d+$)/, 'tcp://127.0.0.1')
}

/** What a socket says of an endpoint that it cannot use. */
export function invalidEndpoint(endpoint: string, why: string, cause?: unknown): MockEngineError {
  return new MockEngineError('MOCK_ENGINE_ENDPOINT_INVALID', `endpoint ${endpoint}: ${why}`, { cause })
}
