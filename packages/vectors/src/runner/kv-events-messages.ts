import { readLiveMessage, readReplayMessage, replayRequestFrames } from '@router/kv-events'
import type { KvEventsFrames, KvEventsReplay } from '../shapes/kv-events.js'
import type { Checks } from './checks.js'
import { bytesOf, isBatch } from './kv-events-payloads.js'

const WANTED = 7n
const TERMINATOR = 'terminator'

/** A message of the live socket: its sequence when it holds a batch, else what is wrong with it. */
export function evaluateFrames(frames: KvEventsFrames, checks: Checks): void {
  const message = readLiveMessage(frames.frames_hex.map(bytesOf))
  const hasBatch = typeof message === 'object' && isBatch(message.payload)
  const fault = typeof message === 'string' ? message : hasBatch ? undefined : 'bad_msgpack'
  checks.equal('error', 'error' in frames ? frames.error : undefined, fault)
  if ('seq' in frames && typeof message === 'object')
    checks.equal('seq', BigInt(frames.seq), message.sequence)
}

/** A replay from sequence 7: the request, and answers in order up to the terminator. */
export function evaluateReplay(replay: KvEventsReplay, checks: Checks): void {
  const request = replayRequestFrames(WANTED).map((frame) => Buffer.from(frame).toString('hex'))
  checks.list('request_frames_hex_from_seq_7', replay.request_frames_hex_from_seq_7, request)
  checks.list('what_the_engine_router_sees', replay.what_the_engine_router_sees, ['<identity>', ...request])
  const replies = replay.reply_frames_hex.map((frames) => readReplayMessage(frames.map(bytesOf)))
  let wanted = WANTED
  for (const [index, reply] of replies.entries()) {
    const isLast = index === replies.length - 1
    const what = `reply_frames_hex[${index}]`
    if (isLast || typeof reply === 'string') {
      checks.equal(what, isLast ? TERMINATOR : `sequence ${wanted}`, reply)
      continue
    }
    checks.equal(`${what} sequence`, wanted++, reply.sequence)
    checks.equal(`${what} is a batch`, true, isBatch(reply.payload))
  }
}
