import { describe, expect, test } from 'vitest'
import text from '../../vectors/data/kv-events.json?raw'
import { BatchReader } from '../src/decode/batch-reader.js'
import { type Recorded, Source } from './support/recorded.js'

interface Payload {
  readonly id: string
  readonly payload_hex: string
  readonly router_block_size: number
  readonly socket_rank: number
  readonly image_token?: number
  readonly batch: { readonly ts: number; readonly dp_rank: number }
  readonly events: readonly Record<string, unknown>[]
}

const { payloads } = JSON.parse(text) as { readonly payloads: readonly Payload[] }

describe.each([
  ['direct reader', new BatchReader()],
  ['msgpackr', new BatchReader({ readsDirectly: false })],
])('E1: carried payloads, %s', (_, reader) => {
  test.each(payloads)('$id', (payload) => {
    const source = new Source(reader, {
      blockSize: payload.router_block_size,
      socketRank: payload.socket_rank,
      imageToken: payload.image_token,
    })
    const result = source.read(bytesOf(payload.payload_hex))
    expect(result?.header).toMatchObject({ ts: payload.batch.ts, dpRank: payload.batch.dp_rank })
    expect(result?.events.map(asVector)).toEqual(payload.events)
  })
})

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
}

function asVector(event: Recorded): Record<string, unknown> {
  switch (event.type) {
    case 'dropped':
      return { outcome: event.outcome, reason: event.reason }
    case 'cleared':
      return { outcome: 'applied', type: 'cleared', dp_rank: event.dpRank }
    case 'removed':
      return {
        outcome: 'applied',
        type: 'removed',
        dp_rank: event.dpRank,
        tier: event.tier,
        block_hashes: event.engine.map(String),
      }
    default:
      return {
        outcome: 'applied',
        type: 'stored',
        dp_rank: event.dpRank,
        tier: event.tier,
        parent_hash: event.parent === undefined ? null : String(event.parent),
        eagle: event.isEagle,
        blocks: event.local.map((local, index) => ({
          block_hash: String(event.engine[index]),
          tokens_hash: String(local),
        })),
        ...(event.flags.includes('tokens_short') ? { issues: ['tokens_short'] } : {}),
      }
  }
}
