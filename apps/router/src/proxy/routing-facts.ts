import type { IncomingHttpHeaders } from 'node:http'
import { HttpError } from '../http/http-error.js'
import { flag, listOf, objectOf, optional, text, u32, workerId } from '../http/json-fields.js'
import { JsonReader } from '../http/json-reader.js'
import { quoted } from '../quoted.js'

/** What a request says of where it should go, beside its prompt (host.md 11.3). */
export interface RoutingFacts {
  /** Pin to a worker; absent = any. */
  readonly workerId: bigint | undefined
  /** Pin to a rank of it, or of whichever worker. */
  readonly dpRank: number | undefined
  readonly routingGroup: string
  /** Salt that did not come as top-level `cache_salt`. */
  readonly cacheSalt: string | undefined
  readonly policyClass: string | undefined
  /** Seconds, from 0 on. */
  readonly priorityJump: number | undefined
  readonly strictPriority: number | undefined
  readonly expectedOutputTokens: number | undefined
  /** What the client wants to be told in the `nvext` of its answer. */
  readonly extraFields: readonly string[]
  /** Hints that nothing acts on, by name. */
  readonly ignoredHints: readonly string[]
}

/** Which hints count. */
export interface FactTrust {
  /** Pins, ranks, priorities, classes and tenants count. */
  readonly trustsHeaders: boolean
  /** `nvext` counts. */
  readonly readsNvext: boolean
}

interface Hints {
  readonly priority?: number | undefined
  readonly strict_priority?: number | undefined
  readonly osl?: number | undefined
  readonly speculative_prefill?: boolean | undefined
}

interface Nvext {
  readonly backend_instance_id?: bigint | undefined
  readonly prefill_worker_id?: bigint | undefined
  readonly decode_worker_id?: bigint | undefined
  readonly dp_rank?: number | undefined
  readonly prefill_dp_rank?: number | undefined
  readonly cache_salt?: string | undefined
  readonly annotations?: readonly string[] | undefined
  readonly extra_fields?: readonly string[] | undefined
  readonly session_id?: string | undefined
  readonly do_not_queue?: boolean | undefined
  readonly agent_hints?: Hints | undefined
}

const smallestI32 = -(2 ** 31)
const largestI32 = 2 ** 31 - 1

const skipped = (reader: JsonReader): undefined => {
  reader.skip()
  return undefined
}

const readNvext = optional(
  objectOf<Nvext & { readonly token_data?: undefined }>({
    backend_instance_id: optional(workerId),
    prefill_worker_id: optional(workerId),
    decode_worker_id: optional(workerId),
    dp_rank: optional(u32),
    prefill_dp_rank: optional(u32),
    token_data: optional(skipped),
    cache_salt: optional(text),
    annotations: optional(listOf(text)),
    extra_fields: optional(listOf(text)),
    session_id: optional(text),
    do_not_queue: optional(flag),
    agent_hints: optional(
      objectOf<Hints>({
        priority: optional((reader) => reader.integer(smallestI32, largestI32)),
        strict_priority: optional(u32),
        osl: optional(u32),
        speculative_prefill: optional(flag),
      }),
    ),
  }),
).read

const noNvext: Nvext = {}

/**
 * Reads headers and `nvext`; headers win. Errors: `bad_request` for a header, `invalid_body` for a field that cannot be.
 * @param nvext its bytes; absent = the body has none
 */
export function readRoutingFacts(
  headers: IncomingHttpHeaders,
  nvext: Uint8Array | undefined,
  { trustsHeaders, readsNvext }: FactTrust,
): RoutingFacts {
  const reader = nvext !== undefined && readsNvext ? new JsonReader(nvext) : undefined
  const body = reader?.document(readNvext) ?? noNvext
  const trusted = trustsHeaders ? body : noNvext
  const hints = trusted.agent_hints
  const header = (name: string): string | undefined =>
    trustsHeaders ? (headers[name] as string | undefined)?.trim() || undefined : undefined
  const integer = (name: string, minimum: number, maximum: number): number | undefined => {
    const written = header(name)
    if (written === undefined) return undefined
    const value = /^-?\d{1,10}$/.test(written) ? Number(written) : Number.NaN
    if (value >= minimum && value <= maximum) return value
    throw badHeader(name, written, `an integer from ${minimum} to ${maximum}`)
  }
  const priority = integer('x-dynamo-request-priority', smallestI32, largestI32) ?? hints?.priority
  const ignoredHints: string[] = []
  if (hints?.speculative_prefill === true) ignoredHints.push('speculative_prefill')
  if (reader !== undefined && reader.unknownKeys > 0) ignoredHints.push('unknown')
  return {
    workerId:
      workerHeader(header('x-dynamo-worker-instance-id')) ??
      trusted.backend_instance_id ??
      trusted.decode_worker_id,
    dpRank:
      integer('x-dynamo-dp-rank', 0, 2 ** 32 - 1) ??
      trusted.dp_rank ??
      integer('x-data-parallel-rank', 0, 2 ** 32 - 1),
    routingGroup: header('x-router-routing-group') ?? 'default',
    // A salt in the body can only set its prompt apart.
    cacheSalt: header('x-tenant-id') ?? (body.cache_salt || undefined),
    policyClass: header('x-dynamo-meta-policy-class'),
    priorityJump: priority === undefined ? undefined : Math.max(0, priority),
    strictPriority: integer('x-dynamo-request-strict-priority', 0, 2 ** 32 - 1) ?? hints?.strict_priority,
    expectedOutputTokens: hints?.osl,
    extraFields: body.extra_fields ?? [],
    ignoredHints,
  }
}

function workerHeader(written: string | undefined): bigint | undefined {
  if (written === undefined) return undefined
  const id = /^\d{1,20}$/.test(written) ? BigInt(written) : -1n
  if (id >= 0n && id <= 0xffff_ffff_ffff_ffffn) return id
  throw badHeader('x-dynamo-worker-instance-id', written, 'an unsigned 64-bit integer')
}

function badHeader(name: string, written: string, accepted: string): HttpError {
  return new HttpError('bad_request', `header ${name} must be ${accepted}, got ${quoted(written)}`)
}
