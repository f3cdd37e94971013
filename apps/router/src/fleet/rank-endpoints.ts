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
  const { kvEventsEndpoint: base, kvEventsEndpoints, replayEndpoint, kvEventsBind = false } = registration
  const { first, count } = ranksOf(registration)
  const byRank = new Map<number, RankEndpoints>()
  const missing: number[] = []
  try {
    for (let rank = first; rank < first + count; rank++) {
      // A base stands for several ranks; the address of an only rank is its own.
      const offset = count === 1 ? 0 : rank
      const own = kvEventsEndpoints?.get(rank)
      const events = own ?? (base === undefined || base === '' ? undefined : endpointOfRank(base, offset))
      if (events === undefined) {
        missing.push(rank)
        continue
      }
      // Says whether it is an address at all.
      endpointOfRank(events, 0)
      const replay = replayEndpoint === undefined ? undefined : endpointOfRank(replayEndpoint, offset)
      const urls = [events, ...(replay === undefined ? [] : [replay])]
      const verdicts = origin === 'trusted' ? [] : urls.map((url) => rules.judge(url))
      const refused = verdicts.find((verdict) => 'why' in verdict)
      if (refused !== undefined && 'why' in refused) return { missing, why: refused.why, byRank }
      if (origin !== 'trusted' && kvEventsBind)
        return { missing, why: 'the router binds for no worker of the API', byRank }
      byRank.set(rank, { events, replay, bind: kvEventsBind, hostNames: hostNamesOf(verdicts) })
    }
  } catch (error) {
    return { missing, why: (error as Error).message, byRank }
  }
  return { missing, byRank }
}

function hostNamesOf(verdicts: readonly EndpointVerdict[]): string[] {
  return verdicts.flatMap((verdict) => ('host' in verdict && verdict.isName ? [verdict.host] : []))
}
