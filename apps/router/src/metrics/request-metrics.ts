import type { RequestFacts } from '../proxy/request-facts.js'
import { BoundedLabels } from './bounded-labels.js'
import { Distribution, logBounds } from './distribution.js'
import { type Metric, byLabel, histogram, single } from './metric.js'
import type { RequestTimes } from './request-times.js'

/** Endpoints and reasons with a child of their own: more than the router has. */
const mostPairs = 512

/** Requests with the same two labels. */
class PairCounts {
  readonly #counts = new Map<string, { readonly labels: Readonly<Record<string, string>>; value: number }>()
  readonly #names: readonly [string, string]
  readonly #bound = new BoundedLabels(mostPairs)

  constructor(...names: readonly [string, string]) {
    this.#names = names
  }

  add(first: string, second: string): void {
    const key = this.#bound.of(`${first} ${second}`)
    const known = this.#counts.get(key)
    if (known !== undefined) {
      known.value++
      return
    }
    const [one, other] = key.split(' ')
    const [firstName, secondName] = this.#names
    this.#counts.set(key, { labels: { [firstName]: one!, [secondName]: other ?? one! }, value: 1 })
  }

  metric(name: string, help: string): Metric {
    return { type: 'counter', name, help, labels: this.#names, read: () => [...this.#counts.values()] }
  }
}

/** What is counted of requests in every router mode. A handful of additions a request. */
export class RequestMetrics {
  readonly #firstToken = new Distribution(logBounds(0.001, 480, 18))
  readonly #betweenTokens = new Distribution(logBounds(0.001, 2, 13))
  readonly #inputTokens = new Distribution(logBounds(50, 128_000, 12))
  readonly #outputTokens = new Distribution(logBounds(50, 32_000, 10))
  readonly #rejections = new PairCounts('endpoint', 'reason')
  readonly #cancellations = new PairCounts('endpoint', 'request_type')
  #started = 0
  #completed = 0
  #moved = 0

  /** A request has its rank. @param isRelayed this process sends it there, and says when it is over */
  accepted(promptTokens: number, isRelayed: boolean): void {
    this.#started++
    this.#inputTokens.observe(promptTokens)
    if (!isRelayed) this.#completed++
  }

  /** A request of the proxy is over. */
  finished(
    facts: RequestFacts,
    { outputTokens, firstTokenSeconds, betweenTokensSeconds }: RequestTimes,
  ): void {
    const { ending, attempts, freshTries } = facts
    if (attempts > 0) {
      this.#completed++
      this.#moved += attempts - freshTries - 1
    }
    if (ending === 'refused') this.#rejections.add(endpointOf(facts.path), facts.errorCode ?? 'unknown')
    if (ending === 'client_gone') this.#cancellations.add(endpointOf(facts.path), typeOf(facts))
    if (outputTokens !== undefined) this.#outputTokens.observe(outputTokens)
    if (firstTokenSeconds !== undefined) this.#firstToken.observe(firstTokenSeconds)
    if (betweenTokensSeconds !== undefined) this.#betweenTokens.observe(betweenTokensSeconds)
  }

  metrics(): Metric[] {
    return [
      single(
        'counter',
        'router_requests_started_total',
        'Requests that got a rank, of the proxy and of the selection API; those that were refused before are in router_model_rejection_total',
        () => this.#started,
      ),
      single(
        'counter',
        'router_requests_total',
        'Started requests that are over, however they ended; those of the selection API are when they are booked',
        () => this.#completed,
      ),
      histogram(
        'router_time_to_first_token_seconds',
        'From the request to the first byte of its answer, of streams that were answered whole',
        this.#firstToken,
      ),
      histogram(
        'router_inter_token_latency_seconds',
        'Mean time between the tokens of a stream that was answered whole: one value a request',
        this.#betweenTokens,
      ),
      histogram(
        'router_input_sequence_tokens',
        'Tokens of the prompts of started requests, as the router counts or estimates them',
        this.#inputTokens,
      ),
      histogram(
        'router_output_sequence_tokens',
        'Generated tokens of answers, as the engine reports them, else events of the stream with text',
        this.#outputTokens,
      ),
      byLabel(
        'counter',
        'router_model_migration_total',
        'migration_type',
        'Requests that were moved to another worker: new_request = sent again, nothing had been relayed; ongoing_request = never, streams are not moved',
        () => [
          ['new_request', this.#moved],
          ['ongoing_request', 0],
        ],
      ),
      single(
        'counter',
        'router_model_migration_max_seq_len_exceeded_total',
        'Streams that were too long to be moved: none, streams are not moved',
        () => 0,
      ),
      this.#rejections.metric(
        'router_model_rejection_total',
        'Requests of the proxy that the router answered itself, by its error code',
      ),
      this.#cancellations.metric(
        'router_model_cancellation_total',
        'Requests of the proxy whose client went first; request_type stream, unary, or unknown where the body had not come',
      ),
    ]
  }
}

/** `/v1/chat/completions` is `chat_completions`: the paths of the proxy are few and its own. */
function endpointOf(path: string): string {
  return path.replace(/^\/(?:v1\/)?/, '').replaceAll('/', '_')
}

function typeOf({ wantsStream }: RequestFacts): string {
  return wantsStream === undefined ? 'unknown' : wantsStream ? 'stream' : 'unary'
}
