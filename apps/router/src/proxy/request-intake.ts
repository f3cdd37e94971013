import type { IncomingMessage } from 'node:http'
import type { ObjectEntry, PromptReading } from '@router/prompt'
import type { FleetPartition } from '../fleet/fleet-partition.js'
import { HttpError } from '../http/http-error.js'
import { type BodyEdits, spliceBody } from './body-splices.js'
import { saltOfClient, sentSalt } from './cache-salts.js'
import type { ProxyEndpoint } from './endpoints.js'
import type { ProxyState } from './proxy-state.js'
import { type RoutingFacts, readRoutingFacts } from './routing-facts.js'
import type { ServedModel } from './served-models.js'

/** Only `true` begins with it. */
const letterT = 0x74

/** What a request turned out to be, once its body was read. */
export interface RequestIntake {
  readonly facts: RoutingFacts
  readonly model: ServedModel
  readonly partition: FleetPartition
  /** What it is routed on; a promise where a tokenizer is asked. */
  readonly reading: PromptReading | Promise<PromptReading>
  /** For an engine: with `nvext` for those that take it. */
  readonly bodyFor: (acceptsNvext: boolean) => Uint8Array
  /** The engine will report a usage that the client did not ask for. */
  readonly addedUsage: boolean
  readonly wantsStream: boolean
  /** When its reading began, on the clock of the proxy. */
  readonly startedMs: number
}

/**
 * Reads a request: who should answer it, what it is routed on, and what the engine gets. Errors: those of `PromptReader.scan`, of
 * `readRoutingFacts`, of `ServedModels.resolve` and of `PromptReader.read`; `ROUTER_NOT_READY`; `bad_request` where nobody but the request
 * chooses a worker and it names none.
 */
export function takeIn(
  { fleet, models, reader, settings, nowMs }: ProxyState,
  target: ProxyEndpoint,
  { headers }: Pick<IncomingMessage, 'headers'>,
  body: Buffer,
): RequestIntake {
  const startedMs = nowMs()
  const scan = reader.scan(body)
  const nvext = scan.find('nvext')
  const { trustsRoutingHeaders: trustsHeaders, readsNvext } = settings
  const facts = readRoutingFacts(headers, nvext && valueOf(body, nvext), { trustsHeaders, readsNvext })
  if (fleet.settings.isDirect === true && facts.workerId === undefined) throw unnamed()
  const named = scan.find('model')
  const name = named && textOf(valueOf(body, named))
  const model = models.resolve(name)
  const partition = fleet.ready({
    model: model.partition,
    routingGroup: facts.routingGroup,
    role: 'aggregated',
  })
  const editsOf = (dropsNvext: boolean): BodyEdits => ({
    dropsNvext,
    model: name === undefined || name === model.engineName ? undefined : model.engineName,
    cacheSalt: facts.cacheSalt && sentSalt(facts.cacheSalt),
    asksUsage: settings.injectsUsage && target.reportsUsageOnDemand,
  })
  const { bytes, addedUsage } = spliceBody(body, scan, editsOf(nvext !== undefined))
  const salted = scan.find('cache_salt')
  const ownSalt = salted && textOf(valueOf(body, salted))
  const reading = reader.read({
    endpoint: target.prompt,
    body,
    scan,
    tokenizer: settings.tokenizerOf(model.partition),
    blockSize: partition.shape.blockSize,
    isEagle: partition.shape.isEagle,
    loraName: model.loraName,
    cacheSalt: facts.cacheSalt ?? (ownSalt && saltOfClient(ownSalt)),
    nvext: readsNvext,
    model: model.partition,
  })
  const bodyFor = (acceptsNvext: boolean): Uint8Array =>
    acceptsNvext && nvext !== undefined && readsNvext ? spliceBody(body, scan, editsOf(false)).bytes : bytes
  const stream = scan.find('stream')
  const wantsStream = stream !== undefined && body[stream.valueStart] === letterT
  return { facts, model, partition, reading, bodyFor, addedUsage, wantsStream, startedMs }
}

function unnamed(): HttpError {
  const accepted =
    'header x-dynamo-worker-instance-id, or nvext.backend_instance_id, of clients that are trusted'
  return new HttpError(
    'bad_request',
    `router mode is direct: a request must name its worker; accepted: ${accepted}`,
  )
}

function valueOf(body: Uint8Array, { valueStart, valueEnd }: ObjectEntry): Uint8Array {
  return body.subarray(valueStart, valueEnd)
}

/** A name or salt; anything but a non-empty text is as good as none. */
function textOf(value: Uint8Array): string | undefined {
  const name = JSON.parse(Buffer.from(value.buffer, value.byteOffset, value.length).toString()) as unknown
  return typeof name === 'string' && name !== '' ? name : undefined
}
