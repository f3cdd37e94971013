import { BlockHasher, BlockHashes, type PromptBlocks, hashesOf } from '@router/kv-index'
import { onTestFinished } from 'vitest'
import type { PromptEndpoint } from '../../src/endpoint.js'
import { type PromptReader, createPromptReader } from '../../src/prompt-reader.js'
import type { PromptReading, PromptRequest } from '../../src/prompt-reading.js'
import type { ThreadOptions } from '../../src/threads/thread-options.js'

/** A reader that waits for tokens as long as the test may; closed by whoever made it. */
export function newReader(options: ThreadOptions = {}): PromptReader {
  return createPromptReader({ threads: 1, budgetMs: 600_000, killAfterMs: 600_000, ...options })
}

/** The same, closed after the test. */
export function testReader(options: ThreadOptions = {}): PromptReader {
  const reader = newReader(options)
  onTestFinished(() => reader.close())
  return reader
}

export function bytesOf(body: unknown): Uint8Array {
  return new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body))
}

/** A request of blocks of 16. @param body JSON as text, or what becomes it */
export function requestOf(
  endpoint: PromptEndpoint,
  body: unknown,
  more: Partial<PromptRequest> = {},
): PromptRequest {
  return { endpoint, body: body instanceof Uint8Array ? body : bytesOf(body), blockSize: 16, ...more }
}

/** Chained hashes of blocks, as they must be for these tokens. */
export function blocksOf(tokens: readonly number[] | Uint32Array, options: object = {}): bigint[] {
  const hashes = new BlockHashes()
  new BlockHasher().hash(tokens, { blockSize: 16, ...options }, hashes)
  return hashesOf(hashes.sequence, hashes.count)
}

/** Chained hashes of a reading's blocks or chunks. */
export function chainOf(blocks: PromptBlocks | undefined): bigint[] | undefined {
  return blocks && hashesOf(blocks.sequence, blocks.count)
}

/** A reading that was there at once. */
export function atOnce(reading: PromptReading | Promise<PromptReading>): PromptReading {
  if (reading instanceof Promise) throw new Error('expected a reading, got a promise')
  return reading
}
