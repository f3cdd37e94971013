export { Incarnation, type IncarnationCause, PROOF_MS } from './incarnation.js'
export { applyNormalisedEvent, type NormalisedBlock, type NormalisedEvent } from './normalised-event.js'
export {
  type EventCounters,
  type EventWarning,
  type EventWarningCode,
  newEventCounters,
  type PayloadReader,
  type PayloadReading,
} from './pipeline-types.js'
export { MAX_COUNTED_BLOCKS } from './reference-counts.js'
export type { FeedSockets, SocketFeed } from './socket-feed.js'
export {
  type SocketReport,
  WorkerEvents,
  type WorkerEventsOptions,
  type WorkerSocketOptions,
} from './worker-events.js'
