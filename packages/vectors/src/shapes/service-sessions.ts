import { z } from 'zod'
import { caption, count } from './common.js'

const hex = z.string().regex(/^(?:[0-9a-f]{2})*$/, 'expected bytes in hexadecimal')
const u64 = z.union([count, z.bigint().min(0n).max(0xffff_ffff_ffff_ffffn)])
const anything = z.unknown()

const request = z.strictObject({
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
  path: z.string().startsWith('/'),
  headers: z.record(z.string(), z.string()).optional(),
  body: anything.optional(),
  /** Sent as it is. */
  raw: z.string().optional(),
  fill: z
    .strictObject({ prefix: z.string(), piece: z.string(), times: count, suffix: z.string() })
    .optional(),
})

const answer = z.strictObject({ status: z.int().min(100).max(999), body: anything })
const exchange = z.strictObject({ http: request, expect: answer })

const step = z.union([
  exchange,
  /** Sent, and not waited for before `join`. */
  z.strictObject({ http: request, background: z.string(), expect: answer }),
  z.strictObject({ still_waiting: z.string() }),
  z.strictObject({ join: z.string() }),
  z.strictObject({
    zmq: z.union([
      z.strictObject({ engine: z.string(), topic: z.string(), seq: u64, payload_hex: hex }),
      z.strictObject({ engine: z.string(), frames_hex: z.array(hex) }),
    ]),
  }),
  z.strictObject({
    retain: z.strictObject({ engine: z.string(), batches: z.array(z.tuple([u64, hex])) }),
  }),
  z.strictObject({
    replay_requests: z.strictObject({ engine: z.string(), contains: z.array(u64) }),
  }),
  z.strictObject({
    wait: z.union([
      exchange,
      z.strictObject({ subscribed: z.string(), count }),
      z.strictObject({ ms: count }),
    ]),
  }),
])

/** A scenario: a fresh service with these settings, and what is said to it and answered, step by step. */
export const serviceSessionLine = z.strictObject({
  ...caption,
  id: z.string(),
  about: z.string(),
  service: z.enum(['selection', 'indexer', 'slots']),
  config: z
    .strictObject({ env: z.record(z.string(), z.string()).optional(), policy_yaml: z.string().optional() })
    .optional(),
  engines: z
    .record(
      z.string(),
      z.strictObject({ replay: z.union([z.literal(true), z.literal('with_topic')]).optional() }),
    )
    .optional(),
  steps: z.array(step).min(1),
})

export type ServiceSessionLine = z.output<typeof serviceSessionLine>
export type ServiceStep = z.output<typeof step>
export type ServiceRequest = z.output<typeof request>
export type ServiceAnswer = z.output<typeof answer>
