import { z } from 'zod'
import { blockSize, count, plainInteger, u32, u64Text } from './common.js'

/** Bytes or tokens that a pattern may stand for. */
const longest = 16_777_216
const patternLength = count.refine((value) => value <= longest, `expected at most ${longest}`)

/** Bytes by formula: `byte[i] = (31*i + 7) mod 256`. */
export const bytePattern = /^byte\[i\] = \((\d{1,9})\*i \+ (\d{1,9})\) mod 256$/
/** Tokens by formula: `token[i] = (2654435761 * i) mod 2^32`. */
export const tokenPattern = /^token\[i\] = \((\d{1,10}) \* i\) mod 2\^32$/

const caption = { name: z.string().optional(), note: z.string().optional(), origin: z.string().optional() }
const namespace = { lora_name: z.string().nullable(), cache_salt: z.string().nullable() }
const tokens = z.array(u32)
const hashes = z.array(u64Text)
const i64Text = z
  .string()
  .regex(/^(?:0|-?[1-9]\d{0,18})$/, 'expected an i64 as a decimal string')
  .refine((text) => BigInt.asIntN(64, BigInt(text)) === BigInt(text), 'expected an i64 as a decimal string')
const tokenCount = plainInteger(z.int().min(1))
const position = plainInteger(z.int().min(0))

/** `hashing.json`: block hashing, and the session ids that are derived from a prompt. */
export const hashingDocument = z.strictObject({
  format: z.string(),
  /** In words, but for the two seeds. */
  conventions: z.object({ block_seed: u64Text, chain_seed: u64Text }).catchall(z.string()),
  xxh3_default_secret_hex: z.string().regex(/^[0-9a-f]{384}$/, 'expected 192 bytes in hexadecimal'),
  xxh3_64: z.array(
    z.strictObject({
      ...caption,
      input: z.union([
        z.strictObject({ pattern: z.string().regex(bytePattern), length: patternLength }),
        z.strictObject({ utf8: z.string() }),
      ]),
      seed: u64Text,
      hash: u64Text,
    }),
  ),
  request_seed: z.array(z.strictObject({ ...caption, ...namespace, seed: u64Text })),
  cases: z.array(
    z.strictObject({
      ...caption,
      ...namespace,
      block_size: blockSize,
      tokens,
      eagle: z.boolean(),
      /** Missing lists at the end are empty. */
      mm_object_hashes_by_block: z.array(hashes).optional(),
      seed: u64Text,
      block_count: count,
      local: hashes,
      sequence: hashes,
      /** The same bits as `sequence`. */
      sequence_signed: z.array(i64Text),
    }),
  ),
  long: z.array(
    z.strictObject({
      ...caption,
      tokens: z.string().regex(tokenPattern),
      count: patternLength,
      block_size: blockSize,
      blocks: count,
      /** `null` without a block. */
      first: u64Text.nullable(),
      last: u64Text.nullable(),
      sha256_of_sequence_le64: z.string().regex(/^[0-9a-f]{64}$/, 'expected 32 bytes in hexadecimal'),
    }),
  ),
  mm_identifier: z.array(
    z.strictObject({
      ...caption,
      identifier: z.string(),
      /** `null` = no object. */
      hash: u64Text.nullable(),
      pad_value: u32.nullable(),
    }),
  ),
  routing_tokens: z.array(
    z.strictObject({ ...caption, image_token: u32, tokens, mm_hashes: hashes, result: tokens }),
  ),
  mm_ranges: z.array(
    z.strictObject({
      ...caption,
      block_size: blockSize,
      tokens,
      objects: z.array(z.strictObject({ hash: u64Text, ranges: z.array(z.tuple([position, position])) })),
      /** The incomplete last block included. */
      objects_by_block: z.array(hashes),
      local: hashes,
    }),
  ),
  session_from_prefix: z.array(
    z.strictObject({
      ...caption,
      ...namespace,
      tokens,
      prefix_tokens: tokenCount,
      /** `null` = the prompt is too short. */
      session_id: z.string().nullable(),
    }),
  ),
  signed: z.array(z.strictObject({ ...caption, u64: u64Text, i64: i64Text })),
})
export type HashingDocument = z.output<typeof hashingDocument>
