import { type KvEventsDocument, kvEventsDocument } from '../shapes/kv-events.js'
import type { Checks } from './checks.js'
import { defineFamily } from './family.js'
import { evaluateFrames, evaluateReplay } from './kv-events-messages.js'
import { evaluatePayload } from './kv-events-payloads.js'
import { evaluateScenario } from './kv-events-scenarios.js'

/** Events of engines: payloads, messages, the replay socket, and what a source makes of sequences. */
export const kvEventsFamily = defineFamily({
  name: 'kv-events',
  recognises: (document) => ['payloads', 'frames', 'sequence_scenarios'].every((key) => key in document),
  covers: '@router/kv-events',
  schema: kvEventsDocument,
  evaluate: evaluateAll,
})

function evaluateAll(document: KvEventsDocument, checks: Checks): void {
  const { payloads, frames, replay_socket: replay, sequence_scenarios: scenarios } = document
  for (const [index, payload] of payloads.entries())
    checks.within(`payloads[${index}] ${payload.id}`, () => evaluatePayload(payload, checks))
  for (const [index, message] of frames.entries())
    checks.within(`frames[${index}] ${message.name}`, () => evaluateFrames(message, checks))
  checks.within('replay_socket', () => evaluateReplay(replay, checks))
  for (const [index, scenario] of scenarios.entries()) {
    checks.within(`sequence_scenarios[${index}] ${scenario.name}`, () =>
      evaluateScenario(scenario, checks, payloads),
    )
  }
}
