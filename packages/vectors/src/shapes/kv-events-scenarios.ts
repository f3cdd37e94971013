import { z } from 'zod'
import { count, listLimit, plainInteger, u64Text } from './common.js'

/** A sequence number: an integer, or a u64 as text. */
const sequence = z.union([
  z.int().min(0),
  z
    .bigint()
    .min(0n)
    .lt((1n << 64n) - 1n),
  u64Text,
])

const step = z.union([
  /** The socket connects. */
  z.strictObject({ connect: z.literal(true) }),
  /** A live batch; `payload` names one of the document, default a batch without events. */
  z.strictObject({ live: sequence, payload: z.string().min(1).optional() }),
  /** The answer to the request that is out, with its end. */
  z.strictObject({ replay_reply: z.array(sequence) }),
  z.strictObject({ advance_ms: plainInteger(z.int().min(0).max(86_400_000)) }),
])

const retained = z
  .strictObject({ first: sequence, tip: sequence })
  .refine(
    ({ first, tip }) => BigInt(tip) >= BigInt(first) && BigInt(tip) - BigInt(first) < BigInt(listLimit),
    `expected first <= tip, and at most ${listLimit} batches`,
  )

/** Something that is applied, in words: sequences, ranges, and where the state of the rank is dropped. */
const appliedText = z
  .string()
  .max(4096)
  .regex(
    /^(?:drop rank state|(?:then )?\d{1,20}(?:\.\.\d{1,20})?)(?:, (?:drop rank state|(?:then )?\d{1,20}(?:\.\.\d{1,20})?))*$/,
    "expected sequences, ranges as 0..9, and 'drop rank state', with commas",
  )

/** Live batches, answers and time, and what a source makes of them. */
export const kvEventsScenario = z.strictObject({
  name: z.string().min(1),
  note: z.string().optional(),
  /** What the replay socket keeps; `null` = there is none, `silent` = it never answers. It answers at once, but where a step does. */
  replay: z.union([retained, z.literal('silent'), z.null()]),
  /** What is known at first; absent = nothing, not connected. */
  preset: z
    .string()
    .regex(/^(?:live|rebuilding) at cursor \d{1,20}$/, "expected 'live' or 'rebuilding' 'at cursor N'")
    .optional(),
  steps: z.array(step).min(1),
  applied: z.union([z.array(sequence), appliedText]),
  /** First wanted sequence of every request. */
  requests: z.array(sequence),
  state: z.enum(['connecting', 'live', 'recovering', 'rebuilding', 'failed']),
  complete: z.boolean(),
  /** Restarts that were noticed. */
  incarnation: count,
})
export type KvEventsScenario = z.output<typeof kvEventsScenario>
