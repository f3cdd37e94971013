import type { IncomingHttpHeaders } from 'node:http'
import type { PromptReading } from '@router/prompt'
import type { ProxyState } from '../proxy/proxy-state.js'
import type { RequestIntake } from '../proxy/request-intake.js'
import { routedOnReading } from './decision-json.js'
import type { OnExplained } from './decision-records.js'

/** A client that is trusted asks by this header, whatever its value, that the decision about its request is recorded. */
const askingHeader = 'x-router-record-decision'

/** Who is told how a request of the proxy comes to its ranks; `undefined` = nobody wants to know. */
export function recorderOf(
  { decisions, settings }: ProxyState,
  request: { readonly id: string; readonly path: string; readonly headers: IncomingHttpHeaders },
  { partition }: RequestIntake,
  reading: PromptReading,
): OnExplained | undefined {
  if (decisions === undefined) return undefined
  const isAskedFor = settings.trustsRoutingHeaders && request.headers[askingHeader] !== undefined
  return decisions.recorder(partition, isAskedFor, () => ({
    requestId: request.id,
    path: request.path,
    partition,
    routedOn: routedOnReading(reading),
  }))
}
