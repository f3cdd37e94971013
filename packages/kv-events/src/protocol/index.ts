export { type BatchMessage, readLiveMessage, readReplayMessage, replayRequestFrames } from './frames.js'
export { TERMINATOR_SEQUENCE } from './frames.js'
export { SequenceMachine } from './sequence-machine.js'
export type {
  BatchOutcome,
  ReplayResult,
  SequenceCounters,
  SequenceOptions,
  SequenceOutput,
  SequenceStart,
  SocketCause,
  SocketState,
} from './sequence-types.js'
export { RelayedRank, type RelayOutput, type RelaySnapshot } from './relayed-rank.js'
