import { createHash } from 'node:crypto'
import { Encoder } from '@msgpack/msgpack'
import { extraKeysOfBlock } from '../engine/block-names.js'
import type { Flavour } from '../engine/serving.js'
import type { CacheEvent, StoredBlocks } from './cache-event.js'

/**
 * How blocks are called in events: 64 bits of the name, unsigned or signed, or all 32 bytes. vLLM can do the first and the last, SGLang
 * does the second.
 */
export const hashForms = ['u64', 'i64', 'bytes'] as const

/** One of `hashForms`. */
export type HashForm = (typeof hashForms)[number]

/** Which engine's events they are to look like. */
export interface EventForm {
  readonly flavour: Flavour
  readonly hashes: HashForm
}

/**
 * A batch of events as the engine publishes it, in msgpack: `[seconds since the epoch, events, rank]`. vLLM says which blocks of a request
 * were stored in one event, with all it knows; SGLang has an event a block, and shorter ones.
 */
export function encodeBatch(
  form: EventForm,
  timeSeconds: number,
  events: readonly CacheEvent[],
  rank: number,
): Uint8Array {
  const encoder = new Encoder({ useBigInt64: true })
  const body = encoder.encode(events.flatMap((event) => wireEvents(form, event)))
  const tail = encoder.encode(rank)
  const payload = new Uint8Array(10 + body.length + tail.length)
  payload[0] = 0x93
  // A double even when it is whole, which the encoder would write as an integer.
  payload[1] = 0xcb
  new DataView(payload.buffer).setFloat64(2, timeSeconds)
  payload.set(body, 10)
  payload.set(tail, 10 + body.length)
  return payload
}

function wireEvents(form: EventForm, event: CacheEvent): unknown[] {
  switch (event.kind) {
    case 'stored':
      return form.flavour === 'vllm' ? [vllmStored(form, event)] : sglangStored(form, event)
    case 'removed':
      return [['BlockRemoved', [hashOf(form, event.name)], 'GPU']]
    default:
      return [['AllBlocksCleared']]
  }
}

/** Tag, hashes, parent, tokens, block size, adapter id, medium, adapter name, extra keys. */
function vllmStored(form: EventForm, stored: StoredBlocks): unknown[] {
  const { request, tokens, blockSize, firstBlock, blockCount } = stored
  const blocks = Array.from({ length: blockCount }, (_, index) => firstBlock + index)
  const { loraName } = request
  const hasLora = loraName !== undefined && loraName !== ''
  return [
    'BlockStored',
    blocks.map((block) => hashOf(form, stored.names.digest(block))),
    parentOf(form, stored, firstBlock),
    Array.from(tokens.subarray(firstBlock * blockSize, (firstBlock + blockCount) * blockSize)),
    blockSize,
    hasLora ? adapterId(loraName) : null,
    'GPU',
    hasLora ? loraName : null,
    blocks.map((block) => {
      const keys = extraKeysOfBlock(request, block * blockSize, (block + 1) * blockSize)
      return keys.length === 0 ? null : keys
    }),
  ]
}

/** Tag, hash, parent, tokens, block size, adapter id (always nil), medium: an event a block. */
function sglangStored(form: EventForm, stored: StoredBlocks): unknown[] {
  const { tokens, blockSize, firstBlock, blockCount } = stored
  return Array.from({ length: blockCount }, (_, index) => {
    const block = firstBlock + index
    return [
      'BlockStored',
      [hashOf(form, stored.names.digest(block))],
      parentOf(form, stored, block),
      Array.from(tokens.subarray(block * blockSize, (block + 1) * blockSize)),
      blockSize,
      null,
      'GPU',
    ]
  })
}

function parentOf(form: EventForm, { names }: StoredBlocks, block: number): unknown {
  return block === 0 ? null : hashOf(form, names.digest(block - 1))
}

function hashOf({ hashes }: EventForm, name: Uint8Array): bigint | Uint8Array {
  if (hashes === 'bytes') return name
  // As vLLM shortens its digests: the last eight bytes.
  const view = new DataView(name.buffer, name.byteOffset + name.length - 8, 8)
  return hashes === 'u64' ? view.getBigUint64(0) : view.getBigInt64(0)
}

/** A number above 0 that the same adapter always has. */
function adapterId(loraName: string): number {
  return (createHash('sha256').update(loraName).digest().readUInt32BE() >>> 1) + 1
}
