import type { FrameFault } from '../reasons.js'

/** Sequence that ends a replay; no batch ever has it. */
export const TERMINATOR_SEQUENCE = 0xffff_ffff_ffff_ffffn

/** A batch as it came from a socket. The payload is retained until the batch is applied. */
export interface BatchMessage {
  /** u64, from 0 per publisher, never `TERMINATOR_SEQUENCE`. */
  readonly sequence: bigint
  readonly payload: Uint8Array
}

/** Reads a message of the live socket: topic, sequence, payload. */
export function readLiveMessage(frames: readonly Uint8Array[]): BatchMessage | FrameFault {
  const [, sequenceFrame, payload] = frames
  if (frames.length !== 3 || sequenceFrame === undefined || payload === undefined) return 'bad_frame_count'
  const sequence = readSequence(sequenceFrame)
  return sequence === undefined || sequence === TERMINATOR_SEQUENCE ? 'bad_sequence' : { sequence, payload }
}

/** Reads an answer of the replay socket: empty, perhaps a topic (newer engines), sequence, payload. */
export function readReplayMessage(frames: readonly Uint8Array[]): BatchMessage | FrameFault | 'terminator' {
  if (frames.length !== 3 && frames.length !== 4) return 'bad_frame_count'
  const payload = frames[frames.length - 1]!
  const sequence = readSequence(frames[frames.length - 2]!)
  if (sequence === undefined) return 'bad_sequence'
  if (sequence !== TERMINATOR_SEQUENCE) return { sequence, payload }
  return payload.length === 0 ? 'terminator' : 'bad_sequence'
}

/** The two frames that a DEALER sends: empty, and the first wanted sequence. */
export function replayRequestFrames(from: bigint): [Uint8Array, Uint8Array] {
  const sequence = new Uint8Array(8)
  new DataView(sequence.buffer).setBigUint64(0, from)
  return [new Uint8Array(0), sequence]
}

function readSequence(frame: Uint8Array): bigint | undefined {
  if (frame.length !== 8) return undefined
  return new DataView(frame.buffer, frame.byteOffset, 8).getBigUint64(0)
}
