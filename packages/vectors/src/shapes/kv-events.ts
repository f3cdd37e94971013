import { z } from 'zod'
import { blockSize, double, dpRank, u32, u64Text } from './common.js'
import { kvEventsScenario } from './kv-events-scenarios.js'

const caption = { note: z.string().optional() }

/** Bytes as lower-case hexadecimal. */
const hex = z
  .string()
  .max(1 << 24)
  .regex(/^(?:[0-9a-f]{2})*$/, 'expected bytes in hexadecimal')

const tier = z.enum(['device', 'host_pinned', 'disk', 'external'])
const reason = z.string().min(1)

const stored = z.strictObject({
  outcome: z.literal('applied'),
  type: z.literal('stored'),
  dp_rank: dpRank,
  tier,
  /** Engine hash; `null` = root. */
  parent_hash: u64Text.nullable(),
  eagle: z.boolean(),
  blocks: z.array(z.strictObject({ block_hash: u64Text, tokens_hash: u64Text })),
  issues: z.array(z.literal('tokens_short')).optional(),
})

const removed = z.strictObject({
  outcome: z.literal('applied'),
  type: z.literal('removed'),
  dp_rank: dpRank,
  tier,
  block_hashes: z.array(u64Text),
})

const cleared = z.strictObject({
  outcome: z.literal('applied'),
  type: z.literal('cleared'),
  dp_rank: dpRank,
})

const dropped = z.strictObject({ outcome: z.enum(['filtered', 'noop', 'undecodable']), reason })

/** What one event of a payload becomes. */
export const kvEventOutcome = z.union([stored, removed, cleared, dropped])
export type KvEventOutcome = z.output<typeof kvEventOutcome>

/** A payload and one outcome per event, in order. */
export const kvEventsPayload = z.strictObject({
  id: z.string().min(1),
  origin: z.enum(['golden', 'computed', 'additional', 'ours', 'rust', 'upstream-asserted']),
  ...caption,
  payload_hex: hex,
  router_block_size: blockSize,
  socket_rank: dpRank,
  /** Image token of the partition. */
  image_token: u32.optional(),
  batch: z.strictObject({ ts: double, dp_rank: dpRank }),
  events: z.array(kvEventOutcome),
})
export type KvEventsPayload = z.output<typeof kvEventsPayload>

const sequence = z.union([z.int().min(0), z.bigint().min(0n), u64Text])

/** A message of the live socket: its sequence, or why it is rejected. */
export const kvEventsFrames = z.union([
  z.strictObject({ name: z.string(), ...caption, frames_hex: z.array(hex), seq: sequence }),
  z.strictObject({
    name: z.string(),
    ...caption,
    frames_hex: z.array(hex),
    error: z.enum(['bad_frame_count', 'bad_sequence', 'bad_msgpack']),
  }),
])
export type KvEventsFrames = z.output<typeof kvEventsFrames>

/** A replay: what is sent, what the engine sees, and its answers up to the terminator. */
export const kvEventsReplay = z.strictObject({
  client: z.literal('DEALER'),
  request_frames_hex_from_seq_7: z.array(hex),
  what_the_engine_router_sees: z.tuple([z.literal('<identity>')], hex),
  reply_frames_hex: z.array(z.array(hex)).min(1),
  /** In words. */
  terminator: z.string(),
})
export type KvEventsReplay = z.output<typeof kvEventsReplay>

/** `kv-events.json`: events of engines, from messages to what a source makes of them. */
export const kvEventsDocument = z.strictObject({
  format: z.string(),
  /** In words. */
  conventions: z.record(z.string(), z.string()),
  payloads: z.array(kvEventsPayload),
  frames: z.array(kvEventsFrames),
  replay_socket: kvEventsReplay,
  sequence_scenarios: z.array(kvEventsScenario),
})
export type KvEventsDocument = z.output<typeof kvEventsDocument>
