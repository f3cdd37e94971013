import type { Outcome } from './chaos-client.js'
import type { PlannedRequest } from './planned-requests.js'

/** What became of a request. */
export type Verdict =
  /** It was answered as it should be. */
  | 'answered'
  /** The client went. */
  | 'left'
  /** A stream that broke, and said so as it should. */
  | 'broken'
  /** An error although nothing had been relayed. */
  | 'refused'
  /** A stream that ended in no way in which it may. */
  | 'bad_stream'

/** What a client has to think of an answer. */
export function judge({ isStream }: PlannedRequest, outcome: Outcome): Verdict {
  if (outcome.ending === 'left') return 'left'
  if (outcome.status !== 200) return 'refused'
  if (!isStream) return outcome.ending === 'whole' && hasText(outcome.json) ? 'answered' : 'refused'
  const { events, errorEvents, doneEvents, endsThere, ending } = outcome
  if (ending !== 'whole' || !endsThere || errorEvents + doneEvents !== 1) return 'bad_stream'
  if (errorEvents === 1) return events > 1 ? 'broken' : 'refused'
  return events > 1 ? 'answered' : 'bad_stream'
}

/** Whether an answer in one piece says something. */
function hasText(json: unknown): boolean {
  const { choices = [] } = (json ?? {}) as { choices?: { text?: string; message?: { content?: string } }[] }
  const [choice] = choices
  return typeof (choice?.text ?? choice?.message?.content) === 'string'
}
