import { KvIndexError } from '@router/kv-index'

const LARGEST_PORT = 65_535

/**
 * Endpoint of a rank, from the base endpoint of its worker, as engines derive it: the port of `tcp://` plus the rank; `_dp{rank}` behind
 * the name of `inproc://` for ranks above 0. An `ipc://` path serves rank 0 only. Error: `KV_INDEX_ENDPOINT_INVALID`.
 */
export function endpointOfRank(endpoint: string, rank: number): string {
  if (/^inproc:\/\/./.test(endpoint)) return rank === 0 ? endpoint : `${endpoint}_dp${rank}`
  if (/^ipc:\/\/./.test(endpoint)) {
    if (rank === 0) return endpoint
    throw invalid(endpoint, rank, 'an ipc:// path serves rank 0 only')
  }
  const [, host, portText] = /^tcp:\/\/(.+):(\d{1,5})$/.exec(endpoint) ?? []
  if (host === undefined)
    throw invalid(endpoint, rank, 'accepted: tcp://host:port, ipc://path, inproc://name')
  const port = Number(portText) + rank
  if (port < 1 || port > LARGEST_PORT)
    throw invalid(endpoint, rank, `port ${port} is none; accepted: 1 to ${LARGEST_PORT}`)
  return `tcp://${host}:${port}`
}

/** What a socket says of an endpoint that it cannot use. */
export function invalid(endpoint: string, rank: number, why: string, cause?: unknown): KvIndexError {
  return new KvIndexError(
    'KV_INDEX_ENDPOINT_INVALID',
    `endpoint '${endpoint}' of rank ${rank}: ${why}`,
    { endpoint, rank },
    { cause },
  )
}
