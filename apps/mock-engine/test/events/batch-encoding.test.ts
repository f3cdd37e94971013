import { describe, expect, it } from 'vitest'
import { extraKeysOfBlock, namesOfBlocks } from '../../src/engine/block-names.js'
import { type EventForm, encodeBatch } from '../../src/events/batch-encoding.js'
import type { CacheEvent, StoredBlocks } from '../../src/events/cache-event.js'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const text = (value: string): string => (0xa0 + value.length).toString(16) + hex(Buffer.from(value))

/** Two blocks of four tokens, whose names end with bytes that are easy to tell. */
function stored(rest: Partial<StoredBlocks> = {}): StoredBlocks {
  const tokens = Uint32Array.of(1, 2, 3, 4, 5, 6, 7, 300)
  const name = (index: number): Uint8Array => new Uint8Array(32).fill(0xf0 + index)
  const request = {
    promptTokens: tokens,
    outputTokens: new Uint32Array(),
    endsBy: 'stop',
    onEnd: () => {},
  } as const
  return {
    kind: 'stored',
    request,
    tokens,
    names: { blocks: 2, keys: new Uint32Array(4), digest: name },
    blockSize: 4,
    firstBlock: 0,
    blockCount: 2,
    ...rest,
  }
}

const removed: CacheEvent = { kind: 'removed', name: Uint8Array.from({ length: 32 }, (_, index) => index) }
const vllm: EventForm = { flavour: 'vllm', hashes: 'u64' }
const sglang: EventForm = { flavour: 'sglang', hashes: 'i64' }
const [first, second] = ['cff0f0f0f0f0f0f0f0', 'cff1f1f1f1f1f1f1f1']

describe('golden bytes', () => {
  it('of vLLM', () => {
    const payload = encodeBatch(vllm, 1_700_000_000.5, [stored(), removed, { kind: 'cleared' }], 3)
    expect(hex(payload)).toBe(
      [
        '93cb41d954fc40200000',
        '93',
        '99',
        text('BlockStored'),
        `92${first}${second}`,
        'c0',
        '9801020304050607cd012c',
        '04',
        'c0',
        text('GPU'),
        'c0',
        '92c0c0',
        '93',
        text('BlockRemoved'),
        '91cf18191a1b1c1d1e1f',
        text('GPU'),
        '91',
        text('AllBlocksCleared'),
        '03',
      ].join(''),
    )
  })

  it('of SGLang: an event a block, signed hashes', () => {
    const payload = encodeBatch(sglang, 1_700_000_000.5, [stored(), removed, { kind: 'cleared' }], 0)
    const event = (hash: string, parent: string, tokens: string): string =>
      ['97', text('BlockStored'), `91${hash}`, parent, tokens, '04', 'c0', text('GPU')].join('')
    const signed = (hash: string): string => hash.replace('cf', 'd3')
    expect(hex(payload)).toBe(
      [
        '93cb41d954fc40200000',
        '94',
        event(signed(first!), 'c0', '9401020304'),
        event(signed(second!), signed(first!), '94050607cd012c'),
        // A positive number needs no sign.
        '93',
        text('BlockRemoved'),
        '91cf18191a1b1c1d1e1f',
        text('GPU'),
        '91',
        text('AllBlocksCleared'),
        '00',
      ].join(''),
    )
  })

  it('of raw digests', () => {
    const payload = encodeBatch(
      { flavour: 'vllm', hashes: 'bytes' },
      1,
      [stored({ firstBlock: 1, blockCount: 1 })],
      0,
    )
    expect(hex(payload)).toBe(
      [
        // A double, though it is whole.
        '93cb3ff0000000000000',
        '9199',
        text('BlockStored'),
        `91c420${'f1'.repeat(32)}`,
        `c420${'f0'.repeat(32)}`,
        '94050607cd012c',
        '04',
        'c0',
        text('GPU'),
        'c0',
        '91c0',
        '00',
      ].join(''),
    )
  })

  it('of adapter, salt and media', () => {
    const request = {
      ...stored().request,
      loraName: 'sql',
      cacheSalt: 's',
      media: [{ identifier: 'img', start: 3, end: 6 }],
    }
    const payload = encodeBatch(vllm, 1_700_000_000.5, [stored({ request })], 0)
    expect(hex(payload)).toContain(
      [
        text('GPU'),
        text('sql'),
        '92',
        `93${text('sql')}92${text('img')}03${text('s')}`,
        `92${text('sql')}92${text('img')}ff`,
      ].join(''),
    )
    // The adapter's number, a positive one of 32 bits.
    expect(hex(payload)).toMatch(/04ce[0-7][0-9a-f]{7}a3475055/)
  })
})

describe('names of blocks', () => {
  const tokens = Uint32Array.from({ length: 11 }, (_, index) => index)

  it('are those of complete blocks, the same in every process', () => {
    const names = namesOfBlocks(tokens, 4, {})
    expect([names.blocks, names.keys.length]).toEqual([2, 4])
    // As Python's hashlib says.
    expect(hex(names.digest(1))).toBe('a15b33df99965b46eec14c583f7867e7a74509fe284fab8b52ffb706f309d0de')
  })

  it('give the engine the bits that events show', () => {
    const { keys, digest } = namesOfBlocks(tokens, 4, {})
    const low = Buffer.from(digest(1)).readUInt32BE(28)
    expect([keys[2], keys[3]]).toEqual([low, Buffer.from(digest(1)).readUInt32BE(24)])
  })

  it('hold all that came before', () => {
    const other = Uint32Array.from(tokens)
    other[0] = 99
    const [one, two] = [namesOfBlocks(tokens, 4, {}), namesOfBlocks(other, 4, {})]
    expect(hex(one.digest(1))).not.toBe(hex(two.digest(1)))
    expect(hex(namesOfBlocks(tokens.subarray(0, 8), 4, {}).digest(1))).toBe(hex(one.digest(1)))
  })

  it('hold a medium where it overlaps a block, and not beside', () => {
    const media = [{ identifier: 'x', start: 4, end: 8 }]
    const keys = [0, 4, 8].map((start) => extraKeysOfBlock({ media }, start, start + 4))
    expect(keys).toEqual([[], [['x', 0]], []])
  })
})
