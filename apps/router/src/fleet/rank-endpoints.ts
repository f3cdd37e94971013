import { endpointOfRank } from '@router/kv-events/zeromq'
import type { EndpointRules, EndpointVerdict } from './endpoint-rules.js'
import { type WorkerOrigin, type WorkerRegistration, ranksOf } from './worker-registration.js'

/** Where the events of one rank come from: addresses of this rank itself. */
export interface RankEndpoints {
  readonly events: string
  readonly replay: string | undefined
  readonly bind: boolean
  /** Names of hosts that must be resolved, and judged, first. */
  readonly hostNames: readonly string[]
}

/** What a record says of the events of its ranks. */
export interface EventEndpoints {
  /** Ranks without an address. */
  readonly missing: readonly number[]
  /** Why an address is of no use. */
  readonly why?: string
  /** By rank; complete when nothing is missing. */
  readonly byRank: ReadonlyMap<number, RankEndpoints>
}

/** Addresses of every rank. Those of trusted records may have any form that sockets take. */
export function eventEndpointsOf(
  registration: WorkerRegistration,
  origin: WorkerOrigin,
  rules: EndpointRules,
): EventEndpoints {
  const { kvEventsEndpoint: base, kvEventsEndpoints } = registration
  const { first, count } = ranksOf(registration)
  const byRank = new Map<number, RankEndpoints>()
  const missing: number[] = []
  let why: string | undefined
  for (let rank = first; rank < first + count; rank++) {
    const told = kvEventsEndpoints?.get(rank) ?? base
    if (told === undefined || told === '') {
      missing.push(rank)
      continue
    }
    // One that is of no use is enough to know; ranks without any are counted to the last.
    if (why !== undefined) continue
    try {
      byRank.set(rank, endpointsOf(registration, rank, origin, rules))
    } catch (error) {
      why = (error as Error).message
    }
  }
  return { missing, byRank, ...(why !== undefined && { why }) }
}

/** Addresses of a rank that has some. Throws what is wrong with them. */
function endpointsOf(
  registration: WorkerRegistration,
  rank: number,
  origin: WorkerOrigin,
  rules: EndpointRules,
): RankEndpoints {
  const { kvEventsEndpoint: base, kvEventsEndpoints, replayEndpoint, kvEventsBind = false } = registration
  // A base stands for several ranks; the address of an only rank is its own.
  const offset = ranksOf(registration).count === 1 ? 0 : rank
  const own = kvEventsEndpoints?.get(rank)
  const events = own === undefined ? endpointOfRank(base!, offset) : own
  // Says whether it is an address at all.
  endpointOfRank(events, 0)
  const replay = replayEndpoint === undefined ? undefined : endpointOfRank(replayEndpoint, offset)
  const urls = [events, ...(replay === undefined ? [] : [replay])]
  const verdicts = origin === 'trusted' ? [] : urls.map((url) => rules.judge(url))
  const refused = verdicts.find((verdict) => 'why' in verdict)
  if (refused !== undefined && 'why' in refused) throw new Error(refused.why)
  if (origin !== 'trusted' && kvEventsBind) throw new Error('the router binds for no worker of the API')
  return { events, replay, bind: kvEventsBind, hostNames: hostNamesOf(verdicts) }
}

function hostNamesOf(verdicts: readonly EndpointVerdict[]): string[] {
  return verdicts.flatMap((verdict) => ('host' in verdict && verdict.isName ? [verdict.host] : []))
}
