/** State of an event socket, printed in health and metrics. */
export type SocketState = 'connecting' | 'live' | 'recovering' | 'rebuilding' | 'failed'

/** Why an event socket is not `live`, as a cause code of health. */
export type SocketCause = 'kv_events_disconnected' | 'index_started_empty' | 'index_rebuilding'

/** What a replay gave: everything that was asked for, a part, or no end in time. */
export type ReplayResult = 'filled' | 'truncated' | 'timeout'

/** How a socket is followed. */
export interface SequenceOptions {
  /** The engine has a replay socket for this rank. */
  readonly hasReplay: boolean
  /** Milliseconds without a gap after which a rank counts as rebuilt, default 600,000. */
  readonly rebuildHorizonMs?: number | undefined
  /** Batches that wait for a replay at most, default 100,000. */
  readonly maxBufferedBatches?: number | undefined
  /** Payload bytes of them at most, default 64 MiB. */
  readonly maxBufferedBytes?: number | undefined
  /** The index holds this already, for example from the dump of a peer; default: nothing is known. */
  readonly start?: SequenceStart | undefined
}

/** Where a socket goes on. */
export interface SequenceStart {
  /** Last sequence that the index holds. */
  readonly cursor: bigint
  /** Nothing before it is missing. */
  readonly isComplete: boolean
  /** Ranks that it has fed. */
  readonly dpRanks: readonly number[]
}

/** What a `SequenceMachine` orders. Called at the moment it decides, before it hands out the batch that follows. */
export interface SequenceOutput {
  /**
   * Ask the replay socket for everything from this sequence on, over a connection of its own: replies to an earlier request must not
   * come under this id.
   */
  requestReplay(requestId: number, from: bigint): void
  /** The answer is complete or no longer wanted: the connection may be closed. */
  endReplay(requestId: number): void
  /** A part of the history is gone: what the index holds of these ranks must go. The batches that follow are applied as usual. */
  dropRanks(dpRanks: readonly number[]): void
  /** The engine is another process than before: new incarnation of the worker. The machine has reset itself already. */
  restarted(nowMs: number): void
  /** After `suspect`: the engine went on counting, so it is the same process. */
  provedSame(nowMs: number): void
}

/** What became of the batch that `next` handed out. */
export interface BatchOutcome {
  /** False = the payload is no batch, nothing was applied. */
  readonly isBatch: boolean
  /** Rank that was fed; absent = no rank that anybody knows. */
  readonly dpRank?: number | undefined
  /** It said that the rank holds nothing (before what follows in it). */
  readonly isCleared: boolean
}

/** What a machine has seen; every number only grows. */
export interface SequenceCounters {
  /** Batches that were handed out and could be read. */
  batches: number
  /** Gaps, those that a replay filled included. */
  gaps: number
  /** Sequence numbers that nobody could deliver. */
  missing: number
  /** Requests that were answered or given up, by result. */
  replays: Record<ReplayResult, number>
  /** Live batches that a replay had delivered already. */
  lateCopies: number
  /** New incarnations that this socket noticed. */
  restarts: number
  /** Payloads that are no batch. */
  undecodable: number
  /** Messages that are no frames of an event socket, of both sockets. */
  badFrames: Record<'bad_frame_count' | 'bad_sequence', number>
  /** Live batches that were refused because too many wait to be applied; a gap follows. */
  overflowed: number
}

export function newSequenceCounters(): SequenceCounters {
  return {
    batches: 0,
    gaps: 0,
    missing: 0,
    replays: { filled: 0, truncated: 0, timeout: 0 },
    lateCopies: 0,
    restarts: 0,
    undecodable: 0,
    badFrames: { bad_frame_count: 0, bad_sequence: 0 },
    overflowed: 0,
  }
}
