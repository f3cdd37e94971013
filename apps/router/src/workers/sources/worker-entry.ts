import { BlockHasher, hashAt } from '@router/kv-index'
import type { WorkerRegistration } from '../../fleet/worker-registration.js'
import type { WorkerRecordText } from './worker-fields.js'

/** A worker that a trusted source names. */
export interface WorkerEntry {
  readonly registration: WorkerRegistration & { readonly endpoint: string }
  /** File with the key of its engine. */
  readonly apiKeyFile?: string | undefined
}

const hasher = new BlockHasher()

/** The id of a worker that has none: XXH3-64, seed 0, of its URL without trailing slash. */
export function workerIdOf(endpoint: string): bigint {
  const out = new Uint32Array(2)
  hasher.hashBytes(new TextEncoder().encode(endpoint), { low: 0, high: 0 }, out, 0)
  return hashAt(out, 0)
}

/** A base URL without trailing slashes; `undefined` = it is none: http or https, no credentials, query or fragment. */
export function baseUrlOf(url: string): string | undefined {
  const trimmed = url.trim().replace(/\/+$/, '')
  const isBase = /^https?:\/\/[^\s/?#@,]+(?:\/[^\s?#,]*)?$/i.test(trimmed) && URL.canParse(trimmed)
  return isBase ? trimmed : undefined
}

/** What a URL must be, for messages. */
export const acceptedUrls = 'http://host:port or https://host:port, with a path if need be'

/** @param endpoint checked by `baseUrlOf` */
export function entryOf(endpoint: string, record: Omit<WorkerRecordText, 'endpoint'>): WorkerEntry {
  const {
    worker_id: workerId = workerIdOf(endpoint),
    api_key_file: apiKeyFile,
    kv_events_endpoints: eventUrls,
    topology_domains: domains,
    router_hint_source_control_endpoints: controlUrls,
    ...others
  } = record
  const fields = Object.entries(others).map(([key, value]) => [
    key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    value,
  ])
  return {
    apiKeyFile,
    registration: {
      ...Object.fromEntries(fields),
      workerId,
      endpoint,
      kvEventsEndpoints: eventUrls && byRank(eventUrls),
      topologyDomains: domains && new Map(Object.entries(domains)),
      routerHintSourceControlEndpoints: controlUrls && byRank(controlUrls),
    },
  }
}

function byRank(urls: Readonly<Record<string, string>>): ReadonlyMap<number, string> {
  return new Map(Object.entries(urls).map(([rank, url]) => [Number(rank), url]))
}
