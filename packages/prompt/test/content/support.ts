import { BlockHasher, BlockHashes, hashesOf } from '@router/kv-index'
import { BodyReader } from '../../src/body/body-reader.js'
import { writeShortest } from '../../src/body/json-escapes.js'
import { JsonScanner } from '../../src/body/json-scanner.js'
import { JsonView } from '../../src/body/json-view.js'
import type { ChunkLayout } from '../../src/content/chunk-hasher.js'
import { type TextSink, writeConversation } from '../../src/content/prompt-text.js'
import type { PromptEndpoint } from '../../src/endpoint.js'

const hasher = new BlockHasher()
const reader = new BodyReader(hasher)

export const baseSeed = hasher.seedOf()

/** The chained hashes of the chunks of a body, a string as it is and everything else as JSON. */
export function chunksOf(
  endpoint: PromptEndpoint,
  body: unknown,
  layout: Partial<ChunkLayout> = {},
): bigint[] {
  const bytes =
    body instanceof Uint8Array ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const target = new BlockHashes()
  reader.contentChunks(
    bytes,
    reader.read(endpoint, bytes),
    { blockSize: 4, seed: baseSeed, ...layout },
    target,
  )
  return hashesOf(target.sequence, target.count)
}

/** Writes a canonical text down, a media part as `<>`. */
class WrittenText implements TextSink {
  readonly bytes: number[] = []

  byte(value: number): void {
    this.bytes.push(value)
  }

  copy(bytes: Uint8Array, start: number, end: number): void {
    this.bytes.push(...bytes.subarray(start, end))
  }

  rewrite(bytes: Uint8Array, start: number, end: number): void {
    writeShortest(bytes, start, end, this)
  }

  beginMedia(): boolean {
    this.bytes.push(...Buffer.from('<>'))
    return false
  }

  endMedia(): void {}
}

/** The canonical text of a conversation, a media part as `<>`. */
export function textOf(endpoint: PromptEndpoint, body: unknown): string {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const sink = new WrittenText()
  writeConversation(new JsonView(bytes, new JsonScanner().scan(bytes)), endpoint, sink)
  return Buffer.from(sink.bytes).toString()
}
