import { suggest } from '@router/config'
import { ConfigError, type ConfigIssue } from '@router/sdk'
import { z } from 'zod'
import { type WorkerEntry, acceptedUrls, baseUrlOf, entryOf } from './worker-entry.js'
import { workerFields, workerRecord } from './worker-fields.js'

const keys = Object.keys(workerFields)

/**
 * A worker as `URL[,key=value...]`, with the keys of the worker file; a list as `taints=a|b`, an entry of a mapping as
 * `topology_domains.zone=a`. Error: `ConfigError` with what is accepted, and the near key.
 * @param origin flag or variable, for messages
 */
export function parseWorkerFlag(text: string, origin = '--worker'): WorkerEntry {
  const [url = '', ...pairs] = text.split(',')
  const endpoint = baseUrlOf(url)
  if (endpoint === undefined)
    throw refused(origin, `'${url.trim()}' is no URL of a worker`, acceptedUrls, text)
  const record: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  for (const pair of pairs) addPair(record, pair, origin)
  const result = workerRecord.safeParse({ ...record, endpoint })
  if (result.success) return entryOf(endpoint, result.data)
  const [issue] = result.error.issues
  const key = issue?.path.join('.') ?? ''
  throw refused(origin, `${key} cannot be '${String(valueAt(record, key))}'`, `${issue?.message}`, text)
}

/** Several URLs, `--worker-urls`. Errors: as `parseWorkerFlag`. */
export function parseWorkerUrls(text: string, origin = '--worker-urls'): WorkerEntry[] {
  const urls = text.split(',').filter((url) => url.trim() !== '')
  return urls.map((url) => parseWorkerFlag(url, origin))
}

/** A name whose addresses are workers, `host:port`. Error: `ConfigError`. */
export function parseWorkerDns(
  text: string,
  origin = '--worker-dns',
): { readonly host: string; readonly port: number } {
  const [, host, port] = /^([a-z0-9](?:[a-z0-9._-]*[a-z0-9])?\.?):(\d{1,5})$/i.exec(text.trim()) ?? []
  if (host !== undefined && Number(port) >= 1 && Number(port) <= 65_535) return { host, port: Number(port) }
  throw refused(origin, `'${text}' names no workers`, 'host:port', text)
}

function addPair(record: Record<string, unknown>, pair: string, origin: string): void {
  const [, name = '', value] = /^([^=]*)=(.*)$/s.exec(pair) ?? [undefined, pair]
  const [key = '', entry] = splitOnce(name.trim())
  if (!keys.includes(key)) {
    const near = suggest(key, keys)
    const hint = near === undefined ? '' : `; did you mean '${near}'?`
    throw refused(origin, `unknown key '${key}'${hint}`, keys.join(', '), pair)
  }
  const schema = workerFields[key as keyof typeof workerFields].unwrap()
  const isMapping = schema instanceof z.ZodRecord
  if (
    value === undefined ||
    isMapping !== (entry !== undefined) ||
    entry === '__proto__' ||
    (Object.hasOwn(record, key) && !isMapping)
  ) {
    const accepted = isMapping ? `${key}.NAME=VALUE` : `${key}=VALUE, once`
    throw refused(origin, `'${pair}' cannot be read`, accepted, pair)
  }
  if (entry === undefined) record[key] = scalarOf(schema, value)
  else record[key] = Object.fromEntries([...Object.entries((record[key] ?? {}) as object), [entry, value]])
}

/** A text as the schema wants it; one that does not fit stays a text, which the schema refuses. */
function scalarOf(schema: z.ZodType, text: string): unknown {
  if (schema instanceof z.ZodArray) return text.split('|')
  if (schema instanceof z.ZodBoolean && (text === 'true' || text === 'false')) return text === 'true'
  if (schema instanceof z.ZodNumber && /^-?\d{1,15}(?:\.\d{1,15})?$/.test(text)) return Number(text)
  return text
}

function splitOnce(name: string): [string, string?] {
  const dot = name.indexOf('.')
  return dot < 0 ? [name] : [name.slice(0, dot), name.slice(dot + 1)]
}

function valueAt(record: Readonly<Record<string, unknown>>, path: string): unknown {
  const [key, entry] = splitOnce(path)
  const value = record[key]
  return entry === undefined || Array.isArray(value)
    ? value
    : (value as Record<string, unknown> | undefined)?.[entry]
}

function refused(origin: string, what: string, accepted: string, value: string): ConfigError {
  const message = `${origin}: ${what}; accepted: ${accepted}`
  const issue: ConfigIssue = { code: 'ROUTER_CONFIG_INVALID', message, path: [origin], value, accepted }
  return new ConfigError('ROUTER_CONFIG_INVALID', message, [issue])
}
