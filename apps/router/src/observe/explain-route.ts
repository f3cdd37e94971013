import type { RoutedExplanation } from '@router/core'
import { PromptError, type PromptReading } from '@router/prompt'
import type { Fleet } from '../fleet/fleet.js'
import { HttpError } from '../http/http-error.js'
import type { JsonAnswer, JsonRequest, JsonRoute } from '../http/json-routes.js'
import { type ProxyEndpoint, targetOf } from '../proxy/endpoints.js'
import { httpErrorOf } from '../proxy/error-answers.js'
import type { ProxyState } from '../proxy/proxy-state.js'
import { RequestBookings } from '../proxy/request-bookings.js'
import { type RequestIntake, takeIn } from '../proxy/request-intake.js'
import { quoted } from '../quoted.js'
import { askedOf, partitionOf, readSelection } from '../selection-api/selection-bodies.js'
import { type DecisionSubject, decisionJson, routedOnPrompt, routedOnReading } from './decision-json.js'

const defaultPath = '/v1/chat/completions'
const selectionPaths: readonly string[] = ['/select', '/select_and_reserve']

export interface ExplainOptions {
  readonly fleet: Fleet
  /** The proxy whose requests can be asked about; absent = there is none, and only selections can be. */
  readonly proxy?: { readonly state: ProxyState } | undefined
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly wallMs?: (() => number) | undefined
}

/**
 * `POST /v1/explain?path=`: the decision record of a request that is not made. The body and the headers are those that `path` takes, a path of
 * the proxy (default chat completions) or of a selection. A query: it changes nothing that is routed on.
 */
export function explainRoute({ fleet, proxy, wallMs = Date.now }: ExplainOptions): JsonRoute {
  const answer = (about: Omit<DecisionSubject, 'attempt'>, explanation: RoutedExplanation): JsonAnswer => ({
    status: 200,
    body: decisionJson(fleet, { ...about, attempt: 1 }, explanation, wallMs()),
  })

  const explainSelection = (request: JsonRequest, path: string): JsonAnswer => {
    const body = request.body(readSelection)
    const name = partitionOf(body)
    const partition = fleet.ready(name)
    const asked = askedOf(body, request)
    const routedOn = routedOnPrompt(asked.prompt, partition.shape.blockSize)
    return answer({ path, partition, routedOn, terms: asked.terms }, fleet.explain(name, asked))
  }

  const explainProxied = async (
    state: ProxyState,
    endpoint: ProxyEndpoint,
    request: JsonRequest,
  ): Promise<JsonAnswer> => {
    const { intake, reading } = await readAs(state, endpoint, request)
    const { partition } = intake
    const explanation = new RequestBookings(state, intake, reading).explain()
    return answer({ path: endpoint.path, partition, routedOn: routedOnReading(reading) }, explanation)
  }

  return {
    method: 'POST',
    path: '/v1/explain',
    access: 'admin',
    takesBody: true,
    handle: (request) => {
      const path = request.query('path') ?? defaultPath
      if (selectionPaths.includes(path)) return explainSelection(request, path)
      const target = targetOf(path)?.target
      if (proxy === undefined || target?.kind !== 'routed') throw unknownPath(path, proxy !== undefined)
      return explainProxied(proxy.state, target.endpoint, request)
    },
  }
}

/** As the proxy reads a request. Errors: those of `takeIn`, in the words of HTTP. */
async function readAs(
  state: ProxyState,
  endpoint: ProxyEndpoint,
  { raw: { headers, body } }: JsonRequest,
): Promise<{ readonly intake: RequestIntake; readonly reading: PromptReading }> {
  try {
    const intake = takeIn(state, endpoint, { headers }, body)
    return { intake, reading: await intake.reading }
  } catch (error) {
    throw PromptError.isInstance(error) ? httpErrorOf(error) : error
  }
}

function unknownPath(path: string, hasProxy: boolean): HttpError {
  const proxied = hasProxy ? `a path of the OpenAI API that is routed, such as ${defaultPath}, or ` : ''
  const message = `path ${quoted(path)} cannot be explained; accepted: ${proxied}${selectionPaths.join(', ')}`
  return new HttpError('bad_request', message)
}
